/** Everything that other packages may import of this one. */

export type { ApiReplicaOptions } from './api-replica.ts'
export { Engine } from './engine/engine.ts'
export type { EtcdReplica, EtcdReplicaOptions } from './etcd-replica.ts'
export type { DataFolderOptions } from './journal/data-folder-settings.ts'
export type { AllowedTexts, EtcdListen, EtcdListenFiles } from './listen-settings.ts'
