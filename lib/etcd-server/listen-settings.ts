/** The settings of a listener of etcd's API: its address, certificates, and who may do what. */

/** An address of etcd's API. */
export interface EtcdListen {
  /** `HOST:PORT` */
  readonly address: string
  readonly tlsFiles: EtcdListenFiles | undefined
  /** Prefixes of the keys that are mirrored. An empty text: all keys. */
  readonly prefixes: readonly string[]
  /** Prefixes of the keys that each name of a certificate may read, or read and write; undefined:
   *  no limits. */
  readonly rules?: ReadonlyMap<string, AllowedTexts> | undefined
}

export interface AllowedTexts {
  readonly read: readonly string[]
  readonly write: readonly string[]
}

export interface EtcdListenFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string | undefined
  /** Which options name them, for messages. */
  readonly options?: Readonly<Record<'cert' | 'key' | 'clientCa', string>> | undefined
}
