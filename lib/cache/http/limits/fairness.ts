/** Keeps one user's requests from taking what all others need. Limits, for each user and for all:
 *  requests in flight, bytes held for responses, and slots for whole lists and initial watch
 *  events. The upstream has API Priority and Fairness for this, which requests that are answered
 *  here never meet.
 *
 *  Whole lists, and the initial events of watches, run in a few slots. When all are taken they wait
 *  in a queue for each user, and the users take turns. Gets never wait for a slot, and pages only
 *  while their user's clients have much to read: long work gives way between its slices. Beyond a
 *  limit the answer is a 429 with Retry-After. */

import type { CancelTimer, Clock } from '@watchglass/base'
import { tooManyRequests } from '@watchglass/kube'
import { ListPace } from './list-pace.ts'
import { type Tally, UserTally } from './user-tally.ts'

/** `small` is everything that is neither a whole list nor the beginning of a watch; `passed` is
 *  what goes to the upstream. */
export type RequestKind = 'small' | 'list' | 'watch' | 'passed'

/** Kinds of requests that pass, by how long they may last: `long` are watches, logs and the
 *  like. */
export type PassedKind = 'short' | 'long' | 'upgrade'

/** Open watches of a user, and what their selectors weigh. */
export interface WatchAmount {
  /** Undefined if users cannot be distinguished. */
  readonly user: string | undefined
  readonly selectorBytes: number
}

export interface FairnessMetrics {
  limited(kind: RequestKind, bound: 'user' | 'all'): void
}

export interface FairnessLimits {
  /** Requests in flight. */
  readonly requestsPerUser: number
  readonly requestsMax: number
  /** Bytes of responses that clients have not read yet. */
  readonly bytesPerUser: number
  readonly bytesMax: number
  /** Slots for whole lists, and as many for the initial events of watches. */
  readonly placesPerUser: number
  readonly placesMax: number
  readonly waitingPerUser: number
  readonly waitingMax: number
  readonly waitMaxMs: number
  /** Open watches, and characters of their selectors. */
  readonly watchesPerUser: number
  readonly watchesMax: number
  readonly selectorBytesPerUser: number
  readonly selectorBytesMax: number
  /** Requests that have passed to the upstream and are not over. */
  readonly passedPerUser: Readonly<Record<PassedKind, number>>
  readonly passedMax: Readonly<Record<PassedKind, number>>
}

/** Normal use stays far below: a controller has a dozen requests in flight; after a restart a
 *  cluster of 5,000 nodes begins 5,000 watches. The limits bound the memory that clients can make
 *  the service hold to some gigabytes. */
export const defaultFairnessLimits: FairnessLimits = {
  requestsPerUser: 6_000,
  requestsMax: 20_000,
  bytesPerUser: 512 * 1024 * 1024,
  bytesMax: 2 * 1024 * 1024 * 1024,
  placesPerUser: 4,
  placesMax: 16,
  waitingPerUser: 6_000,
  waitingMax: 20_000,
  waitMaxMs: 60_000,
  // As many as 5,000 nodes have, the most that Kubernetes supports: 18 each, of which four are of
  // one service account, that of kube-proxy; agents of networks have more. Users behind a front
  // proxy are counted separately.
  watchesPerUser: 25_000,
  watchesMax: 100_000,
  // Parsed and compiled they take some thirty times as much.
  selectorBytesPerUser: 4 * 1024 * 1024,
  selectorBytesMax: 32 * 1024 * 1024,
  passedPerUser: { short: 1_000, long: 2_000, upgrade: 500 },
  passedMax: { short: 4_000, long: 10_000, upgrade: 4_000 },
}

/** Amounts that are counted for each user. Slots for long work are each thread's own, since they
 *  protect its event loop. */
export const tallyNames = [
  'requests',
  'bytes',
  'watches',
  'selectors',
  'short',
  'long',
  'upgrade',
] as const

export type TallyName = (typeof tallyNames)[number]

/** A tally with these bounds. */
export type CreateTally = (name: TallyName, perUser: number, max: number) => Tally

export interface FairnessOptions {
  readonly clock: Clock
  readonly metrics: FairnessMetrics
  readonly limits?: FairnessLimits | undefined
  /** For a process with several threads, or several services, which share the limits. */
  readonly createTally?: CreateTally | undefined
  /** For a thread with several services; undefined: one of its own. */
  readonly pace?: SharedPace | undefined
}

/** The pace of whole lists that several services share. */
export interface SharedPace {
  readonly pace: ListPace
  /** Tells the users of the service from those of others who have the same name. */
  readonly service: string
}

/** A request that holds a slot this long has a client that reads slowly. The slot is freed; the
 *  bytes that it holds still count. */
const placeMaxMs = 5_000

/** Unread bytes of a user's responses, beyond which small lists take slots, too: a few whole
 *  lists. */
const unreadBytes = 8 * 1024 * 1024

/** Slots for whole lists, small lists, and the initial events of watches. */
export type PlaceKind = 'list' | 'page' | 'watch'

/** Small lists for each slot of a whole one. */
const pagesPerPlace = 4

export class Fairness {
  readonly #options: FairnessOptions
  readonly #limits: FairnessLimits
  readonly #requests: Tally
  readonly #bytes: Tally
  readonly #watches: Tally
  readonly #selectors: Tally
  readonly #passed: Readonly<Record<PassedKind, Tally>>
  readonly #tallies: readonly Tally[]
  readonly #places: Readonly<Record<PlaceKind, Places>>
  readonly #pace: ListPace
  /** Stands before the names of users where the pace is shared. */
  readonly #service: string

  constructor(options: FairnessOptions) {
    this.#options = options
    this.#limits = options.limits ?? defaultFairnessLimits
    this.#pace = options.pace?.pace ?? new ListPace(options.clock)
    this.#service = options.pace === undefined ? '' : `${options.pace.service}/`
    const { createTally: create = (_, perUser, max) => new UserTally(perUser, max) } = options
    const { requestsPerUser, requestsMax, bytesPerUser, bytesMax } = this.#limits
    this.#requests = create('requests', requestsPerUser, requestsMax)
    this.#bytes = create('bytes', bytesPerUser, bytesMax)
    const { watchesPerUser, watchesMax, passedPerUser, passedMax } = this.#limits
    const { selectorBytesPerUser, selectorBytesMax } = this.#limits
    this.#watches = create('watches', watchesPerUser, watchesMax)
    this.#selectors = create('selectors', selectorBytesPerUser, selectorBytesMax)
    const passed = (kind: PassedKind): Tally => create(kind, passedPerUser[kind], passedMax[kind])
    this.#passed = { short: passed('short'), long: passed('long'), upgrade: passed('upgrade') }
    const counted = [this.#requests, this.#bytes, this.#watches, this.#selectors]
    this.#tallies = [...counted, ...Object.values(this.#passed)]
    const { placesPerUser, placesMax } = this.#limits
    const pages = {
      placesPerUser: placesPerUser * pagesPerPlace,
      placesMax: placesMax * pagesPerPlace,
    }
    this.#places = {
      list: this.#createPlaces(),
      page: this.#createPlaces(pages),
      watch: this.#createPlaces(),
    }
  }

  /** Counts a request of a user. Call the returned function when it is over. */
  enter(user: string): () => void {
    return this.#count(this.#requests, { user, amount: 1, kind: 'small' })
  }

  /** Counts bytes held for a user's response. Call the returned function when they are free. */
  hold(user: string, bytes: number, kind: RequestKind): () => void {
    return this.#count(this.#bytes, { user, amount: bytes, kind })
  }

  /** Counts a request that passes. Call the returned function when it is over. */
  pass(user: string, kind: PassedKind): () => void {
    return this.#count(this.#passed[kind], { user, amount: 1, kind: 'passed' })
  }

  /** Counts an open watch. Call the returned function when it has ended. */
  watch({ user, selectorBytes }: WatchAmount): () => void {
    this.#add(this.#watches, { user, amount: 1, kind: 'watch' })
    try {
      this.#add(this.#selectors, { user, amount: selectorBytes, kind: 'watch' })
    } catch (error) {
      this.#watches.remove(user, 1)
      throw error
    }
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#watches.remove(user, 1)
      this.#selectors.remove(user, selectorBytes)
    }
  }

  /** True if it matters whose a user's requests are: they take much, or all together do. */
  isCrowded(user: string): boolean {
    for (const tally of this.#tallies) if (tally.isCrowded(user)) return true
    return false
  }

  /** Notes a small request of a user: it must not wait for the long work of others. */
  noteSmall(user: string): void {
    this.#pace.noteSmall(this.#service + user)
  }

  /** Resolves when a whole list may do its next slice; the last one took `workedMs`. */
  pace(user: string, workedMs: number): Promise<void> {
    return this.#pace.next(this.#service + user, workedMs)
  }

  /** True if the user's clients have not read much of what was sent to them: then each of its small
   *  lists takes a slot, too, so that more of them are begun only when these get on. Nobody passes
   *  those that wait for one. */
  takesPlaces(user: string): boolean {
    return this.#bytes.isAbove(user, unreadBytes) || this.#places.page.isAwaited(user)
  }

  /** Waits for a slot. Call the returned function to free it. Fails with `overloaded`, and with the
   *  reason of the signal. */
  async place(kind: PlaceKind, user: string, signal: AbortSignal): Promise<() => void> {
    const { clock } = this.#options
    const taken = await this.#places[kind].take(user, signal)
    if (taken === undefined) throw this.#refused(kind === 'page' ? 'list' : kind, 'user')
    const place = kind === 'list' ? this.#counted(taken) : taken
    const cancel = clock.setTimer(placeMaxMs, place)
    return () => {
      cancel()
      place()
    }
  }

  /** A slot of a whole list, which counts for the pace until it is freed for the first time. */
  #counted(place: () => void): () => void {
    const end = this.#pace.began()
    let isOver = false
    return () => {
      if (!isOver) end()
      isOver = true
      place()
    }
  }

  #createPlaces(limits: Partial<FairnessLimits> = {}): Places {
    return new Places({ ...this.#limits, ...limits }, this.#options.clock)
  }

  #add(tally: Tally, { user, amount, kind }: Amount): void {
    const bound = tally.add(user, amount)
    if (bound !== undefined) throw this.#refused(kind, bound)
  }

  #count(tally: Tally, one: Amount): () => void {
    this.#add(tally, one)
    const { user, amount } = one
    let isCounted = true
    return () => {
      if (isCounted) tally.remove(user, amount)
      isCounted = false
    }
  }

  #refused(kind: RequestKind, bound: 'user' | 'all'): Error {
    this.#options.metrics.limited(kind, bound)
    return tooManyRequests('too many requests are under way, please try again later', 1)
  }
}

interface Amount {
  /** Undefined: counted among all only. */
  readonly user: string | undefined
  readonly amount: number
  readonly kind: RequestKind
}

interface Waiting {
  readonly admit: (place: () => void) => void
}

interface Line {
  readonly waiting: Set<Waiting>
  taken: number
}

/** A few slots, and a queue for each user who waits for one. The queues take turns. */
class Places {
  readonly #limits: FairnessLimits
  readonly #clock: Clock
  /** In the order of their turns. */
  readonly #lines = new Map<string, Line>()
  #taken = 0
  #waiting = 0

  constructor(limits: FairnessLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** The user waits for a slot. */
  isAwaited(user: string): boolean {
    return (this.#lines.get(user)?.waiting.size ?? 0) > 0
  }

  /** Undefined if no slot is free in time, or too many requests wait. */
  take(user: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const { placesMax, placesPerUser, waitingMax, waitingPerUser } = this.#limits
    const line = this.#lines.get(user) ?? { waiting: new Set(), taken: 0 }
    const isFree = this.#taken < placesMax && line.taken < placesPerUser
    if (!isFree && (line.waiting.size >= waitingPerUser || this.#waiting >= waitingMax)) {
      return Promise.resolve(undefined)
    }
    this.#lines.set(user, line)
    return isFree ? Promise.resolve(this.#give(user, line)) : this.#wait(user, line, signal)
  }

  #wait(user: string, line: Line, signal: AbortSignal): Promise<(() => void) | undefined> {
    return new Promise((resolve, reject) => {
      let cancel: CancelTimer = () => {}
      const leave = (): void => {
        cancel()
        signal.removeEventListener('abort', onAbort)
        if (line.waiting.delete(waiting)) this.#waiting--
        this.#forget(user, line)
      }
      const waiting: Waiting = {
        admit: place => {
          leave()
          resolve(place)
        },
      }
      const onAbort = (): void => {
        leave()
        reject(signal.reason as Error)
      }
      cancel = this.#clock.setTimer(this.#limits.waitMaxMs, () => {
        leave()
        resolve(undefined)
      })
      line.waiting.add(waiting)
      this.#waiting++
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
    })
  }

  #give(user: string, line: Line): () => void {
    line.taken++
    this.#taken++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      line.taken--
      this.#taken--
      this.#forget(user, line)
      this.#next()
    }
  }

  /** Gives free slots to the queues in turn. */
  #next(): void {
    const { placesMax, placesPerUser } = this.#limits
    for (const [user, line] of this.#lines) {
      if (this.#taken >= placesMax) return
      if (line.taken >= placesPerUser) continue
      const [waiting] = line.waiting
      if (waiting === undefined) continue
      this.#lines.delete(user)
      this.#lines.set(user, line)
      waiting.admit(this.#give(user, line))
      return
    }
  }

  #forget(user: string, line: Line): void {
    if (line.taken === 0 && line.waiting.size === 0 && this.#lines.get(user) === line) {
      this.#lines.delete(user)
    }
  }
}
