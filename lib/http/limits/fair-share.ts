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

/** Does what a request asks for, counted as one of its user's. */
export async function shared(context: RequestContext, task: () => Promise<void>): Promise<void> {
  const { fairness } = context.options
  if (fairness === undefined) return task()
  const leave = fairness.enter(userOf(context))
  try {
    await task()
  } finally {
    leave()
  }
}

/** Does what takes long when its user has a turn at it. */
export async function inTurn(
  context: RequestContext,
  { plan, snapshot }: { readonly plan: ListPlan | WatchPlan; readonly snapshot: Snapshot },
  task: () => Promise<void>,
): Promise<void> {
  const { fairness } = context.options
  if (fairness === undefined) return task()
  const user = userOf(context)
  if (!isLong(plan, snapshot)) {
    fairness.noteSmall(user)
    return task()
  }
  const free = await fairness.place(plan.type, user, context.signal)
  if (plan.type === 'list') {
    context.reply.clock = new PacedClock(context.options.clock, fairness, user)
  }
  try {
    if (!context.isOver) await task()
  } finally {
    free()
  }
}

/** A get has come. */
export function noteGet(context: RequestContext): void {
  context.options.fairness?.noteSmall(userOf(context))
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
export function holdFor(context: RequestContext, bytes: number, kind: RequestKind = 'small'): void {
  const { exchange, options } = context
  if (bytes < heldMinBytes || options.fairness === undefined) return
  exchange.onClose(options.fairness.hold(userOf(context), bytes, kind))
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
