/** Counts one request against the limits that all requests share: see `Fairness`. */

import type { CancelTimer, Clock } from '@watchglass/base'
import {
  entriesToLookAt,
  type ListPlan,
  openSelectorSize,
  type RequestTarget,
  shardParameter,
  tooManyRequests,
  type WatchPlan,
} from '@watchglass/kube'
import type { Snapshot } from '@watchglass/store'
import type { Grant } from '../request/grant.ts'
import type { HttpRequest } from '../server/http-request.ts'
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
  readonly request: Pick<HttpRequest, 'peer' | 'onClose' | 'stalled'>
}

/** Counts a request as one of its user's. Call the returned function when it is over. */
export function enter(shared: SharedRequest, fairness: Fairness | undefined): () => void {
  if (fairness === undefined) return nothing
  const user = userOf(shared)
  const { grant } = shared
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
  shared: SharedRequest & { readonly signal: AbortSignal },
  { fairness, clock }: { readonly fairness?: Fairness | undefined; readonly clock: Clock },
  { plan, snapshot }: { readonly plan: ListPlan | WatchPlan; readonly snapshot: Snapshot },
): Promise<Turn> {
  if (fairness === undefined) return { pace: clock, end: nothing }
  const user = userOf(shared)
  const kind = isLong(plan, snapshot) ? plan.type : undefined
  if (kind !== undefined || (plan.type === 'list' && fairness.takesPlaces(user))) {
    const { request, signal } = shared
    const slot = new Slot(() => fairness.place(kind ?? 'page', user, signal))
    await slot.take()
    request.stalled = () => slot.giveBack()
    const end = (): void => {
      request.stalled = undefined
      slot.giveBack()
    }
    return { pace: kind === 'list' ? new PacedClock(clock, fairness, { user, slot }) : clock, end }
  }
  fairness.noteSmall(user)
  await clock.yield('soon')
  return { pace: clock, end: nothing }
}

/** Counts a watch as one of its user's as long as it is open, with what it holds. Without
 *  authorization users are not distinguished in the number of watches, because all clients may have
 *  one address. `askedBytes` are kept of its question beside the selectors. */
export function holdWatch(
  shared: SharedRequest,
  { query }: RequestTarget,
  fairness: Fairness | undefined,
  askedBytes = 0,
): HeldBytes | undefined {
  if (fairness === undefined) return undefined
  const { grant, request } = shared
  const selectorBytes =
    openSelectorSize(query.text('labelSelector'), 'labels') +
    openSelectorSize(query.text('fieldSelector'), 'fields') +
    query.text(shardParameter).length +
    askedBytes
  const user = grant?.user()
  if (user !== undefined && fairness.isCrowded(user)) grant?.learnName()
  const end = fairness.watch({ user, selectorBytes })
  const held = new HeldBytes(fairness, userOf(shared))
  request.onClose(() => {
    end()
    held.release()
  })
  return held
}

/** Notes a get, which the long work of others must not delay. */
export function noteGet(shared: SharedRequest, fairness: Fairness | undefined): void {
  fairness?.noteSmall(userOf(shared))
}

/** A slot for as long as its request has work to do: it goes back when the client takes nothing of
 *  what was made, and is waited for again when more is to be made. */
class Slot {
  readonly #place: () => Promise<() => void>
  #free = nothing
  #isTaken = false

  constructor(place: () => Promise<() => void>) {
    this.#place = place
  }

  async take(): Promise<void> {
    this.#free = await this.#place()
    this.#isTaken = true
  }

  giveBack(): void {
    this.#isTaken = false
    this.#free()
  }

  /** Has it again. Who has waited for too long goes on without one: a part was sent already. */
  async takeAgain(): Promise<void> {
    if (!this.#isTaken) await this.take().catch(nothing)
  }
}

/** A clock whose `yield` waits for the turn of a whole list. */
class PacedClock implements Clock {
  readonly #clock: Clock
  readonly #fairness: Fairness
  readonly #user: string
  readonly #slot: Slot
  #sinceMs: number

  constructor(clock: Clock, fairness: Fairness, { user, slot }: { user: string; slot: Slot }) {
    this.#clock = clock
    this.#fairness = fairness
    this.#user = user
    this.#slot = slot
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
    const workedMs = this.#clock.monotonicMs() - this.#sinceMs
    await this.#slot.takeAgain()
    await this.#fairness.pace(this.#user, workedMs)
    this.#sinceMs = this.#clock.monotonicMs()
  }
}

/** Counts bytes of an answer until its client has taken them. */
export function holdFor(
  shared: SharedRequest,
  fairness: Fairness | undefined,
  { bytes, kind }: { readonly bytes: number; readonly kind: RequestKind },
): void {
  if (bytes < heldMinBytes || fairness === undefined) return
  shared.request.onClose(fairness.hold(userOf(shared), bytes, kind))
}

/** Bytes that are made for a watch and that its client has not taken yet. It lives as long as the
 *  watch, and holds nothing of its request. */
export class HeldBytes {
  readonly #fairness: Fairness
  readonly #user: string
  #letGo: (() => void)[] | undefined = undefined
  #bytes = 0

  constructor(fairness: Fairness, user: string) {
    this.#fairness = fairness
    this.#user = user
  }

  /** Counts so many bytes in place of fewer before. False if the user may not hold so much. */
  atLeast(bytes: number): boolean {
    const more = bytes - this.#bytes
    if (bytes < heldMinBytes || more <= 0) return true
    try {
      const letGo = this.#fairness.hold(this.#user, more, 'watch')
      if (this.#letGo === undefined) this.#letGo = [letGo]
      else this.#letGo.push(letGo)
    } catch {
      return false
    }
    this.#bytes = bytes
    return true
  }

  release(): void {
    const letGo = this.#letGo
    if (letGo === undefined) return
    this.#letGo = undefined
    this.#bytes = 0
    for (const one of letGo) one()
  }
}

/** The refusal of a watch whose first events are too much. */
export function tooMuchHeld(): Error {
  return tooManyRequests('clients of the user have not read too much, please try again later', 1)
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
function userOf({ grant, request }: SharedRequest): string {
  return grant?.user() ?? request.peer.address
}
