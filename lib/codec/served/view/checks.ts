/** Rules of read-defaults.json that are in words, and that we do not apply: for each, a check that
 *  is true whenever the rule could change the object, which is then not exact. For what a
 *  kube-apiserver wrote none is ever true, as it has applied the rule before it wrote. Rules that a
 *  view does apply are in presets.ts, and `jobLabels` below. */

import type { Behaviour, MessageType } from '../../schema/schema.ts'
import type { DecodeState } from '../../transcode/decode/state.ts'
import { WireReader } from '@watchglass/base'
import {
  type Window,
  isSame,
  isText,
  keysOf,
  missesKey,
  numberOf,
  textOf,
  valueOf,
  varintOf,
  windowOf,
  windowsOf,
} from './check-functions.ts'
import { ownAnnotations } from '../convert/autoscalers.ts'
import { fieldOf, onField, onNumber, textSource, zeroSource } from './presets.ts'

/** Source for a message type that is true when the rule could apply. */
export interface Check {
  /** As in read-defaults.json. */
  readonly id: string
  readonly type: string
  /** Servers that do not behave so do not apply the rule. */
  readonly behaviour?: Behaviour
  /** Kinds of objects that it is limited to. */
  readonly roots?: readonly string[]
  readonly source: (type: MessageType) => string
}

/** The message that a compiled function is writing: `s` to `e`. */
type Predicate = (out: DecodeState, start: number, end: number) => boolean

const set = (type: MessageType, field: string): string => `!(${zeroSource(type, field)})`
const zero = zeroSource

/** Fields are named by their JSON names; numbers come from the schema. */
function numbers<const T extends readonly string[]>(
  typeName: string,
  ...names: T
): { readonly [K in keyof T]: number } {
  return names.map(name => numberOf(typeName, name)) as { [K in keyof T]: number }
}

/** True if map `from` of a message of the type has a key that map `to` has not. */
function keyPredicate(typeName: string, from: string, to: string): Predicate {
  let fields: { readonly from: number; readonly to: number } | undefined
  return (out, start, end) => {
    fields ??= { from: numberOf(typeName, from), to: numberOf(typeName, to) }
    return missesKey(out, { start, end }, fields)
  }
}

/** Resources of the whole pod that would be filled in from its containers, or from its own
 *  limits. */
const lacksPodRequests: Predicate = (out, start, end) => {
  const pod = { start, end }
  const [resources, ...lists] = numbers(
    'core/v1.PodSpec',
    'resources',
    'containers',
    'initContainers',
  )
  const [limits, requests] = numbers('core/v1.ResourceRequirements', 'limits', 'requests')
  const own = windowOf(out, pod, resources)
  if (own === undefined) return false
  const namesIn = (message: typeof pod, field: number): string[] =>
    keysOf(out, message, field)
      .map(key => textOf(out, key))
      .filter(name => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'))
  const inContainers = (field: number): string[] =>
    lists.flatMap(list =>
      windowsOf(out, pod, list).flatMap(container =>
        windowsOf(out, container, numberOf('core/v1.Container', 'resources')).flatMap(window =>
          namesIn(window, field),
        ),
      ),
    )
  const isHuge = (name: string): boolean => name.startsWith('hugepages-')
  const ownLimits = namesIn(own, limits)
  const ownRequests = namesIn(own, requests)
  const all = [...ownLimits, ...ownRequests]
  const lacksHugePages =
    all.length > 0 && inContainers(limits).some(name => isHuge(name) && !all.includes(name))
  const asked = [...inContainers(limits), ...inContainers(requests)].filter(name => !isHuge(name))
  const lacksRequest =
    ownLimits.length > 0 && [...ownLimits, ...asked].some(name => !ownRequests.includes(name))
  return lacksHugePages || lacksRequest
}

/** A port of a container in a pod on the host's network that names no port of the host. */
const lacksHostPort: Predicate = (out, start, end) => {
  const lists = numbers('core/v1.PodSpec', 'containers', 'initContainers')
  const [hostPort, containerPort] = numbers('core/v1.ContainerPort', 'hostPort', 'containerPort')
  const ports = numberOf('core/v1.Container', 'ports')
  return lists
    .flatMap(list => windowsOf(out, { start, end }, list))
    .flatMap(container => windowsOf(out, container, ports))
    .some(port => varintOf(out, port, hostPort) === 0 && varintOf(out, port, containerPort) !== 0)
}

/** A namespace without the label that names it. `start` to `end` is its metadata. */
const lacksNameLabel: Predicate = (out, start, end) => {
  const metadata = { start, end }
  const [name, labels] = numbers('meta/v1.ObjectMeta', 'name', 'labels')
  const wanted = windowOf(out, metadata, name)
  if (wanted === undefined || wanted.start === wanted.end) return false
  const label = valueOf(out, metadata, labels, 'kubernetes.io/metadata.name')
  return label === undefined || !isSame(out, wanted, label)
}

/** A replication controller that would take the labels of its template. */
const takesTemplateLabels: Predicate = (out, start, end) => {
  const [metadata, spec] = numbers('core/v1.ReplicationController', 'metadata', 'spec')
  const [selector, template] = numbers('core/v1.ReplicationControllerSpec', 'selector', 'template')
  const labels = numberOf('meta/v1.ObjectMeta', 'labels')
  const object = { start, end }
  const ownSpec = windowOf(out, object, spec)
  const podTemplate = ownSpec && windowOf(out, ownSpec, template)
  const templateMetadata =
    podTemplate && windowOf(out, podTemplate, numberOf('core/v1.PodTemplateSpec', 'metadata'))
  if (ownSpec === undefined || templateMetadata === undefined) return false
  if (keysOf(out, templateMetadata, labels).length === 0) return false
  const own = windowOf(out, object, metadata)
  return (
    keysOf(out, ownSpec, selector).length === 0 ||
    own === undefined ||
    keysOf(out, own, labels).length === 0
  )
}

/** A port of a service without a target. */
const lacksTargetPort: Predicate = (out, start, end) => {
  const ports = numberOf('core/v1.ServiceSpec', 'ports')
  const target = numberOf('core/v1.ServicePort', 'targetPort')
  return windowsOf(out, { start, end }, ports).some(port => {
    const window = windowOf(out, port, target)
    if (window === undefined) return true
    // An IntOrString: {1 type, 2 number, 3 text}.
    const text = windowOf(out, window, 3)
    return varintOf(out, window, 1) === 0
      ? varintOf(out, window, 2) === 0
      : text === undefined || text.start === text.end
  })
}

/** Session affinity by address, without a timeout. `start` to `end` is the configuration. */
const lacksAffinityTimeout: Predicate = (out, start, end) => {
  const clientIP = numberOf('core/v1.SessionAffinityConfig', 'clientIP')
  const config = windowOf(out, { start, end }, clientIP)
  return config === undefined || config.start === config.end
}

/** Whether the first of a pod's addresses is another than its address, which is the window. */
const isOtherAddress = (out: DecodeState, address: Window, start: number, end: number): boolean => {
  if (start === -1) return address.end > address.start
  addresses.reset(out.input, start, end)
  addresses.nextField()
  if (!addresses.readWindow()) return true
  const first = windowOf(out, { start: addresses.start, end: addresses.at }, 1)
  return first === undefined ? address.end > address.start : !isSame(out, address, first)
}
const addresses = new WireReader()

/** The range of a node's pods, where it is not the first of its ranges. */
const isOtherRange: Predicate = (out, start, end) => {
  const [one, all] = numbers('core/v1.NodeSpec', 'podCIDR', 'podCIDRs')
  const [first] = windowsOf(out, { start, end }, all)
  return textOf(out, windowOf(out, { start, end }, one)) !== textOf(out, first)
}

/** A daemon set without the annotation that counts its templates. `start` to `end` is its
 *  metadata. */
const lacksTemplateGeneration: Predicate = (out, start, end) => {
  const annotations = numberOf('meta/v1.ObjectMeta', 'annotations')
  const key = 'deprecated.daemonset.template.generation'
  const value = valueOf(out, { start, end }, annotations, key)
  return !/^(?:0|[1-9]\d{0,17})$/.test(textOf(out, value))
}

const lostNames: ReadonlySet<string> = new Set(ownAnnotations)

/** An autoscaler with annotations that hold what older versions had no fields for. `start` to `end`
 *  is its metadata. */
const hasAutoscalingAnnotation: Predicate = (out, start, end) => {
  const annotations = numberOf('meta/v1.ObjectMeta', 'annotations')
  return keysOf(out, { start, end }, annotations).some(key => lostNames.has(textOf(out, key)))
}

/** A reference to the source of a claim's data that has no namespace. `start` to `end` is the
 *  reference. */
const hasNoNamespace: Predicate = (out, start, end) => {
  const namespace = windowOf(
    out,
    { start, end },
    numberOf('core/v1.TypedObjectReference', 'namespace'),
  )
  return namespace === undefined || namespace.start === namespace.end
}

/** Numbers of a rolling update that are not there: two fields, in the same places for every kind.
 *  `start` to `end` is the message. */
const lacksNumbers: Predicate = (out, start, end) =>
  start !== -1 && [1, 2].some(number => windowOf(out, { start, end }, number) === undefined)

/** The functions that the source of checks calls by name. */
export const checkFunctions: Readonly<Record<string, unknown>> = {
  isText,
  isSame,
  hasLimitWithoutRequest: keyPredicate('core/v1.ResourceRequirements', 'limits', 'requests'),
  lacksDefault: keyPredicate('core/v1.LimitRangeItem', 'max', 'default'),
  lacksDefaultRequest: keyPredicate('core/v1.LimitRangeItem', 'default', 'defaultRequest'),
  lacksMinRequest: keyPredicate('core/v1.LimitRangeItem', 'min', 'defaultRequest'),
  lacksPodRequests,
  lacksHostPort,
  lacksNameLabel,
  takesTemplateLabels,
  lacksTargetPort,
  lacksAffinityTimeout,
  isOtherAddress,
  isOtherRange,
  lacksTemplateGeneration,
  hasAutoscalingAnnotation,
  hasNoNamespace,
  lacksNumbers,
}

const onMetadata =
  (predicate: string) =>
  (type: MessageType): string =>
    onField(type, 'metadata', predicate)

function serviceSource(type: MessageType): string {
  const is = (name: string): string => textSource(type, 'type', name)
  const hasNoAffinity = `(${zero(type, 'sessionAffinity')} || ${textSource(type, 'sessionAffinity', 'None')})`
  return [
    `${hasNoAffinity} && ${set(type, 'sessionAffinityConfig')}`,
    `${textSource(type, 'sessionAffinity', 'ClientIP')} && ${onField(type, 'sessionAffinityConfig', 'lacksAffinityTimeout')}`,
    'lacksTargetPort(O, s, e)',
    `${zero(type, 'internalTrafficPolicy')} !== ${is('ExternalName')}`,
    `${zero(type, 'externalTrafficPolicy')} && (${is('NodePort')} || ${is('LoadBalancer')} || ${set(type, 'externalIPs')})`,
    `${is('LoadBalancer')} && ${zero(type, 'allocateLoadBalancerNodePorts')}`,
    `${zero(type, 'clusterIPs')} && ${set(type, 'clusterIP')}`,
    `${zero(type, 'ipFamilies')} && !${is('ExternalName')}`,
  ]
    .map(condition => `(${condition})`)
    .join(' || ')
}

/** Every check. */
export const checks: readonly Check[] = [
  ...['core/v1.Container', 'core/v1.EphemeralContainerCommon'].map(type => ({
    id: 'imagePullPolicy',
    type,
    source: (container: MessageType) => zero(container, 'imagePullPolicy'),
  })),
  {
    id: 'imageVolumePullPolicy',
    behaviour: 'imageVolumes',
    type: 'core/v1.ImageVolumeSource',
    source: type => zero(type, 'pullPolicy'),
  },
  { id: 'emptyDir', type: 'core/v1.VolumeSource', source: () => 's === e' },
  {
    id: 'requestsFromLimits',
    type: 'core/v1.Container',
    roots: ['v1 Pod'],
    source: type => onField(type, 'resources', 'hasLimitWithoutRequest'),
  },
  {
    id: 'podLevelRequests',
    behaviour: 'podLevelRequests',
    type: 'core/v1.PodSpec',
    roots: ['v1 Pod'],
    source: type => `${set(type, 'resources')} && lacksPodRequests(O, s, e)`,
  },
  {
    // Of templates only behind a feature gate that has been off since 1.28, and is gone by now.
    id: 'hostNetworkPorts',
    type: 'core/v1.PodSpec',
    roots: ['v1 Pod'],
    source: type => `${onNumber(type, 'hostNetwork', 'isNonZero64')} && lacksHostPort(O, s, e)`,
  },
  {
    id: 'negativeGracePeriod',
    type: 'core/v1.PodSpec',
    roots: ['v1 Pod'],
    source: type => onNumber(type, 'terminationGracePeriodSeconds', 'isNegative64'),
  },
  {
    id: 'namespaceLabel',
    type: 'core/v1.Namespace',
    roots: ['v1 Namespace'],
    source: onMetadata('lacksNameLabel'),
  },
  {
    id: 'nodeAllocatable',
    type: 'core/v1.NodeStatus',
    source: type => `${set(type, 'capacity')} && ${zero(type, 'allocatable')}`,
  },
  {
    id: 'rcLabels',
    type: 'core/v1.ReplicationController',
    source: () => 'takesTemplateLabels(O, s, e)',
  },
  { id: 'service', type: 'core/v1.ServiceSpec', source: serviceSource },
  // What follows are no defaults, but fields that Go's internal types hold only once.
  { id: 'podCIDRs', type: 'core/v1.NodeSpec', source: () => 'isOtherRange(O, s, e)' },
  { id: 'stringData', type: 'core/v1.Secret', source: type => set(type, 'stringData') },
  {
    id: 'service',
    type: 'core/v1.LoadBalancerIngress',
    source: type => `${set(type, 'ip')} && ${zero(type, 'ipMode')}`,
  },
  {
    id: 'limitRangeItem',
    type: 'core/v1.LimitRangeItem',
    source: type =>
      `${textSource(type, 'type', 'Container')} &&
        (lacksDefault(O, s, e) || lacksDefaultRequest(O, s, e) || lacksMinRequest(O, s, e))`,
  },
  {
    id: 'statefulSetRollingUpdate',
    type: 'apps/v1.StatefulSetUpdateStrategy',
    source: type =>
      `${zero(type, 'type')} || (${set(type, 'rollingUpdate')} && !${textSource(type, 'type', 'RollingUpdate')})`,
  },
  ...['DaemonSetUpdateStrategy', 'DeploymentStrategy'].map(name => ({
    id: 'otherStrategy',
    type: `apps/v1.${name}`,
    source: (type: MessageType) =>
      `${set(type, 'type')} && !${textSource(type, 'type', 'RollingUpdate')} && ${onField(type, 'rollingUpdate', 'lacksNumbers')}`,
  })),
  {
    id: 'daemonSetAnnotation',
    type: 'apps/v1.DaemonSet',
    source: onMetadata('lacksTemplateGeneration'),
  },
  {
    id: 'pvcDataSource',
    type: 'core/v1.PersistentVolumeClaimSpec',
    roots: ['v1 PersistentVolumeClaim'],
    source: type =>
      `${set(type, 'dataSource')} ? ${zero(type, 'dataSourceRef')} : ${set(type, 'dataSourceRef')} && ${onField(type, 'dataSourceRef', 'hasNoNamespace')}`,
  },
  {
    id: 'hpaAnnotations',
    type: 'autoscaling/v2.HorizontalPodAutoscaler',
    source: onMetadata('hasAutoscalingAnnotation'),
  },
  {
    id: 'serviceAccountAlias',
    type: 'core/v1.PodSpec',
    source: type => {
      const window = (name: string): string => {
        const { number } = fieldOf(type, name)
        return `{ start: a${number}, end: z${number} }`
      }
      return `!isSame(O, ${window('serviceAccountName')}, ${window('serviceAccount')})`
    },
  },
  {
    id: 'podIPs',
    type: 'core/v1.PodStatus',
    roots: ['v1 Pod'],
    source: type => {
      const [one, all] = [fieldOf(type, 'podIP').number, fieldOf(type, 'podIPs').number]
      return `isOtherAddress(O, { start: a${one}, end: z${one} }, a${all}, z${all})`
    },
  },
  ...['v1', 'v1alpha3', 'v1beta1', 'v1beta2'].map(version => ({
    id: 'deviceTaintTimeAdded',
    type: `resource/${version}.DeviceTaint`,
    source: (taint: MessageType) => zero(taint, 'timeAdded'),
  })),
]

/** A job without labels takes those of its template, which its writer gets to see only after it has
 *  written it. The compiled function of the job's metadata finds them in the conversion. */
export function findTemplateLabels(out: DecodeState, start: number, end: number): void {
  const spec = windowOf(out, { start, end }, numberOf('batch/v1.Job', 'spec'))
  const template = spec && windowOf(out, spec, numberOf('batch/v1.JobSpec', 'template'))
  const metadata =
    template && windowOf(out, template, numberOf('core/v1.PodTemplateSpec', 'metadata'))
  if (metadata === undefined) return
  if (windowOf(out, metadata, numberOf('meta/v1.ObjectMeta', 'labels')) === undefined) return
  out.labelsStart = metadata.start
  out.labelsEnd = metadata.end
}
