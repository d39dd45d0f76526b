/** A Kubernetes API for tests in JavaScript: see README.md. */

export { startCluster, type StartOptions, type TestCluster } from './start-cluster.ts'
export type { TestClusterOptions } from './cluster-options.ts'
export type { ClusterFaults, MetFault } from './cluster-faults.ts'
