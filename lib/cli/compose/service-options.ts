/** The options of a service: a group of options for each stage that reads them. */

import type { Clock, Key, LevelledLogger, Logger, Tracer } from '@watchglass/base'
import type { FaultRulesOptions, WriteSideOptions } from '@watchglass/simulator'
import type { Schema } from '@watchglass/codec'
import type { ApiReplicaOptions, EtcdReplicaOptions } from '@watchglass/etcd-server'
import type { Client } from '@watchglass/etcd'
import type {
  AuditLog,
  AuthorizationOptions,
  CertificateFile,
  Checkpoint,
  CreateTally,
  Handler,
  Listen,
  ListPace,
  MirrorLimits,
  OtherEtcd,
  PingTimes,
  readTls,
  Server,
  TlsFiles,
} from '@watchglass/cache'
import type { Resource, TokenEncryption } from '@watchglass/kube'
import type { ClientListener, CopiesOptions, WorkersOptions } from '@watchglass/workers'
import type { UpstreamOptions } from '@watchglass/proxy'
import type { ApiMirrorsOptions } from '@watchglass/source'

export interface ServiceOptions {
  readonly etcd: MirroredEtcds
  readonly listening: ListeningOptions
  readonly served?: ServedOptions | undefined
  readonly access?: AccessOptions | undefined
  readonly operating?: OperatingOptions | undefined
  readonly memory?: MemoryOptions | undefined
  /** The cluster that this is of those in one process; undefined: it is the only one. */
  readonly cluster?: ClusterOfFleet | undefined
  /** Undefined: nothing is traced. */
  readonly tracer?: Tracer | undefined
  readonly attached?: AttachedOptions | undefined
  /** Metrics are also shown under the names of kube-apiserver. If it is left out: without an
   *  upstream, whose own they would be. */
  readonly hasApiServerMetrics?: boolean | undefined
  readonly logger: Logger
  /** Clock of ages in Tables and of all waiting; the real one by default. */
  readonly clock?: Clock | undefined
}

/** The mirrored etcds, and the way to mirror them. Without a client the upstream is mirrored. */
export interface MirroredEtcds {
  /** Closed by the caller, after the service has stopped. */
  readonly client: Client | undefined
  /** Contents that it had before, from which its mirror starts. */
  readonly checkpoint?: Checkpoint | undefined
  /** etcds that keep what lies below some prefixes. Their clients stay the caller's, too. */
  readonly others?: readonly OtherEtcd[] | undefined
  /** `/registry` */
  readonly prefix: string
  readonly limits?: MirrorLimits | undefined
}

/** The port of clients, in this thread. */
export interface ClientPort {
  readonly server: ClientListener & Pick<Server, 'replaceTls'>
  /** The certificate that it began with. */
  readonly tls: Awaited<ReturnType<typeof readTls>> | undefined
  /** Before, whoever connects is cut off: the API tells clients its address, which is known only
   *  once the system has chosen the port. */
  serve(handler: Handler): void
}

/** The listener of clients. */
export interface ListeningOptions {
  readonly listen: Listen
  /** A part of the port of a process with several services; undefined: a port of its own. */
  readonly port?: ClientPort | undefined
  readonly tls?: TlsFiles | undefined
  /** HOST:PORT that clients are told, if it is not where the service listens. */
  readonly address?: string | undefined
  /** Only requests for these names, localhost and addresses are answered, and none of web pages;
   *  undefined: all are. */
  readonly guardedHosts?: readonly string[] | undefined
  /** The longest time between the bookmarks of a watch; as kube-apiserver if it is left out. */
  readonly bookmarkIntervalMs?: number | undefined
  /** Streaming lists are compressed where servers of the version do so; they are if it is left
   *  out. */
  readonly compressesWatches?: boolean | undefined
  /** Pings to silent clients over HTTP/2; none if it is left out. */
  readonly pings?: PingTimes | undefined
}

/** The API's resources and their forms. */
export interface ServedOptions {
  /** The version of Kubernetes that is answered; the default one if it is left out. */
  readonly schema?: Schema | undefined
  /** Resources that nothing in etcd declares. */
  readonly configured?: readonly Resource[] | undefined
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded?: readonly string[] | undefined
  /** etcd prefixes of the only resources that are kept; all are if it is left out. Nothing else is
   *  read from etcd, but for what affects how they are served. */
  readonly only?: readonly string[] | undefined
  /** Whether a resource is kept that is stored under a prefix; all are if it is left out. With an
   *  upstream only. */
  readonly isKept?: ((prefix: Key) => boolean) | undefined
  /** The only namespaces that are mirrored; all are if it is left out. Where the upstream is
   *  mirrored. */
  readonly namespaces?: readonly string[] | undefined
  /** CBOR is offered beside the other media types. */
  readonly hasCbor?: boolean | undefined
  /** Objects may be had without their managed fields. */
  readonly hasDrop?: boolean | undefined
  /** Lists and watches may be of shards. */
  readonly hasShards?: boolean | undefined
  /** Encrypts continue tokens. */
  readonly tokenEncryption?: TokenEncryption | undefined
}

/** The callers who may read, and the record of those who did. */
export interface AccessOptions {
  /** Undefined: anyone who can connect. */
  readonly authorization?: AuthorizationOptions | undefined
  /** Takes the record of what is answered here. Stays the caller's. */
  readonly audit?: ((onLost: (lines: number) => void) => AuditLog) | undefined
}

/** The views and switches of operators. */
export interface OperatingOptions {
  /** Listener of our own paths, beside those of clients. */
  readonly adminListen?: Listen | undefined
  /** The logger whose level the admin listener can change; undefined: it changes none. */
  readonly levelledLogger?: LevelledLogger | undefined
  /** Files whose certificates the process uses, for metrics. */
  readonly certificateFiles?: readonly CertificateFile[] | undefined
  /** Time that it still serves after it was asked to stop; /readyz fails meanwhile, so that load
   *  balancers take it out. */
  readonly stopDelayMs?: number | undefined
}

/** The part of one service in a process that has a service for each cluster. */
export interface ClusterOfFleet {
  /** The label `cluster` of all of its metrics. */
  readonly name: string
  /** The limits that the services share. */
  readonly createTally: CreateTally
  readonly pace: ListPace
}

export interface MemoryOptions {
  /** For mirror, history and segments together; unbounded if it is left out. */
  readonly budgetBytes?: number | undefined
  /** Bound of encoded objects that are kept; a gigabyte if it is left out. */
  readonly segmentsMaxBytes?: number | undefined
}

/** The attached packages that are asked for (`loaded-code.ts`). */
export interface AttachedOptions {
  /** Writes are done here. Not with an upstream, which does them. */
  readonly writes?: WriteSideOptions | undefined
  /** Faults on purpose; undefined: nothing, and nothing can be switched on. */
  readonly faults?: FaultRulesOptions | undefined
  /** The API server that this stands in front of. */
  readonly upstream?: UpstreamOptions | undefined
  /** The upstream is mirrored, in place of an etcd: what is from the start. */
  readonly source?: Pick<ApiMirrorsOptions, 'isWantedAtStart'> | undefined
  /** Workers that accept connections in place of this one. */
  readonly workers?: WorkersOptions | undefined
  /** In such a thread: where its contents come from. */
  readonly copies?: CopiesOptions | undefined
  /** Listener of etcd's own API, and the etcd that its calls pass to. */
  readonly replica?:
    | Pick<EtcdReplicaOptions, 'listen' | 'connection' | 'onRenewed' | 'checkpoint'>
    | undefined
  /** Listener of etcd's own API where the upstream is mirrored, and nothing passes. */
  readonly apiReplica?: Pick<ApiReplicaOptions, 'listen'> | undefined
}
