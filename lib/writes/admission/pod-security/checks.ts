/** The checks of Pod Security's levels, each for the versions that have it, in the order in which
 *  they are reported. What they say is in the words of kube-apiserver's. */

import { goQuote, itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { numberOf, textOf } from '../../metadata.ts'
import { annotationsOf, isSet, nameIn, partOf, partsOf } from '../pod-parts.ts'
import type { Level } from './policy.ts'

/** A pod, or the template of one. */
export interface CheckedPod {
  readonly metadata: JsonObject
  readonly spec: JsonObject
}

/** The violation that a check has found. */
export interface PodSecurityViolation {
  readonly reason: string
  readonly detail: string
}

type Run = (pod: CheckedPod) => PodSecurityViolation | undefined

interface Check {
  readonly id: string
  readonly level: Exclude<Level, 'privileged'>
  /** The first minor of each form of the check, the oldest first. */
  readonly versions: readonly (readonly [since: number, run: Run])[]
  /** The check of the baseline that it takes the place of. */
  readonly replaces?: string
}

/** The violations of a level in a minor. */
export function violationsOf(
  pod: CheckedPod,
  level: Level,
  minor: number,
): readonly PodSecurityViolation[] {
  if (level === 'privileged') return []
  const own = checks.filter(
    check => (check.level === 'baseline' || level === 'restricted') && runOf(check, minor),
  )
  const replaced = new Set(own.map(({ replaces }) => replaces))
  return own
    .filter(({ id }) => !replaced.has(id))
    .flatMap(check => runOf(check, minor)?.(pod) ?? [])
}

function runOf({ versions }: Check, minor: number): Run | undefined {
  return versions.findLast(([since]) => since <= minor)?.[1]
}

/** The text of violations in messages. */
export function detailsOf(violations: readonly PodSecurityViolation[]): string {
  return violations
    .map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`))
    .join(', ')
}

function containersOf(spec: JsonObject): JsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap(list =>
    partsOf(spec, list),
  )
}

function securityOf(part: JsonObject): JsonObject {
  return partOf(part, 'securityContext')
}

function quoted(names: Iterable<string>): string {
  const all = [...names]
  return all.length === 0 ? '' : `"${all.join('", "')}"`
}

/** `container "a"`, `containers "a", "b"`. */
function named(what: string, names: readonly string[]): string {
  return `${what}${names.length === 1 ? '' : 's'} ${quoted(names)}`
}

function sorted(names: ReadonlySet<string>): string[] {
  return [...names].sort((a, b) => (a < b ? -1 : 1))
}

/** Names of the containers that fulfil a condition. */
function namesOf(spec: JsonObject, isBad: (container: JsonObject) => boolean): string[] {
  return containersOf(spec).filter(isBad).map(nameIn)
}

/** The pod and its containers, as far as they set something bad. */
function setters(isPod: boolean, containers: readonly string[]): string[] {
  return [
    ...(isPod ? ['pod'] : []),
    ...(containers.length > 0 ? [named('container', containers)] : []),
  ]
}

function notOnWindows(run: Run): Run {
  return pod => (memberOf(pod.spec.get('os'), 'name') === 'windows' ? undefined : run(pod))
}

/** Relaxed for pods with users of their own. */
function notWithOwnUsers(run: Run): Run {
  return pod => (pod.spec.get('hostUsers') === false ? undefined : run(pod))
}

const allowedProfiles = ['RuntimeDefault', 'Localhost']
const appArmorPrefix = 'container.apparmor.security.beta.kubernetes.io/'

function appArmorProfile({ metadata, spec }: CheckedPod): PodSecurityViolation | undefined {
  const values = new Set<string>()
  const isBad = (part: JsonObject): boolean => {
    const profile = securityOf(part).get('appArmorProfile')
    if (!(profile instanceof Map)) return false
    const type = textOf(profile.get('type'))
    if (allowedProfiles.includes(type)) return false
    values.add(type)
    return true
  }
  const bad = setters(isBad(spec), namesOf(spec, isBad))
  const annotations = [...annotationsOf(new Map([['metadata', metadata]]))]
    .map(([name, value]) => [name, textOf(value)] as const)
    .filter(
      ([name, value]) =>
        name.startsWith(appArmorPrefix) &&
        !(value === '' || value === 'runtime/default' || value.startsWith('localhost/')),
    )
    .map(([name, value]) => `${name}=${goQuote(value)}`)
    .sort()
  const all = [...sorted(values), ...annotations]
  if (annotations.length > 0) bad.push(annotations.length === 1 ? 'annotation' : 'annotations')
  if (bad.length === 0) return undefined
  return {
    reason: all.length === 1 ? 'forbidden AppArmor profile' : 'forbidden AppArmor profiles',
    detail: `${bad.join(' and ')} must not set AppArmor profile type to ${quoted(all)}`,
  }
}

const baselineCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
])

function capabilities(container: JsonObject, side: 'add' | 'drop'): string[] {
  return itemsOf(partOf(securityOf(container), 'capabilities').get(side)).map(textOf)
}

function baselineCapabilitiesOnly({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const values = new Set<string>()
  const names = namesOf(spec, container => {
    const bad = capabilities(container, 'add').filter(one => !baselineCapabilities.has(one))
    for (const one of bad) values.add(one)
    return bad.length > 0
  })
  return names.length === 0
    ? undefined
    : {
        reason: 'non-default capabilities',
        detail: `${named('container', names)} must not include ${quoted(sorted(values))} in securityContext.capabilities.add`,
      }
}

function restrictedCapabilities({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const values = new Set<string>()
  const missing = namesOf(spec, container => !capabilities(container, 'drop').includes('ALL'))
  const adding = namesOf(spec, container => {
    const bad = capabilities(container, 'add').filter(one => one !== 'NET_BIND_SERVICE')
    for (const one of bad) values.add(one)
    return bad.length > 0
  })
  const details: string[] = []
  if (missing.length > 0) {
    const who = named('container', missing)
    details.push(`${who} must set securityContext.capabilities.drop=["ALL"]`)
  }
  if (adding.length > 0) {
    const who = named('container', adding)
    details.push(
      `${who} must not include ${quoted(sorted(values))} in securityContext.capabilities.add`,
    )
  }
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') }
}

function allowPrivilegeEscalation({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const names = namesOf(spec, one => securityOf(one).get('allowPrivilegeEscalation') !== false)
  return names.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${named('container', names)} must set securityContext.allowPrivilegeEscalation=false`,
      }
}

function hostNamespaces({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const set = ['hostNetwork', 'hostPID', 'hostIPC'].filter(name => spec.get(name) === true)
  return set.length === 0
    ? undefined
    : { reason: 'host namespaces', detail: set.map(name => `${name}=true`).join(', ') }
}

function hostPathVolumes({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const names = partsOf(spec, 'volumes')
    .filter(one => isSet(one.get('hostPath')))
    .map(nameIn)
  return names.length === 0
    ? undefined
    : { reason: 'hostPath volumes', detail: named('volume', names) }
}

function hostPorts({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const ports = new Set<string>()
  const names = namesOf(spec, container => {
    const used = partsOf(container, 'ports').map(port => numberOf(port.get('hostPort')) ?? 0)
    for (const port of used) if (port !== 0) ports.add(String(port))
    return used.some(port => port !== 0)
  })
  if (names.length === 0) return undefined
  const uses = names.length === 1 ? 'uses' : 'use'
  const what = ports.size === 1 ? 'hostPort' : 'hostPorts'
  return {
    reason: 'hostPort',
    detail: `${named('container', names)} ${uses} ${what} ${sorted(ports).join(', ')}`,
  }
}

function hostProbes({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const hosts = new Set<string>()
  const names = new Set<string>()
  for (const container of containersOf(spec)) {
    const handlers = [
      ...['livenessProbe', 'readinessProbe', 'startupProbe'].map(name => partOf(container, name)),
      ...['postStart', 'preStop'].map(name => partOf(container.get('lifecycle'), name)),
    ]
    for (const handler of handlers) {
      for (const kind of ['httpGet', 'tcpSocket']) {
        const host = textOf(partOf(handler, kind).get('host'))
        if (host === '') continue
        hosts.add(host)
        names.add(nameIn(container))
      }
    }
  }
  if (names.size === 0) return undefined
  const uses = names.size === 1 ? 'uses' : 'use'
  return {
    reason: 'probe or lifecycle host',
    detail: `${named('container', sorted(names))} ${uses} ${named('probe or lifecycle host', sorted(hosts))}`,
  }
}

function privileged({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const names = namesOf(spec, container => securityOf(container).get('privileged') === true)
  return names.length === 0
    ? undefined
    : {
        reason: 'privileged',
        detail: `${named('container', names)} must not set securityContext.privileged=true`,
      }
}

function procMount({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const values = new Set<string>()
  const names = namesOf(spec, container => {
    const value = securityOf(container).get('procMount')
    if (!isSet(value) || value === 'Default') return false
    values.add(textOf(value))
    return true
  })
  return names.length === 0
    ? undefined
    : {
        reason: 'procMount',
        detail: `${named('container', names)} must not set securityContext.procMount to ${quoted(sorted(values))}`,
      }
}

const restrictedVolumeTypes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

const otherVolumeTypes = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
]

function restrictedVolumes({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const bad = partsOf(spec, 'volumes').filter(
    volume => !restrictedVolumeTypes.some(type => isSet(volume.get(type))),
  )
  if (bad.length === 0) return undefined
  const types = new Set(
    bad.map(volume => otherVolumeTypes.find(type => isSet(volume.get(type))) ?? 'unknown'),
  )
  const uses = bad.length === 1 ? 'uses' : 'use'
  return {
    reason: 'restricted volume types',
    detail: `${named('volume', bad.map(nameIn))} ${uses} ${named('restricted volume type', sorted(types))}`,
  }
}

function runAsNonRoot({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const reason = 'runAsNonRoot != true'
  const valueOf = (part: JsonObject): JsonValue | undefined => securityOf(part).get('runAsNonRoot')
  const bad = setters(
    valueOf(spec) === false,
    namesOf(spec, container => valueOf(container) === false),
  )
  if (bad.length > 0) {
    const detail = `${bad.join(' and ')} must not set securityContext.runAsNonRoot=false`
    return { reason, detail }
  }
  const silent = valueOf(spec) === true ? [] : namesOf(spec, one => !isSet(valueOf(one)))
  return silent.length === 0
    ? undefined
    : {
        reason,
        detail: `pod or ${named('container', silent)} must set securityContext.runAsNonRoot=true`,
      }
}

function runAsUser({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const isRoot = (part: JsonObject): boolean => numberOf(securityOf(part).get('runAsUser')) === 0
  const bad = setters(isRoot(spec), namesOf(spec, isRoot))
  return bad.length === 0
    ? undefined
    : { reason: 'runAsUser=0', detail: `${bad.join(' and ')} must not set runAsUser=0` }
}

function seLinuxOptions(types: readonly string[]): Run {
  return ({ spec }) => {
    const values = new Set<string>()
    let [setsUser, setsRole] = [false, false]
    const isBad = (part: JsonObject): boolean => {
      const options = securityOf(part).get('seLinuxOptions')
      if (!(options instanceof Map)) return false
      const [type, user, role] = ['type', 'user', 'role'].map(name => textOf(options.get(name)))
      const isType = types.includes(type ?? '')
      if (!isType) values.add(type ?? '')
      setsUser ||= user !== ''
      setsRole ||= role !== ''
      return !isType || user !== '' || role !== ''
    }
    const bad = setters(isBad(spec), namesOf(spec, isBad))
    if (bad.length === 0) return undefined
    const data = [
      ...(values.size > 0 ? [named('type', sorted(values))] : []),
      ...(setsUser ? ['user may not be set'] : []),
      ...(setsRole ? ['role may not be set'] : []),
    ]
    return {
      reason: 'seLinuxOptions',
      detail: `${bad.join(' and ')} set forbidden securityContext.seLinuxOptions: ${data.join('; ')}`,
    }
  }
}

const podSeccomp = 'seccomp.security.alpha.kubernetes.io/pod'
const containerSeccomp = 'container.seccomp.security.alpha.kubernetes.io/'

function seccompAnnotations({ metadata, spec }: CheckedPod): PodSecurityViolation | undefined {
  const annotations = annotationsOf(new Map([['metadata', metadata]]))
  const names = [podSeccomp, ...containersOf(spec).map(one => containerSeccomp + nameIn(one))]
  const bad = new Set(
    names
      .filter(name => annotations.has(name))
      .map(name => [name, textOf(annotations.get(name))] as const)
      .filter(
        ([, value]) =>
          !['runtime/default', 'docker/default'].includes(value) && !value.startsWith('localhost/'),
      )
      .map(([name, value]) => `${name}=${goQuote(value)}`),
  )
  return bad.size === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `forbidden ${bad.size === 1 ? 'annotation' : 'annotations'} ${sorted(bad).join(', ')}`,
      }
}

function seccompType(part: JsonObject): string | undefined {
  const profile = securityOf(part).get('seccompProfile')
  return profile instanceof Map ? textOf(profile.get('type')) : undefined
}

function seccompProfile({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const values = new Set<string>()
  const isBad = (part: JsonObject): boolean => {
    const type = seccompType(part)
    if (type === undefined || allowedProfiles.includes(type)) return false
    values.add(type)
    return true
  }
  const bad = setters(isBad(spec), namesOf(spec, isBad))
  return bad.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `${bad.join(' and ')} must not set securityContext.seccompProfile.type to ${quoted(sorted(values))}`,
      }
}

function restrictedSeccompProfile(pod: CheckedPod): PodSecurityViolation | undefined {
  const bad = seccompProfile(pod)
  if (bad !== undefined || seccompType(pod.spec) !== undefined) return bad
  const silent = namesOf(pod.spec, container => seccompType(container) === undefined)
  return silent.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${named('container', silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      }
}

const sysctls0 = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]
const sysctls27 = [...sysctls0, 'net.ipv4.ip_local_reserved_ports']
const sysctls29 = [
  ...sysctls27,
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
]
const sysctls32 = [...sysctls29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem']

function sysctls(allowed: readonly string[]): Run {
  return ({ spec }) => {
    const names = partsOf(securityOf(spec), 'sysctls').map(nameIn)
    const bad = names.filter(name => !allowed.includes(name))
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') }
  }
}

function windowsHostProcess({ spec }: CheckedPod): PodSecurityViolation | undefined {
  const isHost = (part: JsonObject): boolean =>
    partOf(securityOf(part), 'windowsOptions').get('hostProcess') === true
  const bad = setters(isHost(spec), namesOf(spec, isHost))
  return bad.length === 0
    ? undefined
    : {
        reason: 'hostProcess',
        detail: `${bad.join(' and ')} must not set securityContext.windowsOptions.hostProcess=true`,
      }
}

const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t']

/** The checks of the baseline first; of each level by id. */
const checks: readonly Check[] = [
  { id: 'appArmorProfile', level: 'baseline', versions: [[0, appArmorProfile]] },
  { id: 'capabilities_baseline', level: 'baseline', versions: [[0, baselineCapabilitiesOnly]] },
  { id: 'hostNamespaces', level: 'baseline', versions: [[0, hostNamespaces]] },
  { id: 'hostPathVolumes', level: 'baseline', versions: [[0, hostPathVolumes]] },
  { id: 'hostPorts', level: 'baseline', versions: [[0, hostPorts]] },
  { id: 'hostProbesAndHostLifecycle', level: 'baseline', versions: [[34, hostProbes]] },
  { id: 'privileged', level: 'baseline', versions: [[0, privileged]] },
  {
    id: 'procMount',
    level: 'baseline',
    versions: [
      [0, procMount],
      [35, notWithOwnUsers(procMount)],
    ],
  },
  {
    id: 'seLinuxOptions',
    level: 'baseline',
    versions: [
      [0, seLinuxOptions(seLinuxTypes)],
      [31, seLinuxOptions([...seLinuxTypes, 'container_engine_t'])],
    ],
  },
  {
    id: 'seccompProfile_baseline',
    level: 'baseline',
    versions: [
      [0, seccompAnnotations],
      [19, seccompProfile],
    ],
  },
  {
    id: 'sysctls',
    level: 'baseline',
    versions: [
      [0, sysctls(sysctls0)],
      [27, sysctls(sysctls27)],
      [29, sysctls(sysctls29)],
      [32, sysctls(sysctls32)],
    ],
  },
  { id: 'windowsHostProcess', level: 'baseline', versions: [[0, windowsHostProcess]] },
  {
    id: 'allowPrivilegeEscalation',
    level: 'restricted',
    versions: [
      [8, allowPrivilegeEscalation],
      [25, notOnWindows(allowPrivilegeEscalation)],
    ],
  },
  {
    id: 'capabilities_restricted',
    level: 'restricted',
    versions: [
      [22, restrictedCapabilities],
      [25, notOnWindows(restrictedCapabilities)],
    ],
    replaces: 'capabilities_baseline',
  },
  {
    id: 'procMount_restricted',
    level: 'restricted',
    versions: [[35, procMount]],
    replaces: 'procMount',
  },
  {
    id: 'restrictedVolumes',
    level: 'restricted',
    versions: [[0, restrictedVolumes]],
    replaces: 'hostPathVolumes',
  },
  {
    id: 'runAsNonRoot',
    level: 'restricted',
    versions: [
      [0, runAsNonRoot],
      [35, notWithOwnUsers(runAsNonRoot)],
    ],
  },
  {
    id: 'runAsUser',
    level: 'restricted',
    versions: [
      [23, runAsUser],
      [35, notWithOwnUsers(runAsUser)],
    ],
  },
  {
    id: 'seccompProfile_restricted',
    level: 'restricted',
    versions: [
      [19, restrictedSeccompProfile],
      [25, notOnWindows(restrictedSeccompProfile)],
    ],
    replaces: 'seccompProfile_baseline',
  },
]
