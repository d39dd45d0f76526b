/** The built-in kinds that have rules of their own. What is not here resets and counts nothing, and
 *  has only the rules of all objects. */

import type { BuiltInKind } from './kind.ts'
import { withGroup } from './names.ts'
import { configMap } from './core/config-map.ts'
import { endpoints } from './core/endpoints.ts'
import { event } from './core/event.ts'
import { limitRange } from './core/limit-range.ts'
import { namespace } from './core/namespace.ts'
import { node } from './core/node.ts'
import { persistentVolumeClaim } from './core/persistent-volume-claim.ts'
import { persistentVolume } from './core/persistent-volume.ts'
import { podTemplate } from './core/pod-template.ts'
import { pod } from './core/pod.ts'
import { replicationController } from './core/replication-controller.ts'
import { resourceQuota } from './core/resource-quota.ts'
import { secret } from './core/secret.ts'
import { serviceAccount } from './core/service-account.ts'
import { service } from './core/service.ts'
import { mutatingAdmissionPolicyBinding } from './admissionregistration/mutating-admission-policy-binding.ts'
import { mutatingAdmissionPolicy } from './admissionregistration/mutating-admission-policy.ts'
import { mutatingWebhookConfiguration } from './admissionregistration/mutating-webhook-configuration.ts'
import { validatingAdmissionPolicyBinding } from './admissionregistration/validating-admission-policy-binding.ts'
import { validatingAdmissionPolicy } from './admissionregistration/validating-admission-policy.ts'
import { validatingWebhookConfiguration } from './admissionregistration/validating-webhook-configuration.ts'
import { customResourceDefinition } from './apiextensions/custom-resource-definition.ts'
import { apiService } from './apiregistration/api-service.ts'
import { controllerRevision } from './apps/controller-revision.ts'
import { daemonSet } from './apps/daemon-set.ts'
import { deployment } from './apps/deployment.ts'
import { replicaSet } from './apps/replica-set.ts'
import { statefulSet } from './apps/stateful-set.ts'
import { horizontalPodAutoscaler } from './autoscaling/horizontal-pod-autoscaler.ts'
import { cronJob } from './batch/cron-job.ts'
import { job } from './batch/job.ts'
import { certificateSigningRequest } from './certificates/certificate-signing-request.ts'
import { clusterTrustBundle } from './certificates/cluster-trust-bundle.ts'
import { podCertificateRequest } from './certificates/pod-certificate-request.ts'
import { leaseCandidate } from './coordination/lease-candidate.ts'
import { lease } from './coordination/lease.ts'
import { endpointSlice } from './discovery/endpoint-slice.ts'
import { event as newEvent } from './events/event.ts'
import { flowSchema } from './flowcontrol/flow-schema.ts'
import { priorityLevelConfiguration } from './flowcontrol/priority-level-configuration.ts'
import { storageVersion } from './internal/storage-version.ts'
import { ingressClass } from './networking/ingress-class.ts'
import { ingress } from './networking/ingress.ts'
import { ipAddress } from './networking/ip-address.ts'
import { networkPolicy } from './networking/network-policy.ts'
import { serviceCidr } from './networking/service-cidr.ts'
import { runtimeClass } from './node/runtime-class.ts'
import { podDisruptionBudget } from './policy/pod-disruption-budget.ts'
import { clusterRoleBinding } from './rbac/cluster-role-binding.ts'
import { clusterRole } from './rbac/cluster-role.ts'
import { roleBinding } from './rbac/role-binding.ts'
import { role } from './rbac/role.ts'
import { deviceClass } from './resource/device-class.ts'
import { deviceTaintRule } from './resource/device-taint-rule.ts'
import { resourceClaimTemplate } from './resource/resource-claim-template.ts'
import { resourceClaim } from './resource/resource-claim.ts'
import { resourcePoolStatusRequest } from './resource/resource-pool-status-request.ts'
import { resourceSlice } from './resource/resource-slice.ts'
import { podGroup } from './scheduling/pod-group.ts'
import { priorityClass } from './scheduling/priority-class.ts'
import { csiDriver } from './storage/csi-driver.ts'
import { csiNode } from './storage/csi-node.ts'
import { csiStorageCapacity } from './storage/csi-storage-capacity.ts'
import { storageClass } from './storage/storage-class.ts'
import { volumeAttachment } from './storage/volume-attachment.ts'
import { volumeAttributesClass } from './storage/volume-attributes-class.ts'
import { storageVersionMigration } from './storagemigration/storage-version-migration.ts'

export const kinds: readonly BuiltInKind[] = [
  configMap,
  endpoints,
  event,
  limitRange,
  namespace,
  node,
  persistentVolumeClaim,
  persistentVolume,
  podTemplate,
  pod,
  replicationController,
  resourceQuota,
  secret,
  serviceAccount,
  service,
  mutatingAdmissionPolicyBinding,
  mutatingAdmissionPolicy,
  mutatingWebhookConfiguration,
  validatingAdmissionPolicyBinding,
  validatingAdmissionPolicy,
  validatingWebhookConfiguration,
  customResourceDefinition,
  apiService,
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  statefulSet,
  horizontalPodAutoscaler,
  cronJob,
  job,
  certificateSigningRequest,
  clusterTrustBundle,
  podCertificateRequest,
  leaseCandidate,
  lease,
  endpointSlice,
  newEvent,
  flowSchema,
  priorityLevelConfiguration,
  storageVersion,
  ingressClass,
  ingress,
  ipAddress,
  networkPolicy,
  serviceCidr,
  runtimeClass,
  podDisruptionBudget,
  clusterRoleBinding,
  clusterRole,
  roleBinding,
  role,
  deviceClass,
  deviceTaintRule,
  resourceClaimTemplate,
  resourceClaim,
  resourcePoolStatusRequest,
  resourceSlice,
  podGroup,
  priorityClass,
  csiDriver,
  csiNode,
  csiStorageCapacity,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
  storageVersionMigration,
]

const byKind = new Map(kinds.map(one => [one.groupKind, one]))
const byResource = new Map(kinds.map(one => [one.groupResource, one]))

export function kindNamed(kind: string, group: string): BuiltInKind | undefined {
  return byKind.get(withGroup(kind, group))
}

/** The kind of a resource, by its plural name. */
export function kindServedAs(plural: string, group: string): BuiltInKind | undefined {
  return byResource.get(withGroup(plural, group))
}
