/** What a service is made from. */

import type { Simulation } from '../cluster/actors/actors.ts'
import type { Schema } from '../codec/schema/schema.ts'
import type { Clock } from '../base/clock.ts'
import type { Key } from '../base/keys.ts'
import type { LevelledLogger, Logger } from '../base/logger.ts'
import type { Client } from '../etcd/client.ts'
import type { AuditLog } from '../http/audit/audit.ts'
import type { Listen } from '../http/server/server.ts'
import type { TlsFiles } from '../http/server/tls.ts'
import type { TokenEncryption } from '../kube/continuation.ts'
import type { Resource } from '../kube/resources/resource.ts'
import type { GeneratedValues } from '../cluster/write/generated-values.ts'
import type { MirrorLimits } from '../mirror/limits.ts'
import type { CertificateFile } from '../ops/metrics/certificate-dates.ts'
import type { AuthorizationOptions } from '../http/auth/authorization.ts'
import type { EtcdDoorOptions } from '../door/etcd-door.ts'
import type { FaultsOptions } from '../cluster/faults/fault-control.ts'
import type { OtherEtcd } from '../mirror/create-mirrors.ts'
import type { CopiesOptions, ThreadsOptions } from '../threads/threads.ts'
import type { UpstreamOptions } from '../front/upstream-side.ts'

export interface ServiceOptions {
  /** Threads that accept connections in place of this one. */
  readonly threads?: ThreadsOptions | undefined
  /** In such a thread: where its contents come from. */
  readonly copies?: CopiesOptions | undefined
  /** Closed by the caller, after the service has stopped. */
  readonly client: Client
  readonly listen: Listen
  readonly tls?: TlsFiles | undefined
  /** HOST:PORT that clients are told, if it is not where the service listens. */
  readonly address?: string | undefined
  /** The version of Kubernetes that is answered; the default one if it is left out. */
  readonly schema?: Schema | undefined
  /** `/registry` */
  readonly prefix: string
  /** etcds that keep what lies below some prefixes. Their clients stay the caller's, too. */
  readonly others?: readonly OtherEtcd[] | undefined
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded?: readonly string[] | undefined
  /** Resources that nothing in etcd declares. */
  readonly configured?: readonly Resource[] | undefined
  /** The API server that this stands in front of. */
  readonly upstream?: UpstreamOptions | undefined
  /** Whether a resource is kept that is stored under a prefix; all are if it is left out. With an upstream only. */
  readonly isKept?: ((prefix: Key) => boolean) | undefined
  /** Where our own paths are, beside `listen`. */
  readonly adminListen?: Listen | undefined
  /** Files whose certificates the process uses, for metrics. */
  readonly certificateFiles?: readonly CertificateFile[] | undefined
  /** Where etcd's own API is served, and where its calls pass to. */
  readonly etcdDoor?: Pick<EtcdDoorOptions, 'listen' | 'connection' | 'onRenewed'> | undefined
  /** Only requests for these names, localhost and addresses are answered, and none of web pages; undefined: all are. */
  readonly guardedHosts?: readonly string[] | undefined
  /** Encrypts continue tokens. */
  readonly tokenEncryption?: TokenEncryption | undefined
  /** Writes are done here. Not with an upstream, which does them. */
  readonly isWritable?: boolean | undefined
  /** What goes on around writes goes on here: namespaces are emptied, dependents collected. Only with `isWritable`. */
  readonly hasControllers?: boolean | undefined
  /** Controllers and nodes that are made up. Only with `isWritable`. */
  readonly simulation?: Simulation | undefined
  /** The namespaces that every cluster has are made at start: for an etcd of our own that may be empty. */
  readonly hasSystemNamespaces?: boolean | undefined
  /** What new objects are given; random if it is left out. */
  readonly generated?: GeneratedValues | undefined
  /** CBOR is offered beside the other media types. */
  readonly hasCbor?: boolean | undefined
  /** Who may read. Undefined: anyone who can connect. */
  readonly authorization?: AuthorizationOptions | undefined
  /** Takes the record of what is answered here. Stays the caller's. */
  readonly audit?: ((onLost: (lines: number) => void) => AuditLog) | undefined
  readonly logger: Logger
  /** Whose level the admin listener can change; undefined: it cannot. */
  readonly levelledLogger?: LevelledLogger | undefined
  /** Of ages in Tables and of all waiting; the real one by default. */
  readonly clock?: Clock | undefined
  readonly limits?: MirrorLimits | undefined
  /** For mirror, history and segments together; unbounded if it is left out. */
  readonly memoryBudgetBytes?: number | undefined
  /** What goes wrong on purpose; undefined: nothing, and nothing can be switched on. */
  readonly faults?: FaultsOptions | undefined
  /** Of what is encoded and kept; a gigabyte if it is left out. */
  readonly segmentsMaxBytes?: number | undefined
  /** How long it still serves after it was asked to stop; /readyz fails meanwhile, so that load balancers take it out. */
  readonly stopDelayMs?: number | undefined
}
