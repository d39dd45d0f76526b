/** The options of passing requests on. */

import type { Gate, OutputForm } from '@watchglass/codec'
import type { DecisionPolicy, PassReason, Resource, ResourceRoute } from '@watchglass/kube'
import type { MixedMinors } from '../minors/mixed-minors.ts'
import type { HttpRequest, UpstreamIdentity } from '@watchglass/cache'
import type { CollapsedReads, CollapseMetrics } from './collapsed-reads.ts'
import type { Features } from '../evidence/features.ts'
import type { InexactEvents } from './inexact-events.ts'
import type { HeldEvents } from './held-events.ts'
import type { Slots } from './slots.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** The credentials by which the upstream knows a caller. */
export interface PassedCredentials {
  /** Names in lower case. They replace the client's `Authorization` header. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly as: UpstreamIdentity
}

export interface PassMetrics extends CollapseMetrics {
  /** Called when a request has passed. */
  passed(reason: PassReason): void
}

export interface ProxyOptions {
  readonly upstream: Upstream
  /** The current policy of decisions. */
  readonly policy: DecisionPolicy
  /** Undefined, or where it answers that: requests pass with the caller's own credentials,
   *  unchanged. */
  readonly passed?: ((request: HttpRequest) => PassedCredentials | undefined) | undefined
  /** All callers are the user as whom the mirror reads, but for those with credentials of their
   *  own. */
  readonly isOneUser?: boolean | undefined
  /** Identity headers beside X-Remote-*, which never pass. */
  readonly isIdentityHeader?: ((name: string) => boolean) | undefined
  /** Events that cannot be shown exactly. */
  readonly inexact: InexactEvents
  /** The gate that objects of a resource in a form must pass, or why there is none; undefined: all
   *  objects may be shown. */
  readonly gateOf?: ((resource: Resource, form: OutputForm) => Gate | PassReason) | undefined
  /** Whether the upstream obeys what asks for a feature; undefined while that is not known. */
  readonly obeys?: Features['isObeyed'] | undefined
  /** True if there is data of the version that serves the resource, so that more than objects can
   *  be answered here. Undefined: always. */
  readonly isCovered?: ((resource: Resource) => boolean) | undefined
  /** Differences between servers of different minor versions; undefined while all are of one. */
  readonly mixed?: (() => MixedMinors | undefined) | undefined
  /** Events that wait until they were compared. */
  readonly held: HeldEvents
  /** Shares answers among identical reads. */
  readonly collapsed: CollapsedReads
  /** Called when the upstream has answered a list or a watch of a resource that the mirror lacks.
   *  Only that answer says that somebody may read it: before, a stranger's request would have it
   *  mirrored. */
  readonly onLacked?: ((route: ResourceRoute) => void) | undefined
  /** Limits reads that the mirror should have answered. */
  readonly slots: Slots
  readonly metrics: PassMetrics
}
