/** A Kubernetes API of one resource, in memory and by a clock: what the protocol promises, and, by
 *  its faults, what it does not. Objects are ConfigMaps of one namespace, in JSON. Each server has
 *  its own view of the store, which may be behind. */

import type {
  ForwardControl,
  ForwardRequest,
  ForwardSink,
} from '../../../lib/proxy/upstream/upstream.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import { type Random, randomInt } from '../../../lib/base/random.ts'

export interface FakeChange {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly name: string
  readonly value: string
}

interface FakeObject {
  readonly revision: number
  readonly value: string
}

/** The faults of a server, each as a chance from 0 to 1. */
export interface ApiFaults {
  /** A request gets no answer, but an end of its connection. */
  readonly cut: number
  readonly tooManyRequests: number
  /** A bookmark is not sent. */
  readonly lostBookmark: number
  /** A watch sends nothing for a while, though its connection lives. */
  readonly stall: number
  /** A watch is ended by an error event. */
  readonly errorEvent: number
}

const noFaults: ApiFaults = { cut: 0, tooManyRequests: 0, lostBookmark: 0, stall: 0, errorEvent: 0 }

const tickMs = 1100
const stallMs = 15_000

/** One API server: it has applied what the store had up to `applied`. */
class FakeServer {
  applied: number
  /** The oldest revision from which it can watch. */
  windowStart: number
  lagMs = 0

  constructor(revision: number) {
    this.applied = revision
    this.windowStart = revision
  }
}

interface FakeWatch {
  readonly server: FakeServer
  readonly sink: ForwardSink
  readonly bookmarkAtMs: number
  position: number
  nextBookmarkMs: number
  stalledUntilMs: number
  isOver: boolean
}

export class FakeApi {
  readonly #clock: Clock
  readonly #random: Random
  faults: ApiFaults = noFaults
  /** Watches of it get no bookmarks, as those of core events. */
  hasBookmarks = true
  /** A code with which every request is answered. */
  refusal: number | undefined = undefined
  /** For how long a server that is busy (429) wants to be left alone. */
  retryAfterSeconds = 1
  /** The time that a list takes beside that of the network. */
  listMs = 0
  revision = 1
  uid = '00000000-0000-0000-0000-000000000001'
  readonly objects: Map<string, FakeObject> = new Map()
  changes: FakeChange[] = []
  /** The oldest revision at which the store can be read. */
  compacted = 1
  readonly servers: FakeServer[]
  readonly #watches = new Set<FakeWatch>()
  readonly requests: string[] = []

  constructor({ clock, random, servers = 1 }: { clock: Clock; random: Random; servers?: number }) {
    this.#clock = clock
    this.#random = random
    this.servers = Array.from({ length: servers }, () => new FakeServer(1))
    this.#tick()
  }

  get openWatches(): number {
    return this.#watches.size
  }

  write(name: string, value: string): number {
    this.revision++
    const type = this.objects.has(name) ? 'MODIFIED' : 'ADDED'
    this.objects.set(name, { revision: this.revision, value })
    this.#changed({ revision: this.revision, type, name, value })
    return this.revision
  }

  delete(name: string): number {
    const object = this.objects.get(name)
    if (object === undefined) return this.revision
    this.revision++
    this.objects.delete(name)
    this.#changed({ revision: this.revision, type: 'DELETED', name, value: object.value })
    return this.revision
  }

  /** Something else is written. */
  writeOther(): void {
    this.revision++
    this.#spread()
  }

  compact(revision: number): void {
    this.compacted = Math.max(this.compacted, Math.min(revision, this.revision))
    for (const server of this.servers) {
      server.windowStart = Math.max(server.windowStart, Math.min(this.compacted, server.applied))
    }
  }

  /** Every connection breaks, and caches begin anew. */
  restart(): void {
    for (const watch of this.#watches) this.#fail(watch)
    for (const server of this.servers) {
      server.applied = this.revision
      server.windowStart = this.revision
    }
  }

  /** A backup is restored: the store has what it had at that revision. */
  restore(revision: number): void {
    const kept = this.changes.filter(change => change.revision <= revision)
    this.changes = kept
    this.revision = revision
    this.compacted = Math.min(this.compacted, revision)
    this.objects.clear()
    for (const [name, object] of this.contentsAt(revision)) this.objects.set(name, object)
    this.restart()
  }

  contentsAt(revision: number): Map<string, FakeObject> {
    const contents = new Map<string, FakeObject>()
    for (const change of this.changes) {
      if (change.revision > revision) break
      if (change.type === 'DELETED') contents.delete(change.name)
      else contents.set(change.name, { revision: change.revision, value: change.value })
    }
    return contents
  }

  credentials(): Promise<Readonly<Record<string, string>>> {
    return Promise.resolve({})
  }

  forward({ path }: ForwardRequest, sink: ForwardSink): ForwardControl {
    this.requests.push(path)
    const state: { isAborted: boolean; watch: FakeWatch | undefined } = {
      isAborted: false,
      watch: undefined,
    }
    const tookMs = path.includes('watch=1') ? 0 : this.listMs
    this.#clock.setTimer(randomInt(this.#random, 1, 20) + tookMs, () => {
      if (state.isAborted) return
      if (this.#happens('cut')) sink.failed(new Error('the connection was cut'))
      else if (this.#happens('tooManyRequests')) {
        answer(sink, 429, {}, { 'retry-after': String(this.retryAfterSeconds) })
      } else if (this.refusal !== undefined) answer(sink, this.refusal, status(this.refusal, ''))
      else state.watch = this.#answer(new URL(path, 'http://api'), sink)
    })
    return {
      resume: () => {},
      abort: () => {
        state.isAborted = true
        if (state.watch !== undefined) this.#forget(state.watch)
      },
    }
  }

  #happens(fault: keyof ApiFaults): boolean {
    return this.faults[fault] > 0 && this.#random.next() < this.faults[fault]
  }

  #changed(change: FakeChange): void {
    this.changes.push(change)
    this.#spread()
  }

  /** Servers learn of what is new, each after its own time. */
  #spread(): void {
    for (const server of this.servers) {
      const learn = (): void => {
        server.applied = Math.max(server.applied, Math.min(this.revision, revision))
        for (const watch of this.#watches) if (watch.server === server) this.#send(watch)
      }
      const { revision } = this
      if (server.lagMs === 0) learn()
      else this.#clock.setTimer(server.lagMs, learn)
    }
  }

  #answer(url: URL, sink: ForwardSink): FakeWatch | undefined {
    const server = this.servers[randomInt(this.#random, 0, this.servers.length - 1)]!
    const { searchParams: query, pathname } = url
    if (pathname.endsWith('/kube-system')) {
      answer(sink, 200, { metadata: { name: 'kube-system', uid: this.uid } })
      return undefined
    }
    if (query.get('watch') === '1') return this.#watch(server, query, sink)
    this.#list(query, sink)
    return undefined
  }

  #list(query: URLSearchParams, sink: ForwardSink): void {
    const [rv, from] = (query.get('continue') ?? '').split(':')
    const exact = query.get('resourceVersion') ?? (rv === '' ? undefined : rv)
    const revision = exact === undefined ? this.revision : Number(exact)
    if (revision > this.revision) {
      const causes = [{ reason: 'ResourceVersionTooLarge' }]
      answer(sink, 504, { ...status(504, 'too large resource version'), details: { causes } })
      return
    }
    if (revision < this.compacted) {
      answer(sink, 410, status(410, 'the resourceVersion is too old'))
      return
    }
    const name = /metadata\.name=(.*)/.exec(query.get('fieldSelector') ?? '')?.[1]
    const all = [...this.contentsAt(revision)]
      .filter(([one]) => (name === undefined || one === name) && (from === undefined || one > from))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    const limit = Number(query.get('limit') ?? 0)
    const page = limit === 0 ? all : all.slice(0, limit)
    const last = page.at(-1)?.[0]
    const rest = all.length - page.length
    const more = rest > 0 ? { continue: `${revision}:${last}`, remainingItemCount: rest } : {}
    answer(sink, 200, {
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: String(revision), ...more },
      items: page.length === 0 ? null : page.map(([one, object]) => objectOf(one, object)),
    })
  }

  #watch(server: FakeServer, query: URLSearchParams, sink: ForwardSink): FakeWatch | undefined {
    const position = Number(query.get('resourceVersion'))
    if (position < server.windowStart) {
      sink.started(200, {})
      sink.data(line('ERROR', status(410, 'too old resource version')))
      sink.ended({})
      return undefined
    }
    if (position > server.applied) {
      const causes = [{ reason: 'ResourceVersionTooLarge' }]
      answer(sink, 504, { ...status(504, 'too large resource version'), details: { causes } })
      return undefined
    }
    const nowMs = this.#clock.monotonicMs()
    const seconds = Number(query.get('timeoutSeconds'))
    // No bookmark for a watch that has only the last two seconds.
    const bookmarkAtMs = seconds > 2 ? nowMs + seconds * 1000 - 2000 : Infinity
    const watch: FakeWatch = {
      server,
      sink,
      bookmarkAtMs,
      position,
      nextBookmarkMs: Math.min(nowMs + 60_000, bookmarkAtMs),
      stalledUntilMs: this.#happens('stall') ? nowMs + stallMs : 0,
      isOver: false,
    }
    this.#watches.add(watch)
    sink.started(200, {})
    this.#send(watch)
    this.#clock.setTimer(seconds * 1000, () => {
      if (watch.isOver) return
      this.#forget(watch)
      sink.ended({})
    })
    return watch.isOver ? undefined : watch
  }

  #send(watch: FakeWatch): void {
    if (watch.isOver || this.#clock.monotonicMs() < watch.stalledUntilMs) return
    const events = this.changes.filter(
      ({ revision }) => revision > watch.position && revision <= watch.server.applied,
    )
    const lines = events.map(change => line(change.type, objectOf(change.name, change)))
    watch.position = events.at(-1)?.revision ?? watch.position
    if (lines.length > 0) watch.sink.data(inPieces(Buffer.concat(lines)))
    if (lines.length > 0 && this.#happens('cut')) this.#fail(watch)
    else if (lines.length > 0 && this.#happens('errorEvent')) {
      this.#forget(watch)
      watch.sink.data(line('ERROR', status(500, 'etcd event received with an error')))
      watch.sink.ended({})
    }
  }

  /** The cache hands bookmarks out to the watches that are due. */
  readonly #tick = (): void => {
    const nowMs = this.#clock.monotonicMs()
    for (const watch of this.#watches) {
      if (watch.stalledUntilMs > 0 && nowMs >= watch.stalledUntilMs) {
        watch.stalledUntilMs = 0
        this.#send(watch)
      }
      if (nowMs < watch.nextBookmarkMs || watch.isOver || nowMs < watch.stalledUntilMs) continue
      watch.nextBookmarkMs =
        nowMs < watch.bookmarkAtMs ? Math.min(nowMs + 60_000, watch.bookmarkAtMs) : Infinity
      if (!this.hasBookmarks || this.#happens('lostBookmark')) continue
      const { applied } = watch.server
      watch.position = Math.max(watch.position, applied)
      const metadata = { resourceVersion: String(applied), creationTimestamp: null }
      watch.sink.data(line('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata }))
    }
    this.#clock.setTimer(tickMs, this.#tick)
  }

  #fail(watch: FakeWatch): void {
    this.#forget(watch)
    watch.sink.failed(new Error('the connection was cut'))
  }

  #forget(watch: FakeWatch): void {
    watch.isOver = true
    this.#watches.delete(watch)
  }
}

function objectOf(name: string, { revision, value }: FakeObject): unknown {
  return {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: name, resourceVersion: String(revision) },
    data: { value },
  }
}

function status(code: number, message: string): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code }
}

function line(type: string, object: unknown): Buffer {
  return Buffer.from(`${JSON.stringify({ type, object })}\n`)
}

/** As a socket gives it: the array is not kept. */
function inPieces(bytes: Buffer): Uint8Array {
  return Uint8Array.from(bytes)
}

function answer(
  sink: ForwardSink,
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  sink.started(code, headers)
  sink.data(Buffer.from(JSON.stringify(body)))
  sink.ended({})
}
