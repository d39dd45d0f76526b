/** The checks of kube-apiserver's health endpoints, by the names that monitoring and upstream's own
 *  tests look for, in its order. Each names what is started by a hook; here a start is one thing,
 *  so that they fail and pass together. */

import type { ServerChecks } from '@watchglass/cache'

const hooks: readonly string[] = [
  'poststarthook/start-apiserver-admission-initializer',
  'poststarthook/generic-apiserver-start-informers',
  'poststarthook/priority-and-fairness-config-consumer',
  'poststarthook/priority-and-fairness-filter',
  'poststarthook/storage-object-count-tracker-hook',
  'poststarthook/start-apiextensions-informers',
  'poststarthook/start-apiextensions-controllers',
  'poststarthook/crd-informer-synced',
  'poststarthook/start-system-namespaces-controller',
  'poststarthook/peer-endpoint-reconciler-controller',
  'poststarthook/start-cluster-authentication-info-controller',
  'poststarthook/start-kube-apiserver-identity-lease-controller',
  'poststarthook/start-kube-apiserver-identity-lease-garbage-collector',
  'poststarthook/storage-readiness',
  'poststarthook/start-legacy-token-tracking-controller',
  'poststarthook/start-service-ip-repair-controllers',
  'poststarthook/rbac/bootstrap-roles',
  'poststarthook/scheduling/bootstrap-system-priority-classes',
  'poststarthook/priority-and-fairness-config-producer',
  'poststarthook/bootstrap-controller',
  'poststarthook/start-kubernetes-service-cidr-controller',
  'poststarthook/start-kube-aggregator-informers',
  'poststarthook/apiservice-status-local-available-controller',
  'poststarthook/apiservice-status-remote-available-controller',
  'poststarthook/apiservice-registration-controller',
  'poststarthook/apiservice-wait-for-first-sync',
  'poststarthook/apiservice-discovery-controller',
  'poststarthook/kube-apiserver-autoregistration',
  'autoregister-completion',
  'poststarthook/apiservice-openapi-controller',
  'poststarthook/apiservice-openapiv3-controller',
]

export const serverChecks: ServerChecks = {
  livez: ['ping', 'log', 'loopback-serving-certificate', 'etcd', ...hooks],
  readyz: ['ping', 'log', 'informer-sync', ...hooks],
  mirrored: ['etcd', 'informer-sync'],
}
