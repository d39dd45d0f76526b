/** The operating system of a pod, and the options of the other one that it must not have. */

import type { Place } from '../place.ts'

/** All containers, in the order in which the server visits them. */
export function containersOf(spec: Place): Place[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap(
    list => spec.in(list).items,
  )
}

export function checkOs(spec: Place): void {
  const os = spec.in('os')
  if (!os.isSet) return
  const name = os.in('name')
  if (name.text === '') name.required()
  else if (name.text === 'linux') checkLinux(spec)
  else if (name.text === 'windows') checkWindowsPod(spec)
  else os.notSupported(['linux', 'windows'], name.text)
}

function checkLinux(spec: Place): void {
  for (const place of [spec, ...containersOf(spec)]) {
    const options = place.in('securityContext', 'windowsOptions')
    if (options.isSet) options.forbidden('windows options cannot be set for a linux pod')
  }
}

/** Fields that are not of the security context, and fields of it, in the server's order. */
const notOfWindows: readonly (readonly string[])[] = [
  ['securityContext', 'appArmorProfile'],
  ['securityContext', 'seLinuxOptions'],
  ['hostUsers'],
  ['hostPID'],
  ['hostIPC'],
  ['securityContext', 'seccompProfile'],
  ['securityContext', 'fsGroup'],
  ['securityContext', 'fsGroupChangePolicy'],
  ['securityContext', 'sysctls'],
  ['shareProcessNamespace'],
  ['securityContext', 'runAsUser'],
  ['securityContext', 'runAsGroup'],
  ['securityContext', 'supplementalGroups'],
  ['securityContext', 'supplementalGroupsPolicy'],
  ['securityContext', 'seLinuxChangePolicy'],
]

const notOfWindowsContainers: readonly string[] = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
]

/** Each is looked at as it is in Go: a list may be there and empty, or count by its items. */
function isSetInGo(place: Place): boolean {
  if (/\.host(?:PID|IPC)$/.test(place.path)) return place.isTrue
  return place.path.endsWith('.sysctls') ? place.isSet : place.isWritten
}

function checkWindowsPod(spec: Place): void {
  const detail = 'cannot be set for a windows pod'
  for (const path of notOfWindows) {
    const place = spec.in(...path)
    if (isSetInGo(place)) place.forbidden(detail)
  }
  for (const container of containersOf(spec)) {
    const security = container.in('securityContext')
    for (const name of notOfWindowsContainers) {
      if (security.in(name).isSet) security.in(name).forbidden(detail)
    }
  }
}

/** Processes of the host itself: all containers are, or none. */
export function checkHostProcess(spec: Place): void {
  const ofPod = spec.in('securityContext', 'windowsOptions', 'hostProcess')
  const containers = containersOf(spec)
  let count = 0
  for (const container of containers) {
    const own = container.in('securityContext', 'windowsOptions', 'hostProcess')
    if (ofPod.isSet && own.isSet && ofPod.value !== own.value) {
      own.invalid(
        `pod hostProcess value must be identical if both are specified, was ${ofPod.isTrue}`,
      )
    }
    if (own.isSet ? own.isTrue : ofPod.isTrue) count++
  }
  if (count === 0) return
  if (count !== containers.length) {
    spec.invalid(
      'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      '',
    )
  }
  const network = spec.in('hostNetwork')
  if (!network.isTrue) {
    network.invalid('hostNetwork must be true if pod contains any hostProcess containers', false)
  }
}
