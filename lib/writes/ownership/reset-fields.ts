/** Fields that a write through a resource or a subresource cannot change: the server sets them
 *  back, so nobody comes to own them by that write. */

import { FieldSet } from './sets/field-set.ts'
import { memberElement } from './sets/path-element.ts'

export type FieldFilter = (fields: FieldSet, apiVersion: string) => FieldSet

/** The target of a write: a resource in the version of the request, or a subresource of it. */
export interface WriteTarget {
  readonly group: string
  readonly resource: string
  readonly apiVersion: string
  readonly subresource: string
  /** True if a custom resource has the subresource `status`; undefined for built-in ones. */
  readonly hasCustomStatus: boolean | undefined
}

export function withoutResetFields(written: WriteTarget): FieldFilter {
  if (written.hasCustomStatus !== undefined) return customFilter(written)
  const name = written.group === '' ? written.resource : `${written.resource}.${written.group}`
  const reset = resetBuiltIn(name, written.subresource)
  return reset === undefined ? fields => fields : fields => fields.recursiveDifference(reset)
}

/** Filters fields that are reset: of custom resources, only owners in the version of the request
 *  lose them. */
function customFilter({ apiVersion, subresource, hasCustomStatus }: WriteTarget): FieldFilter {
  let reset: FieldSet | undefined
  if (subresource === 'status') reset = metadataAndSpec
  else if (subresource === '' && hasCustomStatus === true) reset = status
  return (fields, of) =>
    reset === undefined || of !== apiVersion ? fields : fields.recursiveDifference(reset)
}

function resetBuiltIn(name: string, subresource: string): FieldSet | undefined {
  const special = resetBySubresource[`${name}/${subresource}`]
  if (special !== undefined) return special
  const hasStatus = resetMetadata.has(name) || withStatus.has(name)
  if (!hasStatus) return undefined
  if (subresource === '') return status
  if (subresource !== 'status') return undefined
  return resetMetadata.has(name) ? metadataAndSpec : spec
}

function fields(...paths: readonly string[]): FieldSet {
  return FieldSet.of(...paths.map(path => path.split('.').map(memberElement)))
}

const status = fields('status')
const spec = fields('spec')
const metadataAndSpec = fields('metadata', 'spec')

/** Resources whose status resets `spec`. */
const withStatus: ReadonlySet<string> = new Set([
  'customresourcedefinitions.apiextensions.k8s.io',
  'cronjobs.batch',
  'daemonsets.apps',
  'deployments.apps',
  'horizontalpodautoscalers.autoscaling',
  'ingresses.networking.k8s.io',
  'jobs.batch',
  'namespaces',
  'nodes',
  'persistentvolumeclaims',
  'persistentvolumes',
  'poddisruptionbudgets.policy',
  'pods',
  'replicasets.apps',
  'replicationcontrollers',
  'resourcequotas',
  'services',
  'statefulsets.apps',
])

/** Resources whose status resets `metadata` too. */
const resetMetadata: ReadonlySet<string> = new Set([
  'apiservices.apiregistration.k8s.io',
  'devicetaintrules.resource.k8s.io',
  'flowschemas.flowcontrol.apiserver.k8s.io',
  'podgroups.scheduling.k8s.io',
  'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io',
  'resourceclaims.resource.k8s.io',
  'resourcepoolstatusrequests.resource.k8s.io',
  'servicecidrs.networking.k8s.io',
  'storageversionmigrations.storagemigration.k8s.io',
  'storageversions.internal.apiserver.k8s.io',
  'validatingadmissionpolicies.admissionregistration.k8s.io',
  'volumeattachments.storage.k8s.io',
])

const resetBySubresource: Readonly<Record<string, FieldSet>> = {
  'certificatesigningrequests.certificates.k8s.io/': fields('spec', 'status'),
  'certificatesigningrequests.certificates.k8s.io/status': fields('spec', 'status.conditions'),
  'certificatesigningrequests.certificates.k8s.io/approval': fields('spec', 'status.certificate'),
  'deployments.apps/status': fields('spec', 'metadata.labels'),
  'namespaces/finalize': status,
  'podcertificaterequests.certificates.k8s.io/status': spec,
  'pods/status': fields('spec', 'metadata.deletionTimestamp', 'metadata.ownerReferences'),
}
