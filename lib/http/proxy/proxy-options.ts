/** What passing requests on needs. */

import type { Gate } from '../../codec/evidence/gate.ts'
import type { Shown } from '../../codec/served/object-encoder.ts'
import type { DecisionPolicy, PassReason } from '../../kube/decide.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Exchange } from '../server/exchange.ts'
import type { InexactEvents } from '../api/inexact.ts'
import type { HeldEvents } from '../watch/held-events.ts'
import type { Slots } from '../limits/slots.ts'
import type { Upstream, UpstreamIdentity } from '../../upstream/upstream.ts'

/** How a caller is shown to the upstream. */
export interface PassedCredentials {
  /** Names in lower case. They take the place of what the client has sent of `Authorization`. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly as: UpstreamIdentity
}

export interface PassMetrics {
  /** A request has gone to the upstream. */
  passed(reason: PassReason): void
}

export interface ProxyOptions {
  readonly upstream: Upstream
  /** What decides about requests now. */
  readonly policy: () => DecisionPolicy
  /** Undefined: callers show their own credentials, as they sent them. */
  readonly passed?: ((exchange: Exchange) => PassedCredentials) | undefined
  /** Beside X-Remote-*, which never pass. */
  readonly isIdentityHeader?: ((name: string) => boolean) | undefined
  /** What watches cannot be told. */
  readonly inexact: InexactEvents
  /** Who lets objects of a resource out in a form, or why nobody does; undefined: all may go. */
  readonly gateOf?: ((resource: Resource, shown: Shown) => Gate | PassReason) | undefined
  /** There is data of the version that answers for a resource: more than objects can be answered here. Undefined: there always is. */
  readonly isCovered?: ((resource: Resource) => boolean) | undefined
  /** Events that have to wait until they were compared. */
  readonly held: HeldEvents
  /** For reads that the mirror should have answered. */
  readonly slots: Slots
  readonly metrics: PassMetrics
}
