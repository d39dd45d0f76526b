import * as http from 'node:http'
import t from 'tap'
import { defaultLimits } from '../../lib/mirror/limits.ts'
import { caughtUp, type Served, startServed } from '../support/http/served.ts'
import { bodyBytes, frameBytes, type RecordedWatch, watches } from './load.ts'
import { HistoryWriter, Table } from './replay.ts'

/** What is not answered as it was recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-w132': 'a user who may not do this, which is up to authorization',
  'pub-w133': 'a user who may not do this, which is up to authorization',
  'pub-w148': 'a 429 while a cache starts, which ours had done',
  'pub-w149': 'the oldest revision of a cache that was made three revisions later than ours',
}

/** What a server still has depends on when it was started. The recorded one was started again at this revision. */
const restartedAt = 796

t.test(
  'a kube-apiserver and we send every recorded watch the same frames in the same order',
  async t => {
    const limits = { ...defaultLimits, readWaitMaxMs: 500 }
    const first = await startServed(t, { limits })
    const writer = new HistoryWriter(first.client)
    let served = first
    const table = new Table()
    const failures: string[] = []
    for (const [at, group] of byRevision(watches())) {
      if (at >= restartedAt && served === first) {
        await writer.writeUpTo(restartedAt)
        served = await startServed(t, { limits, client: first.client })
        await caughtUp(served, restartedAt)
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
  },
)

/** Some were recorded side by side, and saw the same changes. */
function byRevision(recorded: readonly RecordedWatch[]): [number, RecordedWatch[]][] {
  const groups = new Map<number, RecordedWatch[]>()
  for (const watch of recorded) {
    groups.set(watch.at_revision, [...(groups.get(watch.at_revision) ?? []), watch])
  }
  return [...groups].sort(([a], [b]) => a - b)
}

/** What differs between the recorded stream and ours; undefined if nothing does. */
async function compare(stream: Stream, watch: RecordedWatch): Promise<string | undefined> {
  const wanted = watch.frames.map(frameBytes).filter(frame => !isBookmark(frame))
  const { response } = watch
  if (stream.response.statusCode !== response.status) {
    return `status ${stream.response.statusCode} instead of ${response.status}`
  }
  const type = stream.response.headers['content-type']
  if (type !== response.headers['content-type']) return `content-type ${type}`
  if (response.status !== 200 || response.body !== undefined) {
    const body = Buffer.concat(await all(stream.response))
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

/** An interval's bookmarks come when they come; the one that ends the initial events has its place. */
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

interface Stream {
  readonly response: http.IncomingMessage
  /** The next frame; undefined at the end. */
  next(): Promise<Buffer | undefined>
  close(): void
}

function open(served: Served, { request }: RecordedWatch): Promise<Stream> {
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
        response,
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

/** Where the first frame ends; 0 when it is not there yet. */
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
