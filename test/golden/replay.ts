/** Replays the recordings against a whole service: the store stands where it stood, the recorded
 *  request goes over a real socket, and what comes back is compared with what a kube-apiserver
 *  answered. */

import { METHODS, type OutgoingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { ask, askOver2, caughtUp, type HttpAnswer, type Served } from '../support/http/served.ts'
import { bodyBytes, type Exchange, golden, type Recording } from './load.ts'

/** Headers that say something; the rest is of the connection. */
const comparedHeaders = [
  'content-type',
  'cache-control',
  'content-encoding',
  'vary',
  'warning',
  'retry-after',
  'etag',
  'x-content-type-options',
  'allow',
]

/** Writes the history up to a revision. */
export class HistoryWriter {
  readonly #client: Client
  readonly #recording: Recording
  #next = 0
  /** Only some of what was written is recorded: the rest is made up, under a key that nobody
   *  reads. */
  readonly #hasGaps: boolean
  #written = 1

  constructor(client: Client, recording: Recording = golden, hasGaps = false) {
    this.#client = client
    this.#recording = recording
    this.#hasGaps = hasGaps
  }

  /** The store has come up to a revision by itself. */
  skipTo(revision: number): void {
    const batches = this.#recording.historyBatches()
    while ((batches[this.#next]?.revision ?? Infinity) <= revision) this.#next++
  }

  async writeUpTo(revision: number): Promise<void> {
    await this.#writeBatches(revision)
    if (this.#hasGaps) await this.#fillUpTo(revision)
  }

  async #fillUpTo(revision: number): Promise<void> {
    while (this.#written < revision) {
      const filler = { type: 'put', key: keyFromText('filler'), value: new Uint8Array(0) } as const
      const { header } = await this.#client.txn({ compares: [], success: [filler], failure: [] })
      this.#written = header.revision
    }
  }

  async #writeBatches(revision: number): Promise<void> {
    const batches = this.#recording.historyBatches()
    for (let batch = batches[this.#next]; batch !== undefined; batch = batches[++this.#next]) {
      if (batch.revision > revision) return
      if (this.#hasGaps) await this.#fillUpTo(batch.revision - 1)
      const { header } = await this.#client.txn({
        compares: [],
        success: batch.changes.map(change =>
          change.type === 'delete'
            ? { type: 'delete', range: singleKey(change.key) }
            : { type: 'put', key: change.entry.key, value: change.entry.value },
        ),
        failure: [],
      })
      if (header.revision !== batch.revision) {
        throw new CacheError('conflict', `${batch.revision} became ${header.revision}`)
      }
      this.#written = header.revision
    }
  }
}

/** The requests of a replay, and those that are not answered as recorded, with the reason why that
 *  is right: by id. */
export interface ReadReplay {
  readonly recording: Recording
  readonly asked: readonly Exchange[]
  readonly exceptions: Readonly<Record<string, string>>
  readonly version: '1.1' | '2'
  readonly hasGaps?: boolean | undefined
}

/** Writes the history step by step, and asks what was asked at each. */
export async function replayReads(
  t: Test,
  served: Served,
  { recording, asked, exceptions, version, hasGaps }: ReadReplay,
): Promise<Table> {
  const writer = new HistoryWriter(served.client, recording, hasGaps)
  const table = new Table()
  const failures: string[] = []
  const note = ({ id, area, request }: Exchange, difference: string | undefined): void => {
    table.add(area, difference === undefined ? 'passed' : 'failed')
    if (difference === undefined) return
    failures.push(`${id} ${request.method} ${request.path}: ${difference}`)
  }
  // What waits for a revision that does not come waits with the others that do.
  let waiting: Promise<void>[] = []
  let at = 0
  for (const exchange of asked) {
    const { id, area, request, at_revision: revision, response } = exchange
    if (revision !== at) waiting = await Promise.all(waiting).then(() => [])
    at = revision
    await writer.writeUpTo(revision)
    if (exceptions[id] !== undefined) {
      table.add(area, 'excepted')
      t.comment(`${id} ${request.method} ${request.path}: ${exceptions[id]}`)
      continue
    }
    const replayed = replayExchange(served, exchange, version).then(difference =>
      note(exchange, difference),
    )
    if (isOfTheFuture(response)) waiting.push(replayed)
    else await replayed
  }
  await Promise.all(waiting)
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
  return table
}

/** It was answered after a wait for a revision that did not come. */
function isOfTheFuture({ status, body = '' }: Exchange['response']): boolean {
  return status === 504 || body.includes('revision is a future revision')
}

/** The recorded reads in the order of the revisions at which they were made. */
export function readsOf(recording: Recording, otherAreas: ReadonlySet<string>): Exchange[] {
  return recording
    .exchanges()
    .filter(({ area }) => !otherAreas.has(area))
    .sort((a, b) => a.at_revision - b.at_revision || a.compact_revision - b.compact_revision)
}

/** The difference between the recorded answer and ours; undefined if there is none. */
export async function replayExchange(
  served: Served,
  exchange: Exchange,
  version: '1.1' | '2' = '1.1',
): Promise<string | undefined> {
  await caughtUp(served, exchange.at_revision)
  let first: string | undefined
  for (const laterMs of allowedDelays(exchange)) {
    served.clock.stoppedAtMs = Date.parse(exchange.recorded_at) + laterMs
    const difference = differenceOf(exchange, await send(served, exchange, version))
    if (difference === undefined) return undefined
    first ??= difference
  }
  return first
}

/** Ages are those of some moment after the request was sent: mostly very soon. */
function allowedDelays({ flags, area }: Exchange): readonly number[] {
  const hasAges = area === 'table' || flags.some(flag => flag.startsWith('age-'))
  return hasAges ? [2, 0, 10, 30, 60, 100, 200, 400, 700, 1000, -1000] : [0]
}

export function send(
  { service }: Served,
  { request }: Exchange,
  version: '1.1' | '2',
): Promise<HttpAnswer> {
  const { method, path, body_base64: base64, headers } = request
  const body = base64 === undefined ? request.body : Buffer.from(base64, 'base64')
  // Node sends the body of a DELETE without a length, unless it is told.
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
  const sent = { method, path, body, headers: { ...(headers as OutgoingHttpHeaders), ...length } }
  // No parser of HTTP/1.1 takes a method that it has not heard of.
  const isOver2 = version === '2' || !METHODS.includes(method)
  return isOver2 ? askOver2(service.port, sent) : ask(service.port, sent)
}

export function differenceOf(exchange: Exchange, answer: HttpAnswer): string | undefined {
  const { response, request } = exchange
  if (answer.status !== response.status) {
    return `status ${answer.status} instead of ${response.status}: ${answer.body.subarray(0, 200).toString()}`
  }
  for (const name of comparedHeaders) {
    const [ours, theirs] = [answer.headers[name], response.headers[name]].map(value =>
      typeof value === 'object' ? value.join(', ') : value,
    )
    if (ours !== theirs) return `${name} ${ours} instead of ${theirs}`
  }
  if (request.method === 'HEAD') return undefined
  const isGzip = answer.headers['content-encoding'] === 'gzip'
  const ours = isGzip ? gunzipSync(answer.body) : answer.body
  const theirs = bodyBytes(response)
  if (Buffer.compare(ours, theirs) === 0) return undefined
  const [a, b] = [comparable(ours, exchange), comparable(theirs, exchange)]
  if (a.text === b.text && a.revision >= b.revision) return undefined
  return firstDifference(a.text, b.text)
}

interface Comparable {
  readonly text: string
  /** Revision of a list that may be of any; 0 of others. */
  readonly revision: number
}

/** The body without what may differ: the form of a token, and the revision of some lists. */
function comparable(body: Buffer, { flags }: Exchange): Comparable {
  const isProtobuf = body[0] === 0x6b && body[3] === 0
  const json = isProtobuf ? jsonFromProtobuf(body) : body
  if (json instanceof NotExact) return { text: body.toString('latin1'), revision: 0 }
  const text = Buffer.from(json)
    .toString()
    .replace(/("continue": ?"|\n {2}continue: )([\w-]+)/, plainToken)
  if (!flags.includes('rv-at-least')) return { text, revision: 0 }
  let revision = 0
  const without = text.replace(listRevision(text), (_, before: string, found: string) => {
    revision = Number(found)
    return before
  })
  return { text: without, revision }
}

function plainToken(_: string, before: string, token: string): string {
  const decoded = Buffer.from(token, 'base64url').toString().replace('"start":"/', '"start":"')
  return `${before}${decoded}`
}

/** Lists of built-in resources begin with their metadata, those of custom ones and YAML end with
 *  it. */
function listRevision(text: string): RegExp {
  if (!text.startsWith('{')) return /(\n {2}resourceVersion: ")(\d+)(?="\n$)/
  return /^\{\s*"kind"/.test(text)
    ? /("resourceVersion": ?")(\d+)/
    : /("resourceVersion": ?")(\d+)(?="\s*\}\s*\}\s*$)/
}

export function firstDifference(a: string, b: string): string {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  const part = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 60), at + 60))
  return `at ${at} of ${a.length} and ${b.length}: ${part(a)} instead of ${part(b)}`
}

/** Counts outcomes by area. */
export class Table {
  readonly #rows = new Map<string, { passed: number; excepted: number; failed: number }>()

  add(area: string, outcome: 'passed' | 'excepted' | 'failed'): void {
    const row = this.#rows.get(area) ?? { passed: 0, excepted: 0, failed: 0 }
    this.#rows.set(area, row)
    row[outcome]++
  }

  total(outcome: 'passed' | 'excepted' | 'failed'): number {
    let total = 0
    for (const row of this.#rows.values()) total += row[outcome]
    return total
  }

  lines(): string[] {
    const line = (area: string, ...counts: (number | string)[]): string =>
      area.padEnd(20) + counts.map(count => String(count).padStart(10)).join('')
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1))
    return [
      line('area', 'passed', 'excepted', 'failed'),
      ...rows.map(([area, row]) => line(area, row.passed, row.excepted, row.failed)),
      line('all', this.total('passed'), this.total('excepted'), this.total('failed')),
    ]
  }
}
