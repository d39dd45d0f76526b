/** Which printer belongs to which kind. */

import {
  admissionPolicyBindings,
  bindings,
  certificateSigningRequests,
  clusterTrustBundles,
  mutatingAdmissionPolicies,
  podCertificateRequests,
  validatingAdmissionPolicies,
  webhookConfigurations,
} from './printers/access.ts'
import { horizontalPodAutoscalers } from './printers/autoscaling.ts'
import { textFromMilliseconds } from '@watchglass/go'
import {
  apiServices,
  deviceTaintRules,
  flowSchemas,
  leaseCandidates,
  leases,
  podGroups,
  priorityClasses,
  priorityLevelConfigurations,
  resourceClaims,
  resourcePoolStatusRequests,
  resourceSlices,
  runtimeClasses,
  storageVersionMigrations,
  storageVersions,
} from './printers/cluster.ts'
import {
  agedOnly,
  componentStatuses,
  configMaps,
  events,
  namespaces,
  nodes,
  resourceQuotas,
  secrets,
  serviceAccounts,
} from './printers/core.ts'
import {
  endpointSlices,
  endpoints,
  ingressClasses,
  ingresses,
  ipAddresses,
  networkPolicies,
  serviceCidrs,
  services,
} from './printers/network.ts'
import { pods } from './printers/pods.ts'
import { type Printer, printer } from './printer.ts'
import {
  csiDrivers,
  csiNodes,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
  volumeAttributesClasses,
} from './printers/storage.ts'
import {
  controllerRevisions,
  cronJobs,
  daemonSets,
  deployments,
  jobs,
  podDisruptionBudgets,
  podTemplates,
  replicaSets,
  replicationControllers,
  statefulSets,
} from './printers/workloads.ts'

/** Name and time of creation: what kinds without a printer of their own have. */
export const defaultPrinter: Printer = printer({
  fields: { metadata: { name: 'text', creationTimestamp: 'time' } },
  cells: ({ metadata }) => [metadata.name, textFromMilliseconds(metadata.creationTimestamp)],
})

/** By `group/Kind`. Kinds that are served in several groups or versions are printed from what is
 *  stored. */
const printers: Readonly<Record<string, Printer>> = {
  '/ComponentStatus': componentStatuses,
  '/ConfigMap': configMaps,
  '/Endpoints': endpoints,
  '/Event': events,
  '/Namespace': namespaces,
  '/Node': nodes,
  '/PersistentVolume': persistentVolumes,
  '/PersistentVolumeClaim': persistentVolumeClaims,
  '/Pod': pods,
  '/PodTemplate': podTemplates,
  '/ReplicationController': replicationControllers,
  '/ResourceQuota': resourceQuotas,
  '/Secret': secrets,
  '/Service': services,
  '/ServiceAccount': serviceAccounts,
  'admissionregistration.k8s.io/MutatingAdmissionPolicy': mutatingAdmissionPolicies,
  'admissionregistration.k8s.io/MutatingAdmissionPolicyBinding': admissionPolicyBindings,
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhookConfigurations,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicy': validatingAdmissionPolicies,
  'admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding': admissionPolicyBindings,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhookConfigurations,
  'apiregistration.k8s.io/APIService': apiServices,
  'apps/ControllerRevision': controllerRevisions,
  'apps/DaemonSet': daemonSets,
  'apps/Deployment': deployments,
  'apps/ReplicaSet': replicaSets,
  'apps/StatefulSet': statefulSets,
  'autoscaling/HorizontalPodAutoscaler': horizontalPodAutoscalers,
  'batch/CronJob': cronJobs,
  'batch/Job': jobs,
  'certificates.k8s.io/CertificateSigningRequest': certificateSigningRequests,
  'certificates.k8s.io/ClusterTrustBundle': clusterTrustBundles,
  'certificates.k8s.io/PodCertificateRequest': podCertificateRequests,
  'coordination.k8s.io/Lease': leases,
  'coordination.k8s.io/LeaseCandidate': leaseCandidates,
  'discovery.k8s.io/EndpointSlice': endpointSlices,
  'events.k8s.io/Event': events,
  'flowcontrol.apiserver.k8s.io/FlowSchema': flowSchemas,
  'flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration': priorityLevelConfigurations,
  'internal.apiserver.k8s.io/StorageVersion': storageVersions,
  'networking.k8s.io/IPAddress': ipAddresses,
  'networking.k8s.io/Ingress': ingresses,
  'networking.k8s.io/IngressClass': ingressClasses,
  'networking.k8s.io/NetworkPolicy': networkPolicies,
  'networking.k8s.io/ServiceCIDR': serviceCidrs,
  'node.k8s.io/RuntimeClass': runtimeClasses,
  'policy/PodDisruptionBudget': podDisruptionBudgets,
  'rbac.authorization.k8s.io/ClusterRoleBinding': bindings,
  'rbac.authorization.k8s.io/RoleBinding': bindings,
  'resource.k8s.io/DeviceClass': agedOnly,
  'resource.k8s.io/DeviceTaintRule': deviceTaintRules,
  'resource.k8s.io/ResourceClaim': resourceClaims,
  'resource.k8s.io/ResourceClaimTemplate': agedOnly,
  'resource.k8s.io/ResourcePoolStatusRequest': resourcePoolStatusRequests,
  'resource.k8s.io/ResourceSlice': resourceSlices,
  'scheduling.k8s.io/PodGroup': podGroups,
  'scheduling.k8s.io/PriorityClass': priorityClasses,
  'scheduling.k8s.io/Workload': agedOnly,
  'storage.k8s.io/CSIDriver': csiDrivers,
  'storage.k8s.io/CSINode': csiNodes,
  'storage.k8s.io/StorageClass': storageClasses,
  'storage.k8s.io/VolumeAttachment': volumeAttachments,
  'storage.k8s.io/VolumeAttributesClass': volumeAttributesClasses,
  'storagemigration.k8s.io/StorageVersionMigration': storageVersionMigrations,
}

/** The printer of a built-in kind. */
export function printerOf(group: string, kind: string): Printer {
  return printers[`${group}/${kind}`] ?? defaultPrinter
}
