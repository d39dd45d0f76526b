/** The rights of pods and containers. */

import { dnsSubdomain, idNumber } from '../formats.ts'
import { byteLength } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { Place } from '../place.ts'
import { checkDescending } from './paths.ts'

const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'

export function checkContainerSecurity(security: Place, isHostUsers: boolean): void {
  if (!security.isSet) return
  for (const name of ['runAsUser', 'runAsGroup']) checkId(security.in(name))
  const procMount = security.in('procMount')
  if (procMount.isSet) {
    procMount.oneOf(['Default', 'Unmasked'], 'unsupported')
    if (isHostUsers && procMount.text === 'Unmasked') {
      procMount.invalid('`hostUsers` must be false to use `Unmasked`')
    }
  }
  checkSeccomp(security.in('seccompProfile'))
  if (security.in('allowPrivilegeEscalation').value === false) {
    const added = security.in('capabilities', 'add').texts
    const internal = internalValue('SecurityContext', security.value)
    const detail = 'cannot set `allowPrivilegeEscalation` to false and'
    if (security.in('privileged').isTrue) {
      security.invalid(`${detail} \`privileged\` to true`, internal)
    }
    for (const name of added) {
      if (name !== 'CAP_SYS_ADMIN') continue
      security.invalid(`${detail} \`capabilities.Add\` ${name}`, internal)
    }
  }
  checkWindows(security.in('windowsOptions'))
  checkAppArmor(security.in('appArmorProfile'))
}

export function checkPodSecurity(security: Place, spec: Place): void {
  if (!security.isSet) return
  for (const name of ['fsGroup', 'runAsUser', 'runAsGroup']) checkId(security.in(name))
  for (const group of security.in('supplementalGroups').items) checkId(group)
  const shares = spec.in('shareProcessNamespace')
  if (shares.isTrue && spec.in('hostPID').isTrue) {
    shares
      .as(`${security.path}.shareProcessNamespace`)
      .invalid('ShareProcessNamespace and HostPID cannot both be enabled')
  }
  checkSysctls(security.in('sysctls'), spec)
  const policy = security.in('fsGroupChangePolicy')
  if (policy.isSet) policy.oneOf(['Always', 'OnRootMismatch'], 'unsupported')
  checkSeccomp(security.in('seccompProfile'))
  checkWindows(security.in('windowsOptions'))
  checkAppArmor(security.in('appArmorProfile'))
  const groups = security.in('supplementalGroupsPolicy')
  if (groups.isSet) groups.oneOf(['Merge', 'Strict'], 'unsupported')
  const relabelling = security.in('seLinuxChangePolicy')
  // MountOption needs the gate SELinuxMount, which is off.
  if (relabelling.isSet) relabelling.oneOf(['Recursive'], 'unsupported')
}

function checkId(id: Place): void {
  if (id.isSet) id.invalidFor(idNumber(id.number))
}

function checkSysctls(sysctls: Place, spec: Place): void {
  const names = new Set<string>()
  const pattern = new RegExp(sysctlPattern)
  for (const sysctl of sysctls.items) {
    const name = sysctl.in('name')
    if (name.text === '') name.required()
    else if (name.text.length > 253 || !pattern.test(name.text)) {
      name.invalid(`must have at most 253 characters and match regex ${sysctlPattern}`)
    } else if (names.has(name.text)) name.duplicate()
    const dotted = withDots(name.text)
    if (spec.in('hostNetwork').isTrue && dotted.startsWith('net.')) {
      name.invalid("may not be specified when 'hostNetwork' is true")
    } else if (spec.in('hostIPC').isTrue && isOfIpc(dotted)) {
      name.invalid("may not be specified when 'hostIPC' is true")
    }
    names.add(name.text)
  }
}

/** The name as its file has it, from its other form, where the names of devices have dots. */
function withDots(text: string): string {
  const [name = ''] = text.split('*')
  const first = /[./]/.exec(name)?.[0]
  return first === '/' ? name.replace(/[./]/g, char => (char === '/' ? '.' : '/')) : name
}

function isOfIpc(name: string): boolean {
  const kernel = /^kernel\.(?:sem|shm(?:all|max|mni|_rmid_forced)?|msg(?:max|mnb|mni)?)$/
  return kernel.test(name) || name.startsWith('fs.mqueue.')
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined']

function checkSeccomp(profile: Place): void {
  if (!profile.isSet) return
  const [type, path] = [profile.in('type'), profile.in('localhostProfile')]
  if (type.text === '') type.required('type is required when seccompProfile is set')
  else type.oneOf(profileTypes, 'unsupported')
  if (type.text === 'Localhost') {
    if (path.isSet) checkDescending(path)
    else path.required('must be set when seccomp type is Localhost')
  } else if (path.isSet) {
    path.invalid(
      'can only be set when seccomp type is Localhost',
      internalValue('SeccompProfile', profile.value),
    )
  }
}

function checkAppArmor(profile: Place): void {
  if (!profile.isSet) return
  const [type, path] = [profile.in('type'), profile.in('localhostProfile')]
  const missing = 'must be set when AppArmor type is Localhost'
  if (type.text === '') type.required('type is required when appArmorProfile is set')
  else if (type.text !== 'Localhost') {
    type.oneOf(profileTypes, 'unsupported')
    if (path.isSet && profileTypes.includes(type.text)) {
      path.invalid('can only be set when AppArmor type is Localhost')
    }
  } else if (!path.isSet) path.required(missing)
  else {
    if (path.text.trim() !== path.text) path.invalid('must not be padded with whitespace')
    else if (path.text === '') path.required(missing)
    if (byteLength(path.text) > 4095) path.tooLong(4095)
  }
}

function checkWindows(options: Place): void {
  const [name, spec, user] = [
    options.in('gmsaCredentialSpecName'),
    options.in('gmsaCredentialSpec'),
    options.in('runAsUserName'),
  ]
  if (name.isSet) name.mustBe(dnsSubdomain)
  if (spec.isSet) {
    if (spec.text === '') spec.invalid('gmsaCredentialSpec cannot be an empty string')
    else if (byteLength(spec.text) > 64 * 1024) {
      spec.invalid('gmsaCredentialSpec size must be under 64 KiB')
    }
  }
  if (user.isSet) checkUserName(user)
}

// oxlint-disable-next-line no-control-regex
const controls = /[\0-\x1f\x7f]/
const netBios = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/u
const windowsLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const windowsDomain = new RegExp(`^${windowsLabel}(?:\\.${windowsLabel})*$`)

/** A user of Windows: `USER` or `DOMAIN\USER`. */
function checkUserName(name: Place): void {
  const parts = name.text.split('\\')
  const refuse = (detail: string): void => name.invalidName(`runAsUserName${detail}`)
  if (name.text === '') refuse(' cannot be an empty string')
  else if (controls.test(name.text)) refuse(' cannot contain control characters')
  else if (parts.length > 2) refuse(' cannot contain more than one backslash')
  else {
    const [user = '', domain] = parts.toReversed()
    if (byteLength(domain ?? '') >= 256) refuse("'s Domain length must be under 256 characters")
    if (domain !== undefined && !netBios.test(domain) && !windowsDomain.test(domain)) {
      refuse("'s Domain doesn't match the NetBios nor the DNS format")
    }
    if (user === '') refuse("'s User cannot be empty")
    else if (byteLength(user) > 104) {
      refuse("'s User length must not be longer than 104 characters")
    }
    if (/^[. ]+$/.test(user)) refuse("'s User cannot contain only periods or spaces")
    if (/["/\\:;|=,+*?<>@[\]]/.test(user)) {
      refuse(`'s User cannot contain the following characters: "/\\:;|=,+*?<>@[]`)
    }
  }
}
