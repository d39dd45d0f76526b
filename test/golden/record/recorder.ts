/** Asks a server and keeps what it was asked and what it answered.
 *
 *  A read is asked again until nothing was written meanwhile, so that its answer belongs to one
 *  revision; one of a Table also until no second has passed, so that ages belong to one moment. A
 *  write is asked once, early in a second: the times that it notes are then the same.
 *
 *  `{name}` in a path is a revision: a mark, `{now}`, or `{future}`, which will not come. */

import type { Exchange, HistoryLine, RecordedWatch } from '../load.ts'
import { flagsOf, isTable } from './flags.ts'
import type { RecordedHistory } from './history.ts'
import { json } from './media-types.ts'
import { type Answer, bodyOf, send, type Sender, type Sent } from './send.ts'
import { watchStream } from './watch-stream.ts'

const attemptsMax = 12
/** Far above whatever is written while a server is recorded. */
const futureDistance = 100_000
/** The time for watches to begin before anything is written. */
const watchBeginMs = 900
/** Moments in a second after which what begins would often end in the next. A write is asked
 *  once. */
const lateInSecondMs = { table: 850, write: 500 }

/** One question. Absent `accept` is JSON; null sends no such header. */
export interface Question extends Omit<Sent, 'accept' | 'body'> {
  readonly area: string
  readonly accept?: string | null | undefined
  readonly description?: string | undefined
  /** An object is sent as JSON. */
  readonly body?: object | string | Buffer | undefined
  /** The media type of `body`. */
  readonly type?: string | undefined
  readonly chain?: string | undefined
}

/** One watch of a group. */
export interface WatchQuestion extends Omit<Sent, 'accept' | 'method' | 'body'> {
  readonly area: string
  readonly accept?: string | undefined
  readonly description?: string | undefined
  /** The client leaves after this time; without it the server ends the watch. */
  readonly closeAfterMs?: number | undefined
}

export interface Reply extends Answer {
  /** The object in JSON; undefined for anything else. */
  readonly object: JsonObject | undefined
}

export interface JsonObject {
  readonly [name: string]: unknown
  readonly metadata?: Metadata
  readonly items?: readonly JsonObject[] | null
}

/** Metadata of an object or a list. */
export interface Metadata {
  readonly [name: string]: unknown
  readonly name?: string | undefined
  readonly namespace?: string | undefined
  readonly continue?: string | undefined
}

/** The same request in recordings of several minors has the same key. */
type Keyed<T> = T & { readonly key: string }

export class Recorder {
  readonly exchanges: Keyed<Exchange>[] = []
  readonly watches: Keyed<RecordedWatch>[] = []
  readonly marks: Record<string, number> = {}
  /** Objects that the server did not take, and what else did not go as wanted. */
  readonly setupErrors: string[] = []
  readonly server: Sender
  readonly history: RecordedHistory
  readonly #name: string
  readonly #keys = new Map<string, number>()
  #compacted = 0

  /** `name`: what ids begin with. */
  constructor(name: string, server: Sender, history: RecordedHistory) {
    this.#name = name
    this.server = server
    this.history = history
  }

  async mark(name: string): Promise<void> {
    this.marks[name] = await this.history.revisionNow()
  }

  async compact(): Promise<void> {
    const at = await this.history.revisionNow()
    await this.history.compact(at)
    this.#compacted = at
    this.marks['compacted'] = at
  }

  /** Asks without keeping anything but what it does to etcd. */
  async tell(method: string, path: string, body?: object, type: string = json): Promise<Reply> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const headers = bytes === undefined ? {} : { 'Content-Type': type }
    const answer = await send(this.server, { method, path, accept: json, headers, body: bytes })
    return { ...answer, object: parsed(answer.bytes) }
  }

  /** Asks and keeps. */
  async ask(question: Question): Promise<Reply> {
    const { area, chain, user = 'admin', method = 'GET', type = json } = question
    const accept = question.accept === undefined ? json : (question.accept ?? undefined)
    const body = bytesOf(question.body)
    const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(method)
    const headers = {
      ...(body === undefined ? {} : { 'Content-Type': type }),
      ...question.headers,
    }
    for (let attempt = 1; ; attempt++) {
      const { path, before } = await this.#resolve(question.path)
      if (!isRead) await secondBegins(lateInSecondMs.write)
      else if (isTable(accept)) await secondBegins(lateInSecondMs.table)
      const answer = await send(this.server, { method, path, accept, user, headers, body })
      const after = await this.history.revisionNow()
      const isSteady = before === after && !(isTable(accept) && crossesSecond(answer))
      if (method === 'GET' && !isSteady && attempt < attemptsMax) continue
      const flags = flagsOf(path, accept, answer)
      this.exchanges.push({
        id: `${this.#name}-${String(this.exchanges.length + 1).padStart(4, '0')}`,
        key: this.#keyOf(question, accept),
        area,
        description: question.description ?? `${method} ${question.path}`,
        flags: isRead
          ? flags
          : [...flags, 'write', ...(crossesSecond(answer) ? ['crosses-second'] : [])],
        at_revision: before,
        at_revision_after: after,
        compact_revision: this.#compacted,
        apiserver_run: 1,
        recorded_at: new Date(answer.startMs).toISOString(),
        took_ms: answer.endMs - answer.startMs,
        user,
        ...(chain === undefined ? {} : { chain }),
        request: { method, path, headers: answer.sent, ...(body && bodyOf(body)) },
        response: { status: answer.status, headers: answer.headers, ...bodyOf(answer.bytes) },
      })
      return { ...answer, object: parsed(answer.bytes) }
    }
  }

  /** Opens watches together, lets `change` write while they are open, and keeps them all. */
  async watch(
    questions: readonly WatchQuestion[],
    change?: { readonly what: string; readonly run: () => Promise<unknown> },
  ): Promise<void> {
    const open = await Promise.all(questions.map(one => this.#open(one)))
    await new Promise(resolve => setTimeout(resolve, watchBeginMs))
    const from = await this.history.revisionNow()
    await change?.run()
    const to = await this.history.revisionNow()
    const done = await Promise.all(open.map(({ ended }) => ended))
    const after = await this.history.revisionNow()
    await this.history.upTo(after)
    const events = this.history.lines
      .filter(({ rev }) => rev > from && rev <= to)
      .map(({ rev, type, key }): Pick<HistoryLine, 'rev' | 'type' | 'key'> => ({ rev, type, key }))
    const what = change?.what ?? 'none'
    for (const [i, question] of questions.entries()) {
      const { path, before, beginMs } = open[i]!
      const { frames, ...stream } = done[i]!
      const { area, accept = json, user = 'admin' } = question
      const isOpen = stream.status === 200
      const hasBookmarks = frames.some(({ raw }) => raw?.includes('"BOOKMARK"'))
      this.watches.push({
        id: `${this.#name}-w${String(this.watches.length + 1).padStart(3, '0')}`,
        key: this.#keyOf(question, accept),
        area,
        description: question.description ?? what,
        flags: [
          ...(isTable(accept) && isOpen && frames.length > 0 ? ['age-cells'] : []),
          ...(hasBookmarks || path.includes('allowWatchBookmarks=true') ? ['bookmark-timing'] : []),
        ],
        at_revision: before,
        at_revision_after: after,
        compact_revision: this.#compacted,
        apiserver_run: 1,
        recorded_at: new Date(beginMs).toISOString(),
        duration_ms: stream.endMs - beginMs,
        user,
        request: { method: 'GET', path, headers: stream.sent },
        response: {
          status: stream.status,
          headers: stream.headers,
          ...(isOpen ? {} : bodyOf(stream.bytes)),
        },
        ended_by: stream.endedBy,
        frames,
        mutations: {
          description: what,
          from_revision: from,
          to_revision: to,
          events: change === undefined ? [] : events,
        },
      })
    }
  }

  async #open(question: WatchQuestion): Promise<{
    path: string
    before: number
    beginMs: number
    ended: ReturnType<typeof watchStream>
  }> {
    const { path, before } = await this.#resolve(question.path)
    const { accept = json, user, headers, closeAfterMs } = question
    const ended = watchStream(this.server, { path, accept, user, headers }, closeAfterMs)
    return { path, before, beginMs: Date.now(), ended }
  }

  /** The path with revisions for their names, and the revision at which it was made. */
  async #resolve(path: string): Promise<{ path: string; before: number }> {
    const before = await this.history.revisionNow()
    const known: Record<string, number> = {
      ...this.marks,
      now: before,
      future: before + futureDistance,
    }
    const resolved = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const revision = known[name]
      if (revision === undefined) throw new Error(`${path}: there is no mark ${name}`)
      return String(revision)
    })
    return { path: resolved, before }
  }

  #keyOf(
    { chain, method = 'GET', path, user = 'admin', headers, area }: Question,
    accept: string | undefined,
  ): string {
    const more = headers === undefined ? '' : ` ${JSON.stringify(headers)}`
    const key =
      chain === undefined
        ? `${area}: ${method} ${path} | ${accept ?? '-'} | ${user}${more}`
        : `${area}: chain ${chain}`
    const count = (this.#keys.get(key) ?? 0) + 1
    this.#keys.set(key, count)
    return count === 1 ? key : `${key} #${count}`
  }
}

function bytesOf(body: Question['body']): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function parsed(bytes: Buffer): JsonObject | undefined {
  try {
    return JSON.parse(bytes.toString('utf8')) as JsonObject
  } catch {
    return undefined
  }
}

/** Resolves at once early in a second, else when the next has begun. */
async function secondBegins(lateMs: number): Promise<void> {
  const inSecond = Date.now() % 1000
  if (inSecond > lateMs) {
    await new Promise(resolve => setTimeout(resolve, 1005 - inSecond))
  }
}

function crossesSecond({ startMs, endMs }: Answer): boolean {
  return Math.floor(startMs / 1000) !== Math.floor(endMs / 1000)
}
