/** All open watches: when each ends, when its next bookmark is due, and how all end when the server
 *  stops. */

import { Alarm, type Clock, type Key, NotExact, type Random, type Revision } from '@watchglass/base'
import {
  type AudienceSpec,
  bookmarkDueMs,
  FrameCache,
  type Hub,
  Schedule,
  usualBookmarkIntervalMs,
  type Watcher,
  type WatcherSink,
  type WatchSource,
} from '@watchglass/store'
import type { Resource } from '@watchglass/kube'
import { Outbox } from './outbox.ts'
import type { ResponseStream } from '../server/http-request.ts'
import { slowReaderTimeoutMs } from '../server/respond.ts'
import type { WatchReports } from './watch-reports.ts'
import type { WatchEnd } from './watch-response.ts'

/** A watch without a time limit of its own ends after 30 to 60 minutes, so that clients spread over
 *  servers again. */
const timeoutMinMs = 1_800_000

/** The wait of a bookmark until etcd reports its progress. */
const refreshMs = 500

/** The size of the frame cache: the frames of a hundred changes of pods, for watches with other
 *  selectors and for those that are a little behind; and of two thousand while some are far
 *  behind. */
const frameLimits = { leastBytes: 512 * 1024, mostBytes: 8 * 1024 * 1024 }

export interface OpenWatchesOptions {
  readonly source: WatchSource
  readonly clock: Clock
  readonly random: Random
  /** The longest time between bookmarks; as kube-apiserver if it is left out. */
  readonly bookmarkIntervalMs?: number | undefined
  /** False where clients cannot read compressed streams, although they say that they can. */
  readonly mayCompress?: boolean | undefined
  /** Undefined where the names of kube-apiserver are not asked for. */
  readonly reports?: WatchReports | undefined
}

/** Figures of open watches and of those that have ended. */
export interface OpenWatchFigures {
  readonly open: number
  readonly lagging: number
  readonly byKeyspace: ReadonlyMap<Key, number>
  readonly frameBytes: number
  readonly ended: Readonly<Record<WatchEnd, number>>
  readonly sentFrames: number
  readonly sentBytes: number
}

/** Watches of one keyspace by clients of one name. */
export interface WatchingClient {
  readonly client: string
  readonly keyspace: Key
  readonly watches: number
  readonly lagging: number
  /** Number of revisions that the slowest is behind. */
  readonly behind: number
}

type Counted = { -readonly [Name in keyof WatchingClient]: WatchingClient[Name] }

const visitedMax = 20_000
const clientNameMax = 80

function nameOfClient(userAgent: string | undefined): string {
  return userAgent === undefined || userAgent === '' ? 'no name' : userAgent.slice(0, clientNameMax)
}

/** A watch as it is kept here: its events are written one by one, or it is a live page of package
 *  views. */
export interface RegisteredWatch extends WatcherSink {
  readonly request: Pick<ResponseStream, 'headers' | 'onClose' | 'abort'>
  readonly framing: {
    readonly resource: Resource
    bookmark(revision: Revision, endsInitialEvents: boolean): Uint8Array | NotExact
  }
  readonly isOpen: boolean
  readonly endedAs: WatchEnd
  /** Undefined before it follows a hub. */
  readonly watcher: Watcher | undefined
  follow(hub: Hub, watcher: Watcher): void
  expired(oldest: Revision, position?: Revision): void
  end(as?: WatchEnd): void
}

/** The watcher of a watch, and what lets go of it. */
export interface FollowedWatcher {
  readonly watcher: Watcher
  readonly release: () => void
}

/** The stream of changes that a new watch follows. */
export interface Following {
  readonly keyspace: Key
  /** The audience that it belongs to, or the watcher that it shares with others. */
  readonly audience: AudienceSpec | ((hub: Hub) => FollowedWatcher)
  /** Everything up to here has been sent. */
  readonly position: Revision
  /** Undefined or 0: the server decides. */
  readonly timeoutSeconds: number | undefined
  readonly allowBookmarks: boolean
  /** Sink of an audience's frames, if it is not the connection itself. */
  readonly sink?: WatcherSink | undefined
}

/** The times of an open watch. */
interface ScheduledWatch {
  readonly connection: RegisteredWatch
  readonly keyspace: Key
  readonly allowBookmarks: boolean
  readonly endsAtMs: number
  /** When it is checked next. */
  dueAtMs: number
}

export class OpenWatches {
  readonly source: WatchSource
  readonly frames: FrameCache = new FrameCache(frameLimits)
  readonly outbox: Outbox
  readonly reports: WatchReports | undefined
  readonly mayCompress: boolean
  readonly #clock: Clock
  readonly #random: Random
  readonly #bookmarkIntervalMs: number
  readonly #open = new Set<ScheduledWatch>()
  readonly #ended: Record<WatchEnd, number> = {
    client: 0,
    timeout: 0,
    expired: 0,
    inexact: 0,
    server: 0,
    fault: 0,
  }
  readonly #schedule = new Schedule<ScheduledWatch>()
  #isStopping = false
  readonly #alarm: Alarm

  constructor(options: OpenWatchesOptions) {
    const { source, clock, random, reports } = options
    this.source = source
    this.mayCompress = options.mayCompress ?? true
    this.#bookmarkIntervalMs = options.bookmarkIntervalMs ?? usualBookmarkIntervalMs
    this.reports = reports
    this.outbox = new Outbox(clock)
    this.#clock = clock
    this.#random = random
    this.#alarm = new Alarm(clock, this.#tick)
  }

  /** Number of open watches. */
  get size(): number {
    return this.#open.size
  }

  /** For metrics. Visits every watch. */
  get figures(): OpenWatchFigures {
    let lagging = 0
    const byKeyspace = new Map<Key, number>()
    for (const { connection, keyspace } of this.#open) {
      if (connection.watcher?.state === 'lagging') lagging++
      byKeyspace.set(keyspace, (byKeyspace.get(keyspace) ?? 0) + 1)
    }
    const { frames, bytes } = this.outbox.sent
    return {
      open: this.size,
      lagging,
      byKeyspace,
      frameBytes: this.frames.bytes,
      ended: this.#ended,
      sentFrames: frames,
      sentBytes: bytes,
    }
  }

  /** The watches of each client by what it calls itself, for people. At most the first 20,000
   *  watches are visited. */
  clients(): readonly WatchingClient[] {
    const clients = new Map<string, Counted>()
    let visited = 0
    for (const { connection, keyspace } of this.#open) {
      if (++visited > visitedMax) break
      const client = nameOfClient(connection.request.headers['user-agent'])
      const key = `${keyspace}\n${client}`
      let known = clients.get(key)
      if (known === undefined) {
        known = { client, keyspace, watches: 0, lagging: 0, behind: 0 }
        clients.set(key, known)
      }
      known.watches++
      const { watcher } = connection
      if (watcher?.state !== 'lagging') continue
      known.lagging++
      const behind = this.source.proven(keyspace) - watcher.position
      known.behind = Math.max(known.behind, behind)
    }
    return [...clients.values()]
  }

  /** Lets a watch follow its keyspace until its time is up, its client leaves, or the server
   *  stops. */
  follow(connection: RegisteredWatch, following: Following): void {
    const { keyspace, position, timeoutSeconds = 0, allowBookmarks } = following
    const { request } = connection
    const hub = this.source.hub(keyspace)
    if (this.#isExpired(connection, following, hub.oldest)) {
      connection.expired(hub.oldest, position)
      return
    }
    const { watcher, release } = joined(hub, connection, following)
    connection.follow(hub, watcher)
    const nowMs = this.#clock.monotonicMs()
    const timeoutMs =
      timeoutSeconds === 0 ? timeoutMinMs * (1 + this.#random.next()) : timeoutSeconds * 1000
    const endsAtMs = nowMs + Math.max(0, timeoutMs)
    const watch: ScheduledWatch = {
      connection,
      keyspace,
      allowBookmarks,
      endsAtMs,
      dueAtMs: endsAtMs,
    }
    this.#open.add(watch)
    this.#plan(watch, nowMs)
    request.onClose(() => {
      this.#open.delete(watch)
      this.#ended[connection.endedAs]++
      if (connection.endedAs === 'expired') {
        this.reports?.of(connection.framing.resource).terminatedSlow()
      }
      this.#schedule.delete(watch, watch.dueAtMs)
      release()
      if (this.#open.size > 0) return
      this.#alarm.clear()
    })
    if (this.#isStopping) this.#end(watch, nowMs)
  }

  /** True if a watch cannot continue from its position. Our history goes further back than etcd's,
   *  but upstream keeps none of resources that it does not cache (events): etcd refuses such a
   *  watch there, and so it is refused here. */
  #isExpired(
    { framing }: RegisteredWatch,
    { keyspace, position }: Following,
    oldest: Revision,
  ): boolean {
    if (position < oldest || this.source.isOfOldEpoch(keyspace, position)) return true
    return !framing.resource.isWatchCached && position + 1 < this.source.compacted(keyspace)
  }

  /** Ends all watches of these keyspaces cleanly, because their objects are written differently
   *  from now on. Returns how many. */
  endAll(keyspaces: readonly Key[]): number {
    const ending = [...this.#open].filter(
      ({ keyspace, connection }) => connection.isOpen && keyspaces.includes(keyspace),
    )
    for (const watch of ending) this.#end(watch, this.#clock.monotonicMs())
    return ending.length
  }

  /** Ends all watches cleanly, and later ones at once. */
  stop(): void {
    this.#isStopping = true
    for (const watch of this.#open) this.#end(watch, this.#clock.monotonicMs())
  }

  /** When the watch is checked next: for a bookmark, or for its end. */
  #plan(watch: ScheduledWatch, nowMs: number): void {
    const { allowBookmarks, endsAtMs } = watch
    const bookmarkMs = allowBookmarks
      ? bookmarkDueMs(this.#random, nowMs, endsAtMs, this.#bookmarkIntervalMs)
      : undefined
    this.#add(watch, bookmarkMs ?? endsAtMs)
  }

  #add(watch: ScheduledWatch, dueAtMs: number): void {
    watch.dueAtMs = dueAtMs
    this.#schedule.add(watch, dueAtMs)
    this.#setAlarm()
  }

  #setAlarm(): void {
    this.#alarm.set(this.#schedule.nextMs() ?? Infinity)
  }

  /** Ends watches whose time is up. Requests the progress of all keyspaces with a bookmark due,
   *  once, before the bookmarks are sent. */
  readonly #tick = (): void => {
    const nowMs = this.#clock.monotonicMs()
    const bookmarks: ScheduledWatch[] = []
    for (const watch of this.#schedule.take(nowMs)) {
      if (!watch.connection.isOpen) watch.connection.request.abort()
      else if (nowMs >= watch.endsAtMs) this.#end(watch, nowMs, 'timeout')
      else {
        bookmarks.push(watch)
        this.#plan(watch, nowMs)
      }
    }
    if (bookmarks.length > 0) {
      this.source.refresh(new Set(bookmarks.map(({ keyspace }) => keyspace)))
      this.#clock.setTimer(refreshMs, () => bookmarks.forEach(this.#sendBookmark))
    }
    this.#setAlarm()
  }

  /** Cuts off a client that does not read the end of its watch. */
  #end(watch: ScheduledWatch, nowMs: number, as?: WatchEnd): void {
    if (!watch.connection.isOpen) return
    this.#schedule.delete(watch, watch.dueAtMs)
    watch.connection.end(as)
    if (this.#open.has(watch)) this.#add(watch, nowMs + slowReaderTimeoutMs)
  }

  /** A lagging watcher gets no bookmark, because it has not been sent everything up to a newer
   *  revision; nor does one whose position is in the future. */
  readonly #sendBookmark = ({ connection, keyspace }: ScheduledWatch): void => {
    const { watcher, framing } = connection
    if (!connection.isOpen || watcher?.state !== 'live') return
    const proven = this.source.proven(keyspace)
    if (proven < watcher.position) return
    const frame = framing.bookmark(proven, false)
    if (!(frame instanceof NotExact)) connection.write(frame)
  }
}

/** The watcher of a new watch: one of its own in an audience, or the one that it shares. */
function joined(
  hub: Hub,
  connection: RegisteredWatch,
  { audience, position, sink = connection }: Following,
): FollowedWatcher {
  if (typeof audience === 'function') return audience(hub)
  const watcher = hub.add(audience, position, sink)
  return { watcher, release: () => hub.delete(watcher) }
}
