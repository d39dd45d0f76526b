/** The server behind this one, as the cache asks about it (lib/proxy answers). Without an upstream
 *  there is none of it: then what cannot be answered is refused. */

import type { Key, Revision, Soon } from '@watchglass/base'
import type { Gate, MediaType, ObjectEncoder, OutputForm } from '@watchglass/codec'
import type {
  AskedRead,
  DecisionPolicy,
  LaterFeature,
  PassReason,
  Query,
  ReadPlan,
  Resource,
  ResourceRoute,
  ServedEvent,
  WatchPlan,
} from '@watchglass/kube'
import type { Event, Snapshot } from '@watchglass/store'
import type { RequestContext } from './request-context.ts'

/** Outcome of each step of a request. Undefined: it is answered. A reason: nothing was sent, and
 *  the upstream is to answer. Refusals are thrown. */
export type Answer = Soon<PassReason | undefined>

/** A read whose plan is known. */
export interface AskedPlan {
  readonly plan: ReadPlan
  readonly mediaType: MediaType
  readonly query: Query
}

/** An event that is not shown from here, or not yet, and the watchers that wait for it. */
export interface HeldEvent {
  readonly keyspace: Key
  readonly event: Event
  /** The event as these watchers get it. */
  readonly told: ServedEvent
  readonly resource: Resource
  readonly encoder: ObjectEncoder
  readonly form: OutputForm
  /** As clients have sent them; undefined where the event is the same for all. */
  readonly selectors: { readonly labelSelector: string; readonly fieldSelector: string } | undefined
  /** Names the type and the form: equal for watchers that get the same bytes. */
  readonly shownAs: string
  /** True if it may be shown from here once it was compared. */
  readonly isProvable: boolean
}

export interface UpstreamSide {
  /** Reads that pass whatever they ask for. */
  readonly policy: DecisionPolicy
  /** Passes a request. Resolves when its response has ended. */
  pass(context: RequestContext, reason: PassReason): Promise<void>
  /** Why a read passes before it is planned: its servers would not plan it alike. */
  objectionToRead(route: ResourceRoute, asked: AskedRead): PassReason | undefined
  /** Why a planned read passes: its answer holds what is not known of the server. */
  objectionToPlan(resource: Resource, asked: AskedPlan): PassReason | undefined
  /** Why a refusal that was thrown here is the upstream's to say; undefined if it is the answer. */
  objectionToRefusal(route: ResourceRoute, refusal: unknown): PassReason | undefined
  /** Why a watch passes: the mirror could not continue it. */
  objectionToWatch(plan: WatchPlan, snapshot: Snapshot): PassReason | undefined
  /** The gate that objects of a resource in a form must pass, or why there is none; undefined: all
   *  may be shown. */
  gateOf(resource: Resource, form: OutputForm): Gate | PassReason | undefined
  /** Whether the upstream obeys what asks for a feature of later versions; undefined while that is
   *  not known. */
  obeys(feature: LaterFeature, resource: Resource, mediaType: MediaType): boolean | undefined
  /** Whether streaming lists are compressed, as servers of the version do if it is
   *  `isOfVersion`. */
  zipsStreams(resource: Resource, mediaType: MediaType, isOfVersion: boolean): boolean
  /** Somebody who may list a resource has asked for a view of it, and it is not mirrored yet. */
  lacked(route: ResourceRoute): void
  /** Notes an event that cannot be shown exactly. */
  noteInexact(keyspace: Key, key: Key, revision: Revision): void
  /** The frame of an event that is not shown from here, in the upstream's own bytes. `later` while
   *  watchers wait for it, or for a comparison; `inexact` if neither came in time: their watches
   *  end. */
  heldFrame(held: HeldEvent): Uint8Array | 'later' | 'inexact'
  /** Notes an answered read, which may be compared with the upstream's answer. Returns at once.
   *  `answerAgain` answers from the mirror. */
  answered(
    context: RequestContext,
    route: ResourceRoute,
    answerAgain: (again: RequestContext) => Answer,
  ): void
}
