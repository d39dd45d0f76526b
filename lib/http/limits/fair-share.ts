/** Counts one request against the limits that all requests share: see `Fairness`. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { entriesToLookAt } from '../../kube/selectors/index-choice.ts'
import { openSelectorSize } from '../../kube/selectors/selector-size.ts'
import { shardParameter } from '../../kube/request/list-options.ts'
import type { RequestTarget } from '../../kube/request/request.ts'
import type { ListPlan, WatchPlan } from '../../kube/read-plan.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import type { Grant } from '../exchange/grant.ts'
import type { Exchange } from '../server/exchange.ts'
import type { Fairness, RequestKind } from './fairness.ts'

/** A list of more entries takes a slot, even if it has a limit: twice the page that clients usually
 *  ask for, and about one slice of work. */
const pageMaxEntries = 1_000

/** Smaller answers are not counted: the limit on requests bounds them. */
const heldMinBytes = 64 * 1024

/** A request as shares see it: whose it is, and when its client has left. */
export interface SharedRequest {
  /** Undefined without authorization. */
  readonly grant: Pick<Grant, 'user' | 'learnName'> | undefined
  readonly exchange: Pick<Exchange, 'peer' | 'onClose'>
}

/** Counts a request as one of its user's. Call the returned function when it is over. */
export function enter(request: SharedRequest, fairness: Fairness | undefined): () => void {
  if (fairness === undefined) return nothing
  const user = userOf(request)
  const { grant } = request
  if (grant !== undefined && fairness.isCrowded(user)) grant.learnName()
  return fairness.enter(user)
}

/** A user's permission to do long work now. */
export interface Turn {
  /** The work yields on this clock between its slices. */
  readonly pace: Clock
  readonly end: () => void
}

const nothing = (): void => {}

/** Resolves when the user may run a list, or the initial events of a watch. Small ones wait only
 *  for others that begin at the same moment. */
export async function takeTurn(
  request: SharedRequest & { readonly signal: AbortSignal },
  { fairness, clock }: { readonly fairness?: Fairness | undefined; readonly clock: Clock },
  { plan, snapshot }: { readonly plan: ListPlan | WatchPlan; readonly snapshot: Snapshot },
): Promise<Turn> {
  if (fairness === undefined) return { pace: clock, end: nothing }
  const user = userOf(request)
  if (isLong(plan, snapshot)) {
    const end = await fairness.place(plan.type, user, request.signal)
    return { pace: plan.type === 'list' ? new PacedClock(clock, fairness, user) : clock, end }
  }
  if (plan.type === 'list' && fairness.takesPlaces(user)) {
    return { pace: clock, end: await fairness.place('page', user, request.signal) }
  }
  fairness.noteSmall(user)
  await clock.yield('soon')
  return { pace: clock, end: nothing }
}

/** Counts a watch as one of its user's as long as it is open. Without authorization users are not
 *  distinguished, because all clients may have one address. */
export function holdWatch(
  { grant, exchange }: SharedRequest,
  { query }: RequestTarget,
  fairness: Fairness | undefined,
): void {
  if (fairness === undefined) return
  const selectorBytes =
    openSelectorSize(query.text('labelSelector'), 'labels') +
    openSelectorSize(query.text('fieldSelector'), 'fields') +
    query.text(shardParameter).length
  const user = grant?.user()
  if (user !== undefined && fairness.isCrowded(user)) grant?.learnName()
  exchange.onClose(fairness.watch({ user, selectorBytes }))
}

/** Notes a get, which the long work of others must not delay. */
export function noteGet(request: SharedRequest, fairness: Fairness | undefined): void {
  fairness?.noteSmall(userOf(request))
}

/** A clock whose `yield` waits for the turn of a whole list. */
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
  request: SharedRequest,
  fairness: Fairness | undefined,
  { bytes, kind }: { readonly bytes: number; readonly kind: RequestKind },
): void {
  if (bytes < heldMinBytes || fairness === undefined) return
  request.exchange.onClose(fairness.hold(userOf(request), bytes, kind))
}

function isLong(plan: ListPlan | WatchPlan, snapshot: Snapshot): boolean {
  if (plan.type === 'watch' && plan.start.type !== 'state') return false
  const { labels, fields, shards, range } = plan
  const isPage =
    plan.type === 'list' &&
    plan.limit > 0 &&
    plan.limit <= pageMaxEntries &&
    labels.isEmpty &&
    fields.isEmpty &&
    shards === undefined
  return !isPage && entriesToLookAt(snapshot, range, plan) > pageMaxEntries
}

/** The user whose limits the request counts against. Without authorization this is the address that
 *  the request came from. */
function userOf({ grant, exchange }: SharedRequest): string {
  return grant?.user() ?? exchange.peer.address
}
