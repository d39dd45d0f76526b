/** The defaults on read that read-defaults.json has in words, and what Go's conversions to its
 *  internal types change. What is not here (the addresses of services) is noticed by the checks of
 *  the view afterwards: then the object is not exact. */

import {
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberAt,
  memberOf,
  quantityNanos,
  sumOfQuantities,
} from '@watchglass/go'
import { giveUp } from '@watchglass/base'
import { isLatestImage } from './image-reference.ts'
import type { MessageType } from '../../schema/schema.ts'

/** The place of a message: the kind of the object, and the member that it is in. */
export interface MessagePlace {
  /** As `batch/v1 Job`. */
  readonly root: string
  readonly member: string
  /** The object comes out of etcd, and not in a request. */
  readonly isRead: boolean
}

type Apply = (object: JsonObject, place: MessagePlace, type: MessageType) => void

/** By the type of the message that they are applied to. */
const byType: Readonly<Record<string, Apply>> = {
  'apiextensions/v1.CustomResourceDefinition': completeDefinition,
  'apps/v1.DaemonSet': addTemplateGeneration,
  'apps/v1.DaemonSetUpdateStrategy': keepOtherStrategy,
  'apps/v1.DeploymentStrategy': keepOtherStrategy,
  'apps/v1.StatefulSetUpdateStrategy': addRollingUpdate,
  'autoscaling/v2.HPAScalingRules': (object, { isRead }) => {
    if (isRead) refuseEmpty(object, 'policies')
  },
  'batch/v1.Job': shareTemplateLabels,
  'batch/v1.JobSpec': completeJob,
  'core/v1.Container': object => addPullPolicy(object, 'imagePullPolicy', 'image'),
  'core/v1.EphemeralContainerCommon': object => addPullPolicy(object, 'imagePullPolicy', 'image'),
  'core/v1.ImageVolumeSource': (object, _place, { schema }) => {
    if (schema.has('imageVolumes')) addPullPolicy(object, 'pullPolicy', 'reference')
  },
  'core/v1.LimitRangeItem': addLimits,
  'core/v1.Namespace': addNameLabel,
  'core/v1.NodeSpec': mirrorPodRange,
  'core/v1.NodeStatus': addAllocatable,
  'core/v1.PersistentVolumeClaim': (object, { isRead, root }) => {
    // Not those of the templates of stateful sets.
    if (isRead && root === 'v1 PersistentVolumeClaim') mirrorDataSource(object)
  },
  'core/v1.Pod': completePod,
  'core/v1.PodSpec': completePodSpec,
  'core/v1.PodStatus': mirrorPodAddress,
  'core/v1.PodTemplateSpec': dropInitAnnotations,
  'core/v1.ReplicationController': takeTemplateLabels,
  'core/v1.Secret': mergeTexts,
  'core/v1.ServiceSpec': (spec, { isRead }) => {
    // It is stored of one that is only a name, and never shown.
    if (isRead && spec.get('type') === 'ExternalName') spec.delete('internalTrafficPolicy')
  },
  'core/v1.VolumeSource': addEmptyDir,
  'networking/v1.NetworkPolicySpec': addPolicyTypes,
  'rbac/v1.Subject': addApiGroup,
  'storage/v1.CSIDriverSpec': refuseNoTokens,
  'storage/v1beta1.CSIDriverSpec': refuseNoTokens,
}

export function applySpecialDefaults(
  object: JsonObject,
  type: MessageType,
  place: MessagePlace,
): void {
  if (Object.hasOwn(byType, type.name)) byType[type.name]?.(object, place, type)
}

/** Names are made of the kind, and the storage version is a stored one. */
function completeDefinition(object: JsonObject): void {
  const spec = object.get('spec')
  if (!(spec instanceof Map)) return
  const known = spec.get('names')
  const names: JsonObject = known instanceof Map ? known : new Map()
  const kind = names.get('kind')
  if (isText(kind)) {
    if (!isText(names.get('singular'))) names.set('singular', kind.toLowerCase())
    if (!isText(names.get('listKind'))) names.set('listKind', `${kind}List`)
  }
  const status = object.get('status')
  const completed: JsonObject = status instanceof Map ? status : new Map()
  const stored = completed.get('storedVersions')
  if (Array.isArray(stored) && stored.length > 0) return
  const versions = spec.get('versions')
  const storage = (Array.isArray(versions) ? versions : []).find(
    version => memberOf(version, 'storage') === true,
  )
  const name = memberOf(storage, 'name')
  if (!isText(name)) return
  completed.set('storedVersions', [name])
  object.set('status', completed)
}

const one = new JsonNumber('1')

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== ''
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null
}

function isEmptyMap(value: JsonValue | undefined): boolean {
  return !(value instanceof Map) || value.size === 0
}

/** The member as an object; it is added if there is none. */
function objectIn(object: JsonObject, name: string): JsonObject {
  const value = object.get(name)
  if (value instanceof Map) return value
  const made: JsonObject = new Map()
  object.set(name, made)
  return made
}

function listIn(object: JsonObject, name: string): readonly JsonObject[] {
  const value = object.get(name)
  return Array.isArray(value) ? value.filter(item => item instanceof Map) : []
}

function addPullPolicy(object: JsonObject, policy: string, image: string): void {
  if (isText(object.get(policy))) return
  const reference = object.get(image)
  const isLatest = isLatestImage(typeof reference === 'string' ? reference : '')
  object.set(policy, isLatest ? 'Always' : 'IfNotPresent')
}

const volumeSources = perTypeNames()

function perTypeNames(): (type: MessageType) => readonly string[] {
  const known = new Map<MessageType, readonly string[]>()
  return type => {
    let names = known.get(type)
    if (names === undefined) {
      names = type.fields.map(({ jsonName }) => jsonName)
      known.set(type, names)
    }
    return names
  }
}

function addEmptyDir(object: JsonObject, _place: MessagePlace, type: MessageType): void {
  // The source is inline in a volume; in a persistent one it is another type.
  if (volumeSources(type).every(name => isAbsent(object.get(name)))) {
    object.set('emptyDir', new Map())
  }
}

/** An old name of the service account; and in pods, not in templates, a time to end that is none,
 *  and the ports of the host's network. */
function completePodSpec(spec: JsonObject, { root }: MessagePlace): void {
  const [name, old] = [spec.get('serviceAccountName'), spec.get('serviceAccount')]
  if (isText(name)) spec.set('serviceAccount', name)
  else if (isText(old)) spec.set('serviceAccountName', old)
  if (root !== 'v1 Pod') return
  const grace = spec.get('terminationGracePeriodSeconds')
  if (grace instanceof JsonNumber && Number(grace.text) < 0) {
    spec.set('terminationGracePeriodSeconds', new JsonNumber('1'))
  }
  if (spec.get('hostNetwork') !== true) return
  for (const port of containersOf(spec).flatMap(container => listIn(container, 'ports'))) {
    const own = port.get('hostPort')
    const isOpen = own instanceof JsonNumber && own.text !== '0'
    if (!isOpen) port.set('hostPort', port.get('containerPort') ?? null)
  }
}

function containersOf(spec: JsonObject): readonly JsonObject[] {
  return [...listIn(spec, 'containers'), ...listIn(spec, 'initContainers')]
}

/** The annotations in which Kubernetes 1.5 kept init containers. */
const initAnnotations = ['alpha', 'beta'].flatMap(stage =>
  ['containers', 'container-statuses'].map(what => `pod.${stage}.kubernetes.io/init-${what}`),
)

function dropInitAnnotations(object: JsonObject): void {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  if (annotations instanceof Map) for (const name of initAnnotations) annotations.delete(name)
}

/** The first of a pod's addresses is its address; where they differ, that one counts. */
function mirrorPodAddress(status: JsonObject): void {
  const own = status.get('podIP')
  const first = memberOf(listIn(status, 'podIPs')[0], 'ip')
  if (!isText(own) && isText(first)) status.set('podIP', first)
  else if (isText(own) && own !== first) status.set('podIPs', [new Map([['ip', own]])])
}

function mirrorPodRange(spec: JsonObject): void {
  const [own, all] = [spec.get('podCIDR'), spec.get('podCIDRs')]
  const first = Array.isArray(all) ? all[0] : undefined
  if (!isText(own) && isText(first)) spec.set('podCIDR', first)
  else if (isText(own) && own !== first) spec.set('podCIDRs', [own])
}

/** Texts of a secret that nobody has turned into bytes yet. */
function mergeTexts(secret: JsonObject): void {
  const texts = secret.get('stringData')
  if (!(texts instanceof Map)) return
  for (const [name, text] of texts) {
    const value = typeof text === 'string' ? text : giveUp('a text of a secret is none')
    objectIn(secret, 'data').set(name, Buffer.from(value).toString('base64'))
  }
  secret.delete('stringData')
}

function addLimits(item: JsonObject): void {
  if (item.get('type') !== 'Container') return
  const fill = (to: string, from: string): void => {
    const values = item.get(from)
    if (!(values instanceof Map) || values.size === 0) return
    const filled = objectIn(item, to)
    for (const [name, value] of values) if (!filled.has(name)) filled.set(name, value)
  }
  fill('default', 'max')
  fill('defaultRequest', 'default')
  fill('defaultRequest', 'min')
}

function mirrorDataSource(claim: JsonObject): void {
  const spec = claim.get('spec')
  if (!(spec instanceof Map)) return
  const [source, reference] = [spec.get('dataSource'), spec.get('dataSourceRef')]
  if (source instanceof Map && isAbsent(reference)) spec.set('dataSourceRef', new Map(source))
  else if (reference instanceof Map && isAbsent(source)) {
    if (!isText(reference.get('namespace'))) spec.set('dataSource', new Map(reference))
  }
}

/** Sets the requests of a pod's containers, and of the pod as a whole, where only limits are given.
 *  Not in templates. */
function completePod(pod: JsonObject, { isRead }: MessagePlace, { schema }: MessageType): void {
  dropInitAnnotations(pod)
  const spec = pod.get('spec')
  if (!(spec instanceof Map)) return
  const containers = containersOf(spec)
  for (const container of containers) {
    const resources = container.get('resources')
    if (resources instanceof Map) copyLimits(resources, () => true)
  }
  const whole = spec.get('resources')
  if (!(whole instanceof Map) || !schema.has('podLevelRequests')) return
  if (isEmptyMap(whole.get('limits')) && isEmptyMap(whole.get('requests'))) return
  addHugePages(spec, whole)
  if (isEmptyMap(whole.get('limits'))) return
  const isAsked = (container: JsonObject): boolean => amountsOf(container, 'requests').size > 0
  if (isRead && containers.some(isAsked)) giveUp('requests of a pod are those of its containers')
  for (const [name, amount] of amountsOfContainers(spec, 'requests')) {
    if (!isOfWholePod(name) || isHugePages(name)) continue
    const requests = objectIn(whole, 'requests')
    if (!requests.has(name)) requests.set(name, amount)
  }
  copyLimits(whole, isOfWholePod)
}

/** Limits the huge pages of the pod to those of its containers, unless it says how many it asks
 *  for. */
function addHugePages(spec: JsonObject, whole: JsonObject): void {
  const [limits, requests] = [whole.get('limits'), whole.get('requests')]
  for (const [name, amount] of amountsOfContainers(spec, 'limits')) {
    const isSaid = [limits, requests].some(amounts => memberOf(amounts, name) !== undefined)
    if (isHugePages(name) && !isSaid) objectIn(whole, 'limits').set(name, amount)
  }
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-')
}

/** The resources that a pod as a whole may have. */
function isOfWholePod(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePages(name)
}

type Amounts = ReadonlyMap<string, string>

/** All that the containers of a pod ask for, or may have, at any time (AggregateContainerRequests
 *  and -Limits in component-helpers): those that run together, or an init container with the
 *  sidecars before it, whichever is more. */
function amountsOfContainers(spec: JsonObject, list: 'requests' | 'limits'): Amounts {
  let together: Amounts = new Map()
  let sidecars: Amounts = new Map()
  let starting: Amounts = new Map()
  for (const container of listIn(spec, 'containers')) {
    together = sumOf(together, amountsOf(container, list))
  }
  for (const container of listIn(spec, 'initContainers')) {
    const own = amountsOf(container, list)
    const isSidecar = container.get('restartPolicy') === 'Always'
    if (isSidecar) {
      together = sumOf(together, own)
      sidecars = sumOf(sidecars, own)
    }
    starting = mostOf(starting, isSidecar ? sidecars : sumOf(own, sidecars))
  }
  return mostOf(together, starting)
}

function amountsOf(container: JsonObject, list: 'requests' | 'limits'): Amounts {
  const amounts = memberOf(container.get('resources'), list)
  return amounts instanceof Map ? (amounts as Map<string, string>) : new Map()
}

function sumOf(a: Amounts, b: Amounts): Amounts {
  const sum = new Map(a)
  for (const [name, amount] of b) {
    const known = sum.get(name)
    sum.set(name, known === undefined ? amount : sumOfQuantities([known, amount]))
  }
  return sum
}

function mostOf(a: Amounts, b: Amounts): Amounts {
  const most = new Map(a)
  for (const [name, amount] of b) {
    const known = most.get(name)
    if (known === undefined || quantityNanos(amount) > quantityNanos(known)) most.set(name, amount)
  }
  return most
}

function copyLimits(resources: JsonObject, isCopied: (name: string) => boolean): void {
  const limits = resources.get('limits')
  if (!(limits instanceof Map) || limits.size === 0) return
  const requests = objectIn(resources, 'requests')
  for (const [name, value] of limits) {
    if (isCopied(name) && !requests.has(name)) requests.set(name, value)
  }
}

function addNameLabel(namespace: JsonObject): void {
  const metadata = objectIn(namespace, 'metadata')
  const name = metadata.get('name')
  if (isText(name)) objectIn(metadata, 'labels').set('kubernetes.io/metadata.name', name)
}

function addAllocatable(status: JsonObject, { isRead }: MessagePlace): void {
  const capacity = status.get('capacity')
  if (isRead) refuseEmpty(status, 'allocatable')
  if (isAbsent(status.get('allocatable')) && capacity instanceof Map) {
    status.set('allocatable', new Map(capacity))
  }
}

function takeTemplateLabels(controller: JsonObject): void {
  const spec = controller.get('spec')
  const labels = memberAt(spec, ['template', 'metadata', 'labels'])
  if (!(spec instanceof Map) || !(labels instanceof Map) || labels.size === 0) return
  if (isEmptyMap(spec.get('selector'))) spec.set('selector', new Map(labels))
  const metadata = objectIn(controller, 'metadata')
  if (isEmptyMap(metadata.get('labels'))) metadata.set('labels', new Map(labels))
}

function addTemplateGeneration(daemonSet: JsonObject): void {
  const annotations = objectIn(objectIn(daemonSet, 'metadata'), 'annotations')
  const name = 'deprecated.daemonset.template.generation'
  if (!annotations.has(name)) annotations.set(name, '0')
}

function addRollingUpdate(strategy: JsonObject): void {
  if (!isText(strategy.get('type'))) {
    strategy.set('type', 'RollingUpdate')
    objectIn(strategy, 'rollingUpdate')
  }
  const update = strategy.get('rollingUpdate')
  if (strategy.get('type') !== 'RollingUpdate' || !(update instanceof Map)) return
  if (isAbsent(update.get('partition'))) update.set('partition', new JsonNumber('0'))
}

/** Numbers of a rolling update that is not the strategy: Go has no default for them there, and
 *  holds no pointers. */
function keepOtherStrategy(strategy: JsonObject): void {
  const [type, update] = [strategy.get('type'), strategy.get('rollingUpdate')]
  if (!isText(type) || type === 'RollingUpdate' || !(update instanceof Map)) return
  for (const name of ['maxUnavailable', 'maxSurge']) {
    if (isAbsent(update.get(name))) update.set(name, new JsonNumber('0'))
  }
}

/** The labels are the very map of the template: what a create adds to one is in the other. */
function shareTemplateLabels(job: JsonObject): void {
  const labels = memberAt(job, ['spec', 'template', 'metadata', 'labels'])
  if (!(labels instanceof Map)) return
  const metadata = objectIn(job, 'metadata')
  if (isEmptyMap(metadata.get('labels'))) metadata.set('labels', labels)
}

/** A member that is there and empty gets no default in Go, and is lost in protobuf. */
function refuseEmpty(object: JsonObject, name: string): void {
  const value = object.get(name)
  const size = value instanceof Map ? value.size : Array.isArray(value) ? value.length : 1
  if (size === 0) giveUp(`${name} is empty, which is not the same as absent`)
}

/** A list that is there and empty shows in a Table, and not in protobuf: a stored one is not exact,
 *  and what comes in a request is stored without it. */
function refuseNoTokens(spec: JsonObject, { isRead }: MessagePlace): void {
  if (isRead) refuseEmpty(spec, 'tokenRequests')
  const tokens = spec.get('tokenRequests')
  if (Array.isArray(tokens) && tokens.length === 0) spec.delete('tokenRequests')
}

/** Only of jobs, not of the templates of cron jobs. */
function completeJob(spec: JsonObject, { root }: MessagePlace): void {
  if (root !== 'batch/v1 Job') return
  const fill = (name: string, value: JsonValue): void => {
    if (isAbsent(spec.get(name))) spec.set(name, value)
  }
  if (isAbsent(spec.get('parallelism'))) fill('completions', one)
  fill('parallelism', one)
  const isLimited = !isAbsent(spec.get('backoffLimitPerIndex'))
  fill('backoffLimit', new JsonNumber(isLimited ? '2147483647' : '6'))
  const hasPolicy = !isAbsent(spec.get('podFailurePolicy'))
  fill('podReplacementPolicy', hasPolicy ? 'Failed' : 'TerminatingOrFailed')
}

function addPolicyTypes(spec: JsonObject): void {
  const types = spec.get('policyTypes')
  if (Array.isArray(types) && types.length > 0) return
  const egress = spec.get('egress')
  const hasEgress = Array.isArray(egress) && egress.length > 0
  spec.set('policyTypes', hasEgress ? ['Ingress', 'Egress'] : ['Ingress'])
}

function addApiGroup(subject: JsonObject): void {
  const kind = subject.get('kind')
  if (isText(subject.get('apiGroup')) || (kind !== 'User' && kind !== 'Group')) return
  subject.set('apiGroup', 'rbac.authorization.k8s.io')
}
