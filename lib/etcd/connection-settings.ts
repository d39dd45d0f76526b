/** The settings of a connection to etcd: where it is, and as whom it is asked. */

/** The settings of the etcd client. */
export interface EtcdConnection {
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls | undefined
  readonly user?: { readonly name: string; readonly password: string } | undefined
}

/** The contents of the files. */
export interface EtcdTls {
  readonly ca?: Buffer | undefined
  readonly cert?: Buffer | undefined
  readonly key?: Buffer | undefined
}
