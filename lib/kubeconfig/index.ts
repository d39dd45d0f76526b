/** Everything that other packages may import of this one. */

export { KubeconfigAccess } from './kubeconfig-access.ts'
export { nodeSystem } from './node-system.ts'
