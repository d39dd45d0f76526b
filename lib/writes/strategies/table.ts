/** The strategies of built-in resources, by group and plural name. What is not here resets and
 *  counts nothing. */

import type { StrategyContext, StrategyRow } from './row.ts'
import { resourceClaims } from './resource-claims.ts'
import { resourceSlices } from './resource-slices.ts'
import { services } from './services.ts'
import { signingRequests } from './signing-requests.ts'
import { definitions } from './definitions.ts'
import { namespaces } from './namespaces.ts'
import { pods } from './pods.ts'
import { claims, volumes } from './volumes.ts'
import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { copyMember, isEqual, metadataOf, textOf } from '../metadata.ts'

const spec = ['spec']
const workload: StrategyRow = { hasStatus: true, counted: spec }
/** A workload with a template of pods. */
const templated: StrategyRow = { ...workload, podSpec: ['spec', 'template', 'spec'] }
/** Writes of the status of these do not change metadata. */
const guarded: StrategyRow = { hasStatus: true, keepsMetadata: true }
/** Nor do writes of these try to: what they say of metadata counts for nothing. */
const untouched: StrategyRow = { ...workload, subresources: { status: keepAllMetadata } }
const counted: StrategyRow = { counted: spec }
const returned: StrategyRow = { returnsDeleted: true }

export const strategyRows: Readonly<Record<string, StrategyRow>> = {
  '/endpoints': { createsOnUpdate: true },
  '/events': { createsOnUpdate: true, collection: 'unsupported' },
  '/limitranges': { createsOnUpdate: true, prepareCreate: nameByUid },
  '/namespaces': namespaces,
  '/nodes': {
    hasStatus: true,
    keepsStatus: true,
    // Configuration of kubelets through the API was removed.
    gated: [
      ['spec', 'configSource'],
      ['status', 'config'],
    ],
  },
  '/persistentvolumeclaims': claims,
  '/persistentvolumes': volumes,
  '/pods': pods,
  '/podtemplates': { counted: ['template'], returnsDeleted: true, podSpec: ['template', 'spec'] },
  '/replicationcontrollers': { ...templated, collection: 'orphan' },
  '/resourcequotas': { hasStatus: true, returnsDeleted: true },
  '/secrets': { prepareUpdate: keepType },
  '/serviceaccounts': { returnsDeleted: true, prepareCreate: nameOnly, prepareUpdate: nameOnly },
  '/services': services,
  'admissionregistration.k8s.io/mutatingadmissionpolicies': { ...counted, needsVersion: true },
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': {
    ...counted,
    needsVersion: true,
  },
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': {
    counted: ['webhooks'],
    countsEmpties: true,
    needsVersion: true,
  },
  'admissionregistration.k8s.io/validatingadmissionpolicies': {
    ...guarded,
    createsByStatus: true,
    counted: spec,
    needsVersion: true,
  },
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': {
    ...counted,
    needsVersion: true,
  },
  'admissionregistration.k8s.io/validatingwebhookconfigurations': {
    counted: ['webhooks'],
    countsEmpties: true,
    needsVersion: true,
  },
  'apiextensions.k8s.io/customresourcedefinitions': definitions,
  'apiregistration.k8s.io/apiservices': {
    hasStatus: true,
    subresources: {
      status: (object, old) => {
        for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
          copyMember(metadataOf(object), metadataOf(old), name)
        }
      },
    },
    needsVersion: true,
    prepareCreate: availableHere,
  },
  'apps/daemonsets': {
    ...templated,
    prepareCreate: beginTemplateGeneration,
    prepareUpdate: countTemplate,
    subresources: { status: (object, old) => setTemplateGeneration(object, generationIn(old)) },
  },
  'apps/deployments': {
    ...templated,
    counted: ['spec', 'metadata.annotations'],
    subresources: {
      status: (object, old) => copyMember(metadataOf(object), metadataOf(old), 'labels'),
    },
  },
  'apps/replicasets': templated,
  'apps/statefulsets': {
    ...templated,
    // MaxUnavailableStatefulSet
    gated: [['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable']],
  },
  'autoscaling/horizontalpodautoscalers': { hasStatus: true },
  'batch/cronjobs': {
    ...workload,
    podSpec: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
  },
  'batch/jobs': { ...templated, collection: 'orphan', prepareCreate: selectPods },
  'certificates.k8s.io/certificatesigningrequests': signingRequests,
  'certificates.k8s.io/clustertrustbundles': { needsVersion: true },
  'certificates.k8s.io/podcertificaterequests': { ...guarded, needsVersion: true },
  'coordination.k8s.io/leasecandidates': { createsOnUpdate: true, needsVersion: true },
  'coordination.k8s.io/leases': {
    createsOnUpdate: true,
    needsVersion: true,
    // CoordinatedLeaderElection
    gated: [
      ['spec', 'strategy'],
      ['spec', 'preferredHolder'],
    ],
  },
  'discovery.k8s.io/endpointslices': {
    counted: ['*', 'metadata.labels'],
    countsDropped: true,
    prepareCreate: dropTopology,
    prepareUpdate: (object, old) => {
      if (!isEqual(object.get('endpoints'), old.get('endpoints'))) dropTopology(object)
    },
  },
  'events.k8s.io/events': { createsOnUpdate: true, collection: 'unsupported' },
  'flowcontrol.apiserver.k8s.io/flowschemas': untouched,
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': untouched,
  'internal.apiserver.k8s.io/storageversions': { ...guarded, needsVersion: true },
  'networking.k8s.io/ingressclasses': counted,
  'networking.k8s.io/ingresses': workload,
  'networking.k8s.io/networkpolicies': { ...counted, countsEmpties: true },
  'networking.k8s.io/servicecidrs': guarded,
  'networking.k8s.io/ipaddresses': { namedByPrefix: true },
  'node.k8s.io/runtimeclasses': { createsOnUpdate: true, needsVersion: true },
  'policy/poddisruptionbudgets': { ...workload, needsVersion: true },
  'rbac.authorization.k8s.io/clusterrolebindings': { createsOnUpdate: true },
  'rbac.authorization.k8s.io/clusterroles': { createsOnUpdate: true },
  'rbac.authorization.k8s.io/rolebindings': { createsOnUpdate: true },
  'rbac.authorization.k8s.io/roles': { createsOnUpdate: true },
  'resource.k8s.io/deviceclasses': { ...counted, returnsDeleted: true },
  'resource.k8s.io/devicetaintrules': { ...guarded, counted: spec, returnsDeleted: true },
  'resource.k8s.io/resourceclaims': resourceClaims,
  'resource.k8s.io/resourceclaimtemplates': returned,
  'resource.k8s.io/resourceslices': resourceSlices,
  'scheduling.k8s.io/podgroups': guarded,
  'scheduling.k8s.io/priorityclasses': { counted: [] },
  'storage.k8s.io/csidrivers': {
    counted: spec,
    needsVersion: true,
    returnsDeleted: true,
    // VolumeLimitScaling
    gated: [['spec', 'preventPodSchedulingIfMissing']],
    keepsGeneration: true,
  },
  'storage.k8s.io/csinodes': { needsVersion: true, returnsDeleted: true },
  'storage.k8s.io/csistoragecapacities': { needsVersion: true },
  'storage.k8s.io/storageclasses': returned,
  'storage.k8s.io/volumeattachments': { ...guarded, needsVersion: true, returnsDeleted: true },
  'storage.k8s.io/volumeattributesclasses': returned,
  'storagemigration.k8s.io/storageversionmigrations': { ...guarded, needsVersion: true },
}

/** Topology was written through a version that is gone. */
function dropTopology(object: JsonObject): void {
  for (const endpoint of itemsOf(object.get('endpoints'))) {
    if (endpoint instanceof Map) endpoint.delete('deprecatedTopology')
  }
}

/** A Secret without a type keeps the one that it has. */
function keepType(object: JsonObject, old: JsonObject): void {
  if (textOf(object.get('type')) === '') copyMember(object, old, 'type')
}

/** Keeps only the names of a ServiceAccount's secrets. */
function nameOnly(object: JsonObject): void {
  const secrets = object.get('secrets')
  if (!Array.isArray(secrets)) return
  const names = secrets.map(
    (secret): JsonValue => new Map([['name', memberOf(secret, 'name') ?? '']]),
  )
  object.set('secrets', names)
}

/** Marks an APIService available that no other server serves: it is served here, and needs no
 *  look. */
function availableHere(object: JsonObject, { now }: StrategyContext): void {
  if ((memberOf(object.get('spec'), 'service') ?? null) !== null) return
  const condition = new Map([
    ['type', 'Available'],
    ['status', 'True'],
    ['lastTransitionTime', now],
    ['reason', 'Local'],
    ['message', 'Local APIServices are always available'],
  ])
  object.set('status', new Map([['conditions', [condition]]]))
}

const templateGeneration = 'deprecated.daemonset.template.generation'

/** DaemonSets count changes of their template in an annotation, which Go has as a field. */
function beginTemplateGeneration(object: JsonObject): void {
  const known = generationIn(object)
  setTemplateGeneration(object, known >= 1 ? known : 1)
}

function countTemplate(object: JsonObject, old: JsonObject): void {
  const known = generationIn(old)
  const isSame = isEqual(
    memberOf(object.get('spec'), 'template'),
    memberOf(old.get('spec'), 'template'),
  )
  setTemplateGeneration(object, isSame ? known : known + 1)
}

function generationIn(object: JsonObject): number {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  return Number(textOf(memberOf(annotations, templateGeneration)))
}

function setTemplateGeneration(object: JsonObject, generation: number): void {
  const metadata = metadataOf(object)
  const known = metadata.get('annotations')
  const annotations: JsonObject = known instanceof Map ? new Map(known) : new Map()
  annotations.set(templateGeneration, String(generation))
  metadata.set('annotations', annotations)
}

/** A Job chooses its pods by labels that it makes itself, unless it says otherwise. */
function selectPods(object: JsonObject): void {
  const job = object.get('spec')
  if (!(job instanceof Map) || job.get('manualSelector') === true) return
  const uid = textOf(memberOf(object.get('metadata'), 'uid'))
  const name = textOf(memberOf(object.get('metadata'), 'name'))
  const template = job.get('template')
  if (!(template instanceof Map)) return
  const metadata = metadataOf(template)
  const known = metadata.get('labels')
  const labels: JsonObject = known instanceof Map ? new Map(known) : new Map()
  for (const [label, value] of [
    ['job-name', name],
    ['controller-uid', uid],
    ['batch.kubernetes.io/job-name', name],
    ['batch.kubernetes.io/controller-uid', uid],
  ] as const) {
    if (!labels.has(label)) labels.set(label, value)
  }
  const sorted = new Map([...labels].sort(([a], [b]) => (a < b ? -1 : 1)))
  metadata.set('labels', sorted)
  const own = metadataOf(object)
  if (known !== undefined && own.get('labels') === known) own.set('labels', sorted)
  const selector = job.get('selector')
  const chosen: JsonObject = selector instanceof Map ? new Map(selector) : new Map()
  const matched = chosen.get('matchLabels')
  const matchLabels: JsonObject = matched instanceof Map ? new Map(matched) : new Map()
  if (!matchLabels.has('batch.kubernetes.io/controller-uid')) {
    matchLabels.set('batch.kubernetes.io/controller-uid', uid)
  }
  chosen.set('matchLabels', matchLabels)
  job.set('selector', chosen)
}

function keepAllMetadata(object: JsonObject, old: JsonObject): void {
  const metadata = new Map(metadataOf(old))
  copyMember(metadata, metadataOf(object), 'managedFields')
  object.set('metadata', metadata)
}

/** A limit range needs no name of its own. */
function nameByUid(object: JsonObject): void {
  const metadata = metadataOf(object)
  if (textOf(metadata.get('name')) === '') metadata.set('name', textOf(metadata.get('uid')))
}
