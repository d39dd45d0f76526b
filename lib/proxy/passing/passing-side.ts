/** The upstream as the cache asks about it: what passes, and why. */

import type { Key, Revision } from '@watchglass/base'
import type { Gate, MediaType, OutputForm } from '@watchglass/codec'
import type {
  AskedRead,
  DecisionPolicy,
  LaterFeature,
  PassReason,
  Resource,
  ResourceRoute,
  WatchPlan,
} from '@watchglass/kube'
import type { Answer, AskedPlan, HeldEvent, RequestContext, UpstreamSide } from '@watchglass/cache'
import type { Snapshot } from '@watchglass/store'
import type { ComparedServices, Comparison } from './comparison.ts'
import { holdsMoreThanObjects, objectionToRefusal, unknownForm } from './known-answers.ts'
import { passOn, type PassServices } from './proxy.ts'

export type PassingServices = PassServices & ComparedServices

export class PassingSide implements UpstreamSide {
  readonly policy: DecisionPolicy
  readonly #services: PassingServices
  readonly #comparison: Comparison | undefined

  constructor(services: PassingServices, comparison: Comparison | undefined) {
    this.policy = { ...services.proxy.policy, isOneUser: services.proxy.isOneUser }
    this.#services = services
    this.#comparison = comparison
  }

  pass(context: RequestContext, reason: PassReason): Promise<void> {
    return passOn(context, this.#services, reason)
  }

  objectionToRead(route: ResourceRoute, asked: AskedRead): PassReason | undefined {
    const areAlike = this.#services.proxy.mixed?.()?.areReadAlike(route, asked) ?? true
    return areAlike ? undefined : 'versions-differ'
  }

  objectionToPlan(resource: Resource, asked: AskedPlan): PassReason | undefined {
    const { learned } = resource
    const form = learned === undefined ? undefined : unknownForm(learned, asked)
    if (form !== undefined || this.#isCovered(resource)) return form
    return holdsMoreThanObjects(asked.plan, asked.query) ? 'version' : undefined
  }

  objectionToRefusal(route: ResourceRoute, refusal: unknown): PassReason | undefined {
    return objectionToRefusal(route, this.#isCovered(route.resource), refusal)
  }

  objectionToWatch(plan: WatchPlan, snapshot: Snapshot): PassReason | undefined {
    const { inexact, held } = this.#services.proxy
    if (inexact.concerns(plan, snapshot)) return 'inexact'
    return held.given.concerns(plan, snapshot) ? 'unproven' : undefined
  }

  gateOf(resource: Resource, output: OutputForm): Gate | PassReason | undefined {
    return this.#services.proxy.gateOf?.(resource, output)
  }

  obeys(feature: LaterFeature, resource: Resource, mediaType: MediaType): boolean | undefined {
    const shown = { ...mediaType, includeObject: 'Metadata' } as const
    return this.#services.proxy.obeys?.(feature, resource, shown)
  }

  /** A server of the version does unless it was seen not to, and an aggregated server, whose
   *  version is not known, if it was seen to; either way is right for clients that accept it. */
  zipsStreams(resource: Resource, mediaType: MediaType, isOfVersion: boolean): boolean {
    if (resource.learned !== undefined) {
      return this.obeys('zippedStreams', resource, mediaType) ?? false
    }
    return isOfVersion && (this.obeys('zippedStreams', resource, mediaType) ?? true)
  }

  lacked(route: ResourceRoute): void {
    this.#services.proxy.onLacked?.(route)
  }

  noteInexact(keyspace: Key, key: Key, revision: Revision): void {
    this.#services.proxy.inexact.note(keyspace, key, revision)
  }

  heldFrame(held: HeldEvent): Uint8Array | 'later' | 'inexact' {
    return this.#services.proxy.held.frameOf(held)
  }

  answered(
    context: RequestContext,
    route: ResourceRoute,
    answerAgain: (again: RequestContext) => Answer,
  ): void {
    this.#comparison?.answered(context, { route, answerAgain }, this.#services)
  }

  #isCovered(resource: Resource): boolean {
    return this.#services.proxy.isCovered?.(resource) ?? true
  }
}
