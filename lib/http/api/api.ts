/** What the API needs of the layers that it does not know: compose hands it in. */

import type { Freshness } from '../../base/freshness.ts'
import type { Clock } from '../../base/clock.ts'
import type { Key, KeyRange } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import type { Segment } from '../../codec/output/segments.ts'
import type { Revision } from '../../base/revision.ts'
import type { TokenEncryption } from '../../kube/continuation.ts'
import type { ListPlan } from '../../kube/read-plan.ts'
import type { KeyValue } from '../../store/event.ts'
import type { SegmentCache } from '../../store/segments.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import type { Hub } from '../../watch/hub.ts'
import type { ApiState } from './api-state.ts'
import type { AuditLog } from '../audit/audit.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import type { Fairness } from '../limits/fairness.ts'
import type { Health } from '../admin/health.ts'
import type { ProxyOptions } from '../proxy/proxy-options.ts'
import type { OpenWatches } from '../watch/open-watches.ts'

export interface ReadRequest {
  readonly keyspace: Key
  /** What is looked at. The answer may hold more. */
  readonly range: KeyRange
  readonly freshness: Freshness
  /** Asked for only if the read has to wait: it may be made then. */
  readonly signal: AbortSignal
}

/** Contents of keyspaces, as fresh as a read asks for. */
export interface Reads {
  /** From the mirror, or, where it cannot tell, from where it can be read. Fails with the codes of the mirror's freshness gate. */
  read(request: ReadRequest): Promise<Snapshot | DirectSource>
}

/** The source that is mirrored, asked itself: only a few reads at a time may. */
export interface DirectSource {
  /** Pages of its own answer, all at one revision. Fails with `overloaded` when too many are read already. */
  pages(request: DirectRequest): AsyncIterable<DirectPage>
}

export interface DirectRequest {
  readonly range: KeyRange
  /** Absent: the one that the read asked for, or the newest. */
  readonly revision?: Revision | undefined
  /** A single page of at most so many. Absent: all of the range. */
  readonly limit?: number | undefined
  readonly signal: AbortSignal
}

export interface DirectPage {
  readonly revision: Revision
  readonly entries: readonly KeyValue[]
  /** How many entries of the range come after it. */
  readonly remaining: number
}

/** What is said about a request once it is over. None of it is made of what a client sent, but for known resources. */
export interface RequestFacts {
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Who answered: the mirror, etcd itself, what we know ourselves, the upstream, or a refusal. */
  readonly source: 'mirror' | 'etcd' | 'own' | 'refused' | 'upstream'
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
}

export interface RequestMetrics {
  request(facts: RequestFacts, code: number, tookMs: number): void
}

/** What /metrics shows. */
export interface MetricsText {
  /** In the Prometheus text format. */
  text(): Promise<string>
  readonly contentType: string
}

/** The changes of keyspaces, for watches. */
export interface WatchSource {
  /** Fans out the changes of a keyspace. */
  hub(keyspace: Key): Hub
  /** The revision up to which nothing is missing. */
  proven(keyspace: Key): Revision
  /** Asks etcd how far it is, once for all of these that it says so for at once; `proven` rises when it answers. */
  refresh(keyspaces: Iterable<Key>): void
  /** etcd's compacted revision; 0 when none is known. */
  compacted(keyspace: Key): Revision
  /** A revision that will never come, since etcd's history is another one now. */
  isOfOldEpoch(keyspace: Key, revision: Revision): boolean
}

export interface ApiOptions {
  /** The state of now. */
  readonly state: () => ApiState
  readonly reads: Reads
  readonly watches: OpenWatches
  readonly segments: SegmentCache<Segment>
  readonly tokenEncryption?: TokenEncryption | undefined
  /** CBOR is offered beside the other media types. */
  readonly hasCbor: boolean
  /** A list was asked for that indexes might have helped. */
  readonly onList: (plan: ListPlan, state: ApiState) => void
  /** Undefined: everybody may read everything. */
  readonly authorizer?: Authorizer | undefined
  /** Undefined: everybody may take everything. */
  readonly fairness?: Fairness | undefined
  /** Undefined: nothing is recorded. */
  readonly audit?: AuditLog | undefined
  /** What goes to an upstream, if there is one. */
  readonly proxy?: ProxyOptions | undefined
  readonly health: Health
  readonly requests: RequestMetrics
  readonly metrics: MetricsText
  readonly clock: Clock
  readonly logger: Logger
  /** A fresh id for each request. */
  readonly auditId: () => string
}
