/** Replays recorded watch streams against a whole service: frames and their order are compared. */

import * as http from 'node:http'
import type { Test } from 'tap'
import { caughtUp, type Served } from '../support/http/served.ts'
import { bodyBytes, frameBytes, type RecordedWatch } from './load.ts'
import { Table } from './replay.ts'

export interface WatchReplay {
  readonly watches: readonly RecordedWatch[]
  /** Writes what the recorded server wrote, up to a revision. */
  readonly writer: { writeUpTo(revision: number): Promise<void> }
  /** Recorded requests that are answered differently here, each with the reason: by id. */
  readonly exceptions: Readonly<Record<string, string>>
  /** The recorded server was started again at this revision, which decides what it still had. */
  readonly restart?: { readonly at: number; start(): Promise<Served> } | undefined
  /** Opens a watch in another way than over plain HTTP. */
  readonly open?: OpenRecorded | undefined
}

type OpenRecorded = (served: Served, watch: RecordedWatch) => Promise<Stream>

/** Opens the watches that were open at the same time, writes what was written meanwhile, and
 *  compares what came. */
export async function replayWatches(
  t: Test,
  first: Served,
  { watches, writer, exceptions, restart, open = openOverHttp }: WatchReplay,
): Promise<Table> {
  let served = first
  const table = new Table()
  const failures: string[] = []
  for (const [at, group] of byRevision(watches)) {
    if (restart !== undefined && at >= restart.at && served === first) {
      await writer.writeUpTo(restart.at)
      served = await restart.start()
      await caughtUp(served, restart.at)
    }
    await writer.writeUpTo(at)
    await caughtUp(served, at)
    const opened: [RecordedWatch, Stream][] = []
    for (const watch of group) {
      const { id, area, request } = watch
      const reason = exceptions[id]
      if (reason === undefined) {
        served.clock.stoppedAtMs = Date.parse(watch.recorded_at) + 2
        opened.push([watch, await open(served, watch)])
      } else {
        table.add(area, 'excepted')
        t.comment(`${id} ${request.path}: ${reason}`)
      }
    }
    await writer.writeUpTo(Math.max(at, ...group.map(watch => watch.mutations.to_revision)))
    for (const [watch, stream] of opened) {
      const difference = await compare(stream, watch)
      table.add(watch.area, difference === undefined ? 'passed' : 'failed')
      if (difference !== undefined) {
        failures.push(`${watch.id} ${watch.request.path}: ${difference}`)
      }
    }
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
  return table
}

/** Some were recorded side by side, and saw the same changes. */
function byRevision(recorded: readonly RecordedWatch[]): [number, RecordedWatch[]][] {
  const groups = new Map<number, RecordedWatch[]>()
  for (const watch of recorded) {
    groups.set(watch.at_revision, [...(groups.get(watch.at_revision) ?? []), watch])
  }
  return [...groups].sort(([a], [b]) => a - b)
}

/** The difference between the recorded stream and ours; undefined if there is none. */
async function compare(stream: Stream, watch: RecordedWatch): Promise<string | undefined> {
  const wanted = watch.frames.map(frameBytes).filter(frame => !isBookmark(frame))
  const { response } = watch
  if (stream.statusCode !== response.status) {
    return `status ${stream.statusCode} instead of ${response.status}`
  }
  const type = stream.headers['content-type']
  if (type !== response.headers['content-type']) return `content-type ${type}`
  if (response.status >= 300 || response.body !== undefined) {
    const body = await stream.body()
    return body.equals(bodyBytes(response)) ? undefined : `body ${body.toString()}`
  }
  for (let i = 0; i < wanted.length;) {
    const frame = await stream.next()
    if (frame === undefined) return `ended after ${i} of ${wanted.length} frames`
    if (isBookmark(frame)) continue
    const [ours, theirs] = [comparable(frame), comparable(wanted[i]!)]
    if (ours !== theirs && !isNewerEnd(ours, theirs)) {
      return `frame ${i}: ${ours.slice(0, 300)} instead of ${theirs.slice(0, 300)}`
    }
    i++
  }
  stream.close()
  return undefined
}

/** An interval's bookmarks come when they come; the one that ends the initial events has its
 *  place. */
function isBookmark(frame: Buffer): boolean {
  const text = frame.toString('latin1')
  return text.includes('BOOKMARK') && !text.includes('initial-events-end')
}

/** The state of a watch that asks for any may be newer than what upstream's cache had. */
function isNewerEnd(ours: string, theirs: string): boolean {
  const revision = /(?<="resourceVersion":")\d+/
  const isEnd = [ours, theirs].every(text => text.includes('initial-events-end'))
  const without = (text: string): string => text.replace(revision, '')
  const [mine, recorded] = [ours, theirs].map(text => Number(revision.exec(text)?.[0]))
  return isEnd && without(ours) === without(theirs) && mine! >= recorded!
}

/** The frame without ages, which depend on the moment. */
function comparable(frame: Buffer): string {
  const text = frame.toString('latin1')
  return text.includes('"kind":"Table"') ? text.replace(/"(?:\d+[smhdy])+"/g, '"AGE"') : text
}

/** A watch that was opened. */
export interface Stream {
  readonly statusCode: number | undefined
  readonly headers: http.IncomingHttpHeaders
  /** All of an answer that is no watch. */
  body(): Promise<Buffer>
  /** The next frame; undefined at the end. */
  next(): Promise<Buffer | undefined>
  close(): void
}

function openOverHttp(served: Served, { request }: RecordedWatch): Promise<Stream> {
  const { port } = served.service
  const headers = request.headers as http.OutgoingHttpHeaders
  return new Promise((resolve, reject) => {
    const sent = http.request({
      host: '127.0.0.1',
      port,
      method: request.method,
      path: request.path,
      headers,
      agent: false,
    })
    sent.on('error', reject)
    sent.on('response', response => {
      const frames = framesOf(response)
      resolve({
        statusCode: response.statusCode,
        headers: response.headers,
        body: async () => Buffer.concat(await all(response)),
        next: async () => (await frames.next()).value as Buffer | undefined,
        close: () => sent.destroy(),
      })
    })
    sent.end()
  })
}

async function* framesOf(response: http.IncomingMessage): AsyncGenerator<Buffer, void> {
  const isProtobuf = String(response.headers['content-type']).includes('protobuf')
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of response) {
    rest = Buffer.concat([rest, piece as Buffer])
    for (let end = endOf(rest, isProtobuf); end > 0; end = endOf(rest, isProtobuf)) {
      yield rest.subarray(0, end)
      rest = rest.subarray(end)
    }
  }
}

/** The end of the first frame; 0 when it is not there yet. */
function endOf(bytes: Buffer, isProtobuf: boolean): number {
  if (!isProtobuf) return bytes.indexOf(0x0a) + 1
  if (bytes.length < 4) return 0
  const end = 4 + bytes.readUInt32BE(0)
  return end <= bytes.length ? end : 0
}

async function all(response: http.IncomingMessage): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  return pieces
}
