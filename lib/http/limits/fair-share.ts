/** What one request takes of what all share: see `Fairness`. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { entriesToLookAt } from '../../kube/selectors/index-choice.ts'
import type { ListPlan, WatchPlan } from '../../kube/read-plan.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import type { Fairness, RequestKind } from './fairness.ts'
import type { RequestContext } from '../api/request-context.ts'

/** Lists above this are whole lists, whatever they call themselves: twice the page that clients ask for, and about a slice of work. */
const pageMaxEntries = 1_000

/** Smaller answers are bounded by how many requests there may be. */
const heldMinBytes = 64 * 1024

/** Counts a request as one of its user's. Call the returned function when it is over. */
export function enter(context: RequestContext, fairness: Fairness | undefined): () => void {
  return fairness === undefined ? nothing : fairness.enter(userOf(context))
}

/** A user's turn at what takes long. */
export interface Turn {
  /** How the work gives way to others. */
  readonly pace: Clock
  readonly end: () => void
}

const nothing = (): void => {}

/** Resolves when the user has a turn at a list, or at the beginning of a watch. What is small has one at once. */
export async function takeTurn(
  context: RequestContext,
  { fairness, clock }: { readonly fairness?: Fairness | undefined; readonly clock: Clock },
  { plan, snapshot }: { readonly plan: ListPlan | WatchPlan; readonly snapshot: Snapshot },
): Promise<Turn> {
  if (fairness === undefined) return { pace: clock, end: nothing }
  const user = userOf(context)
  if (!isLong(plan, snapshot)) {
    fairness.noteSmall(user)
    return { pace: clock, end: nothing }
  }
  const end = await fairness.place(plan.type, user, context.signal)
  return { pace: plan.type === 'list' ? new PacedClock(clock, fairness, user) : clock, end }
}

/** A get has come. */
export function noteGet(context: RequestContext, fairness: Fairness | undefined): void {
  fairness?.noteSmall(userOf(context))
}

/** Gives way as whole lists do. */
class PacedClock implements Clock {
  readonly #clock: Clock
  readonly #fairness: Fairness
  readonly #user: string
  #sinceMs: number

  constructor(clock: Clock, fairness: Fairness, user: string) {
    this.#clock = clock
    this.#fairness = fairness
    this.#user = user
    this.#sinceMs = clock.monotonicMs()
  }

  wallMs(): number {
    return this.#clock.wallMs()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  setTimer(delayMs: number, task: () => void): CancelTimer {
    return this.#clock.setTimer(delayMs, task)
  }

  async yield(): Promise<void> {
    await this.#fairness.pace(this.#user, this.#clock.monotonicMs() - this.#sinceMs)
    this.#sinceMs = this.#clock.monotonicMs()
  }
}

/** Counts bytes of an answer until its client has taken them. */
export function holdFor(
  context: RequestContext,
  fairness: Fairness | undefined,
  { bytes, kind }: { readonly bytes: number; readonly kind: RequestKind },
): void {
  if (bytes < heldMinBytes || fairness === undefined) return
  context.exchange.onClose(fairness.hold(userOf(context), bytes, kind))
}

function isLong(plan: ListPlan | WatchPlan, snapshot: Snapshot): boolean {
  if (plan.type === 'watch' && plan.start.type !== 'state') return false
  const { labels, fields, range } = plan
  const isPage =
    plan.type === 'list' &&
    plan.limit > 0 &&
    plan.limit <= pageMaxEntries &&
    labels.isEmpty &&
    fields.isEmpty
  return !isPage && entriesToLookAt(snapshot, range, plan) > pageMaxEntries
}

/** Whose share it is. Where everybody may read, of the address that the request came from. */
function userOf({ grant, exchange }: RequestContext): string {
  return grant?.caller.key ?? exchange.peer.address
}
