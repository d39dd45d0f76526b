/** The containers of a pod. */

import { dnsLabel, portName, portNumber } from '../formats.ts'
import { portProtocols } from '../../kinds/shared/port-protocols.ts'
import type { Place } from '../place.ts'
import { checkEnvironment, checkEnvironmentSources } from './environment.ts'
import { checkDescending, checkNoBacksteps } from './paths.ts'
import { checkLifecycle, checkProbes, type GracePeriod } from './probes.ts'
import { checkRequirements } from './resources.ts'
import { checkContainerSecurity } from './security.ts'

/** Facts about a pod that the checks of its containers need. */
export interface PodContext {
  /** The sources of its volumes, by name: those without errors. */
  readonly volumes: ReadonlyMap<string, Place>
  readonly claimNames: ReadonlySet<string>
  readonly gracePeriod: GracePeriod
  readonly os: string
  readonly restartPolicy: string
  /** The pod shares the users of its node. */
  readonly isHostUsers: boolean
}

export function checkContainers(containers: Place, context: PodContext): void {
  if (containers.size === 0) {
    containers.required()
    return
  }
  const names = new Set<string>()
  for (const container of containers.items) {
    checkContainer(container, context)
    const name = container.in('name')
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    const lifecycle = container.in('lifecycle')
    if (lifecycle.isSet) checkLifecycle(lifecycle, context.gracePeriod, context.os)
    checkProbes(container, context.gracePeriod)
    checkContainerRestarts(container)
  }
  checkHostPorts(containers.items)
}

const onlySidecars = 'may not be set for init containers without restartPolicy=Always'

export function checkInitContainers(containers: Place, regular: Place, context: PodContext): void {
  const names = new Set(regular.items.map(container => container.in('name').text))
  for (const container of containers.items) {
    checkContainer(container, context)
    const policy = container.in('restartPolicy')
    const isSidecar = policy.text === 'Always'
    checkInitRestarts(container)
    const name = container.in('name')
    if (names.has(name.text)) name.duplicate(name.text)
    else if (name.text !== '') names.add(name.text)
    checkHostPorts([container], containers.path)
    if (isSidecar) {
      const lifecycle = container.in('lifecycle')
      if (lifecycle.isSet) checkLifecycle(lifecycle, context.gracePeriod, context.os)
      checkProbes(container, context.gracePeriod)
    } else {
      for (const member of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe']) {
        if (container.in(member).isSet) container.in(member).forbidden(onlySidecars)
      }
      for (const resize of container.in('resizePolicy').items) {
        const restart = resize.in('restartPolicy')
        if (restart.text !== 'RestartContainer') continue
        restart.invalid("must not be set to 'RestartContainer' for non-sidecar initContainers")
      }
    }
  }
}

/** A rule for pods, and not for their templates. */
export function checkImage(container: Place): void {
  const image = container.in('image')
  if (image.text.trim() !== image.text) {
    image.invalid('must not have leading or trailing whitespace')
  }
}

export function checkContainer(container: Place, context: PodContext): void {
  const name = container.in('name')
  if (name.text === '') name.required()
  else name.mustBe(dnsLabel)
  if (container.in('image').text === '') container.in('image').required()
  container.in('terminationMessagePolicy').oneOf(['File', 'FallbackToLogsOnError'], 'required')
  checkPorts(container.in('ports'))
  checkEnvironment(container.in('env'))
  checkEnvironmentSources(container.in('envFrom'))
  checkMounts(container, context)
  checkDevices(container, context)
  container.in('imagePullPolicy').oneOf(['Always', 'IfNotPresent', 'Never'], 'required')
  checkRequirements(container.in('resources'), context.claimNames)
  checkResizePolicy(container.in('resizePolicy'), context.restartPolicy)
  checkContainerSecurity(container.in('securityContext'), context.isHostUsers)
}

function checkPorts(ports: Place): void {
  const names = new Set<string>()
  for (const port of ports.items) {
    const name = port.in('name')
    if (name.text !== '') {
      const errors = portName(name.text)
      if (errors.length > 0) name.invalidFor(errors)
      else if (names.has(name.text)) name.duplicate()
      else names.add(name.text)
    }
    const [number, hostPort] = [port.in('containerPort'), port.in('hostPort')]
    if (number.number === 0) number.required()
    else number.invalidFor(portNumber(number.number))
    if (hostPort.number !== 0) hostPort.invalidFor(portNumber(hostPort.number))
    port.in('protocol').oneOf(portProtocols, 'required')
  }
}

/** Ports of the node can be taken once. Of init containers the path is that of their list. */
function checkHostPorts(containers: readonly Place[], path?: string): void {
  const taken = new Set<string>()
  for (const [i, container] of containers.entries()) {
    const prefix = path === undefined ? container.path : `${path}[${i}]`
    for (const [j, port] of container.in('ports').items.entries()) {
      const hostPort = port.in('hostPort').number
      if (hostPort === 0) continue
      const key = `${port.in('protocol').text}/${port.in('hostIP').text}/${hostPort}`
      if (taken.has(key)) port.as(`${prefix}.ports[${j}].hostPort`).duplicate(key)
      taken.add(key)
    }
  }
}

/** The path of each volume: of one that is there twice, the last. */
function pathsOf(places: readonly Place[], path: string): ReadonlyMap<string, string> {
  return new Map(places.map(place => [place.in('name').text, place.in(path).text]))
}

function checkMounts(container: Place, { volumes }: PodContext): void {
  const mounts = container.in('volumeMounts')
  const devices = container.in('volumeDevices').items
  const devicePaths = pathsOf(devices, 'devicePath')
  const paths = new Set<string>()
  for (const mount of mounts.items) {
    const [name, path] = [mount.in('name'), mount.in('mountPath')]
    if (name.text === '') name.required()
    if (!volumes.has(name.text)) name.notFound(name.text)
    if (path.text === '') path.required()
    if (paths.has(path.text)) path.invalid('must be unique', path.text)
    paths.add(path.text)
    if (devicePaths.has(name.text)) {
      name.invalid('must not already exist in volumeDevices', name.text)
    }
    if ([...devicePaths.values()].includes(path.text)) {
      path.invalid('must not already exist as a path in volumeDevices', path.text)
    }
    checkMountOptions(mount, mounts, container)
  }
}

function checkMountOptions(mount: Place, mounts: Place, container: Place): void {
  const [subPath, expression] = [mount.in('subPath'), mount.in('subPathExpr')]
  // Errors of these name the list.
  const inList = (place: Place, name: string): Place => place.as(`${mounts.path}.${name}`)
  if (subPath.text !== '') checkDescending(inList(subPath, 'subPath'))
  if (expression.text !== '') {
    if (subPath.text !== '') {
      expression.invalid('subPathExpr and subPath are mutually exclusive')
    }
    checkDescending(inList(expression, 'subPathExpr'))
  }
  const propagation = inList(mount.in('mountPropagation'), 'mountPropagation')
  if (propagation.isSet) {
    propagation.oneOf(['Bidirectional', 'HostToContainer', 'None'], 'unsupported')
    const isPrivileged = container.in('securityContext', 'privileged').isTrue
    if (propagation.text === 'Bidirectional' && !isPrivileged) {
      propagation.forbidden(
        'Bidirectional mount propagation is available only to privileged containers',
      )
    }
  }
  const readOnly = inList(mount.in('recursiveReadOnly'), 'recursiveReadOnly')
  if (!readOnly.isSet || readOnly.text === 'Disabled') return
  if (!['Enabled', 'IfPossible'].includes(readOnly.text)) {
    readOnly.notSupported(['Disabled', 'Enabled', 'IfPossible'])
    return
  }
  if (!mount.in('readOnly').isTrue) {
    readOnly.forbidden('may only be specified when readOnly is true')
  }
  if (propagation.isSet && propagation.text !== 'None') {
    readOnly.forbidden('may only be specified when mountPropagation is None or not specified')
  }
}

function checkDevices(container: Place, { volumes }: PodContext): void {
  const mounts = container.in('volumeMounts').items
  const mountPaths = pathsOf(mounts, 'mountPath')
  const [names, paths] = [new Set<string>(), new Set<string>()]
  for (const device of container.in('volumeDevices').items) {
    const [name, path] = [device.in('name'), device.in('devicePath')]
    const volume = volumes.get(name.text)
    if (name.text === '') name.required()
    if (names.has(name.text)) name.invalid('must be unique')
    const isClaim =
      volume?.in('persistentVolumeClaim').isSet === true || volume?.in('ephemeral').isSet === true
    if (volume === undefined) name.notFound(name.text)
    else if (!isClaim) {
      name.invalid(
        'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      )
    }
    if (path.text === '') path.required()
    if (paths.has(path.text)) path.invalid('must be unique', path.text)
    const before = path.errors.length
    checkNoBacksteps(path)
    if (path.errors.length > before) {
      path.errors.length = before
      path.invalid("can not contain backsteps ('..')")
    } else paths.add(path.text)
    if (mountPaths.has(name.text)) name.invalid('must not already exist in volumeMounts', name.text)
    if ([...mountPaths.values()].includes(path.text)) {
      path.invalid('must not already exist as a path in volumeMounts', path.text)
    }
    if (name.text !== '') names.add(name.text)
  }
}

function checkResizePolicy(policies: Place, restartPolicy: string): void {
  const seen = new Set<string>()
  for (const policy of policies.items) {
    const resource = policies.as(policies.path, policy.in('resourceName').value)
    if (seen.has(resource.text)) policy.duplicate(resource.text)
    seen.add(resource.text)
    resource.oneOf(['cpu', 'memory'], 'required')
    const restart = policies.as(policies.path, policy.in('restartPolicy').value)
    restart.oneOf(['NotRequired', 'RestartContainer'], 'required')
    if (restartPolicy === 'Never' && restart.text !== 'NotRequired') {
      restart.invalid("must be 'NotRequired' when pod `restartPolicy` is 'Never'", restart.text)
    }
  }
}

function checkInitRestarts(container: Place): void {
  const policy = container.in('restartPolicy')
  if (policy.isSet) checkContainerRestarts(container)
  else if (container.in('restartPolicyRules').size > 0) policy.required(needsPolicy)
}

const needsPolicy = 'must specify restartPolicy when restart rules are used'

/** When a container is started again by itself. */
function checkContainerRestarts(container: Place): void {
  const [policy, rules] = [container.in('restartPolicy'), container.in('restartPolicyRules')]
  if (policy.isSet) policy.oneOf(['Always', 'Never', 'OnFailure'], 'unsupported')
  else if (rules.size > 0) {
    policy.required(needsPolicy)
  }
  if (rules.size > 20) rules.tooMany(20)
  for (const rule of rules.items) {
    rule.in('action').oneOf(['Restart', 'RestartAllContainers'], 'unsupported')
    const codes = rule.in('exitCodes')
    if (!codes.isSet) {
      codes.required('must be specified')
      continue
    }
    codes.in('operator').oneOf(['In', 'NotIn'], 'unsupported')
    if (codes.in('values').size > 255) codes.in('values').tooMany(255)
  }
}
