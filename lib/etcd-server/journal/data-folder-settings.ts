/** The settings of the folder in which the etcd of this process keeps its data. */

/** The folder of state that lasts. */
export interface DataFolderOptions {
  readonly folder: string
  readonly durability: 'os' | 'fsync'
}
