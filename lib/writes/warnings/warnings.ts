/** Warnings about objects of built-in kinds: what works and should not be used any more, and what
 *  is hardly meant. kubectl shows them. */

import { goQuote, type JsonObject, quantityNanos } from '@watchglass/go'
import { dnsLabel } from '../validation/formats.ts'
import { Place } from '../validation/place.ts'
import { isSame } from '../validation/object-meta.ts'
import { ofAddress, ofPrefix } from './addresses.ts'
import { ofClaimSpec } from './claims.ts'
import { ofLabelSelector, ofOldLabel, ofTerm } from './labels.ts'
import { ofOldVolume } from './old-volumes.ts'
import { ofPod, ofPodStatus } from './pods.ts'
import { ofService } from './services.ts'

/** The warnings about an object that is created, or changed where there is an `old` one. */
type Warn = (object: Place, old: Place | undefined) => string[]

/** The kinds of admission, whose objects can come from files of a server. */
const admissionKinds = [
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
]

/** By `kind` or `kind.group`, and `/subresource`. */
const warnings: Readonly<Record<string, Warn>> = {
  ...Object.fromEntries(
    admissionKinds.map(kind => [`${kind}.admissionregistration.k8s.io`, ofStaticName]),
  ),
  'CSIDriver.storage.k8s.io': ofDriver,
  'CSIStorageCapacity.storage.k8s.io': object => ofLabelSelector(object.in('nodeTopology')),
  'CronJob.batch': (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofJob(object.in('spec', 'jobTemplate', 'spec'), hasChanged(object, old)),
    ...ofSchedule(object, old),
  ],
  'DaemonSet.apps': (object, old) => {
    const template = object.in('spec', 'template')
    const before = old?.in('spec', 'template')
    const isNew = before === undefined || !isSame(template.value, before.value)
    return isNew ? ofPod(template, true) : []
  },
  'Deployment.apps': (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofTemplate(object, old, 'spec'),
  ],
  'EndpointSlice.discovery.k8s.io': ofEndpointSlice,
  Endpoints: ofEndpoints,
  'Ingress.networking.k8s.io': ofIngress,
  'Ingress/status.networking.k8s.io': object =>
    object
      .in('status', 'loadBalancer', 'ingress')
      .items.flatMap(point => ofAddress(point.as(point.path, point.in('ip').value))),
  'Job.batch': (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofJob(object.in('spec'), hasChanged(object, old)),
  ],
  'NetworkPolicy.networking.k8s.io': ofNetworkPolicy,
  Node: object => [
    ...(object.in('spec', 'externalID').text === ''
      ? []
      : ['spec.externalID: this field is deprecated, and is unused by Kubernetes']),
    ...object.in('spec', 'podCIDRs').items.flatMap(ofPrefix),
  ],
  PersistentVolume: ofVolume,
  PersistentVolumeClaim: object => [
    ...ofOldAnnotation(object, storageClass),
    ...ofClaimSpec(object.in('spec')),
  ],
  // People change pods seldom, and programs often.
  Pod: (object, old) =>
    old === undefined ? [...ofPodName(object, "the Pod's hostname"), ...ofPod(object, false)] : [],
  'Pod/status': object => ofPodStatus(object.in('status')),
  PodTemplate: (object, old) => ofTemplate(object, old),
  'ReplicaSet.apps': (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofTemplate(object, old, 'spec'),
  ],
  ReplicationController: (object, old) => {
    if (old === undefined) return [...ofPodName(object), ...ofTemplate(object, old, 'spec')]
    // The server takes the one for the other: of a change it is the old template.
    return hasChanged(object, old) ? ofPod(old.in('spec', 'template'), true) : []
  },
  'ResourceSlice.resource.k8s.io': ofSlice,
  ResourceQuota: (object, old) => (old === undefined ? ofQuota(object) : []),
  'RuntimeClass.node.k8s.io': object =>
    object
      .in('scheduling', 'nodeSelector')
      .entries.flatMap(([label]) => ofOldLabel(label, 'scheduling.nodeSelector')),
  Service: ofService,
  'Service/status': object =>
    object
      .in('status', 'loadBalancer', 'ingress')
      .items.flatMap(item => ofAddress(item.as(item.path, item.in('ip').value))),
  ServiceAccount: ofServiceAccount,
  'StatefulSet.apps': ofStatefulSet,
  'StorageClass.storage.k8s.io': ofStorageClass,
}

/** `kind` is that of the object, followed by the subresource that is written. */
export function warningsAbout(
  group: string,
  kind: string,
  object: JsonObject,
  old: JsonObject | undefined,
): string[] {
  const name = group === '' ? kind : `${kind}.${group}`
  const warn = Object.hasOwn(warnings, name) ? warnings[name] : undefined
  return warn?.(new Place(object, '', []), old && new Place(old, '', [])) ?? []
}

function hasAnnotation(object: Place | undefined, name: string): boolean {
  return object?.in('metadata', 'annotations').object?.has(name) === true
}

/** A name that its pods have, too. */
function ofPodName(object: Place, use = 'Pod names and hostnames'): string[] {
  const problems = dnsLabel(object.in('metadata', 'name').text)
  return problems.length === 0
    ? []
    : [
        `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
      ]
}

function hasChanged(object: Place, old: Place | undefined): boolean {
  const of = (place: Place): number => place.in('metadata', 'generation').number
  return old === undefined || of(object) !== of(old)
}

function ofTemplate(object: Place, old: Place | undefined, ...path: string[]): string[] {
  return hasChanged(object, old) ? ofPod(object.in(...path, 'template'), true) : []
}

function ofJob(spec: Place, isChecked: boolean): string[] {
  if (!isChecked) return []
  const isLarge =
    spec.in('completionMode').text === 'Indexed' &&
    spec.in('completions').number > 100_000 &&
    spec.in('parallelism').number > 10_000
  return [
    ...(isLarge
      ? [
          `${spec.path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...ofPod(spec.in('template'), true),
  ]
}

function ofSchedule(object: Place, old: Place | undefined): string[] {
  return old !== undefined && object.in('spec', 'schedule').text.includes('TZ')
    ? [
        'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
      ]
    : []
}

function ofStatefulSet(object: Place, old: Place | undefined): string[] {
  const claims = object.in('spec', 'volumeClaimTemplates')
  return [
    ...ofTemplate(object, old, 'spec'),
    ...claims.items.flatMap(claim => {
      const path = old === undefined ? claim.path : `${claim.path}.Spec`
      return ofClaimSpec(claim.in('spec').as(path))
    }),
    ...(object.in('spec', 'revisionHistoryLimit').number < 0
      ? [
          'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended',
        ]
      : []),
  ]
}

const storageClass = [
  'volume.beta.kubernetes.io/storage-class',
  'deprecated since v1.8; use "storageClassName" attribute instead',
] as const
const mountOptions = [
  'volume.beta.kubernetes.io/mount-options',
  'deprecated since v1.31; use "mountOptions" attribute instead',
] as const

function ofOldAnnotation(object: Place, [name, word]: readonly [string, string]): string[] {
  return hasAnnotation(object, name) ? [`metadata.annotations[${name}]: ${word}`] : []
}

function ofVolume(object: Place): string[] {
  const spec = object.in('spec')
  const terms = spec.in('nodeAffinity', 'required', 'nodeSelectorTerms')
  return [
    ...[storageClass, mountOptions].flatMap(one => ofOldAnnotation(object, one)),
    ...(spec.in('persistentVolumeReclaimPolicy').text === 'Recycle'
      ? [
          'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        ]
      : []),
    ...terms.items.flatMap(term => ofTerm(term, false)),
    ...ofOldVolume(spec, [
      'cephfs',
      'photonPersistentDisk',
      'scaleIO',
      'storageos',
      'glusterfs',
      'rbd',
    ]),
  ]
}

function ofDriver(object: Place, old: Place | undefined): string[] {
  const spec = object.in('spec')
  const [requests, before] = [spec.in('tokenRequests'), old?.in('spec', 'tokenRequests')]
  const isAsked = before === undefined || !isSame(requests.value, before.value)
  return isAsked && requests.size > 0 && !spec.in('serviceAccountTokenInSecrets').isSet
    ? [
        'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
      ]
    : []
}

function ofStorageClass(object: Place): string[] {
  return object
    .in('allowedTopologies')
    .items.flatMap(term => term.in('matchLabelExpressions').items)
    .map(expression => expression.in('key'))
    .flatMap(({ path, text }) => ofOldLabel(text, path))
}

const managedBy = 'endpointslice.kubernetes.io/managed-by'
const controllers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io']

function ofEndpointSlice(object: Place, old: Place | undefined): string[] {
  const labels = object.in('metadata', 'labels')
  const isNamed = old === undefined && object.in('addressType').text === 'FQDN'
  const addresses = controllers.includes(labels.in(managedBy).text)
    ? []
    : object.in('endpoints').items.flatMap(endpoint => endpoint.in('addresses').items)
  return [
    ...(isNamed ? ['spec.addressType: FQDN endpoints are deprecated'] : []),
    ...addresses.flatMap(ofAddress),
  ]
}

function ofEndpoints(object: Place): string[] {
  const owner = object.in('metadata', 'labels', 'endpoints.kubernetes.io/managed-by').text
  if (owner === 'endpoint-controller') return []
  return object
    .in('subsets')
    .items.flatMap(subset => [
      ...subset.in('addresses').items,
      ...subset.in('notReadyAddresses').items,
    ])
    .flatMap(address => ofAddress(address.in('ip')))
}

function ofNetworkPolicy(object: Place): string[] {
  const spec = object.in('spec')
  const peers = [
    ...spec.in('ingress').items.flatMap(rule => rule.in('from').items),
    ...spec.in('egress').items.flatMap(rule => rule.in('to').items),
  ]
  return peers
    .map(peer => peer.in('ipBlock'))
    .filter(block => block.isSet)
    .flatMap(block => [block.in('cidr'), ...block.in('except').items])
    .flatMap(ofPrefix)
}

const ingressClass = 'kubernetes.io/ingress.class'

function ofIngress(object: Place, old: Place | undefined): string[] {
  if (old !== undefined || !hasAnnotation(object, ingressClass)) return []
  return object.in('spec', 'ingressClassName').isSet
    ? []
    : [`annotation "${ingressClass}" is deprecated, please use 'spec.ingressClassName' instead`]
}

/** Names of what a server reads from its own files. */
const staticSuffix = '.static.k8s.io'

function ofStaticName(object: Place): string[] {
  return object.in('metadata', 'name').text.endsWith(staticSuffix)
    ? [
        `metadata.name: names ending with "${staticSuffix}" are reserved for static manifest-based configurations and cannot be managed via the API`,
      ]
    : []
}

const mountableSecrets = 'kubernetes.io/enforce-mountable-secrets'

function ofServiceAccount(object: Place, old: Place | undefined): string[] {
  return hasAnnotation(object, mountableSecrets) && !hasAnnotation(old, mountableSecrets)
    ? [
        `metadata.annotations[${mountableSecrets}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]
    : []
}

function ofSlice(object: Place): string[] {
  const driver = object.in('spec', 'driver').text
  return driver === driver.toLowerCase()
    ? []
    : [
        `spec.driver: driver names should be lowercase; ${goQuote(driver)} contains uppercase characters`,
      ]
}

/** A quota that allows more to be asked for than to be used. */
function ofQuota(object: Place): string[] {
  const hard = object.in('spec', 'hard')
  return ['cpu', 'memory', 'ephemeral-storage'].flatMap(name => {
    const bare = name === 'ephemeral-storage' ? [] : [name]
    const asked = [`requests.${name}`, ...bare].find(one => hard.in(one).isSet)
    const [request, limit] = [hard.in(asked ?? ''), hard.in(`limits.${name}`)]
    if (asked === undefined || !limit.isSet) return []
    if (quantityNanos(request.text) <= quantityNanos(limit.text)) return []
    return [
      `ResourceQuota ${asked} (${request.text}) should be less than limits.${name} (${limit.text})`,
    ]
  })
}
