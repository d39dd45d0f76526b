/** Reads the recordings of a real kube-apiserver in `data/`: what etcd held, what was asked, and
 *  what was answered.
 *
 *  Everything is loaded when first asked for, and shared: treat it as immutable. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { type Key, keyFromText, textFromKey } from '../../lib/base/keys.ts'
import { type Revision, revision } from '../../lib/base/revision.ts'
import { type Change, KeyValue } from '../../lib/store/event.ts'
import { SlabWriter } from '../../lib/store/slab.ts'

/** One etcd event. `value` is base64; puts have all fields but the first three. */
export interface HistoryLine {
  readonly rev: number
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly value?: string
  readonly create_revision?: number
  readonly mod_revision?: number
  readonly version?: number
  readonly lease?: string
}

/** Header values are arrays where a header was sent or received more than once. */
export type Headers = Readonly<Record<string, string | readonly string[]>>

export interface RecordedRequest {
  readonly method: string
  /** The exact request target. */
  readonly path: string
  readonly headers: Headers
  readonly body?: string
  readonly body_base64?: string
}

export interface RecordedResponse {
  readonly status: number
  /** Names are lower case. */
  readonly headers: Headers
  /** The exact text, or in `body_base64` the exact bytes: protobuf, gzip. */
  readonly body?: string
  readonly body_base64?: string
}

/** The part that exchanges and watches share. */
export interface Recorded {
  readonly id: string
  readonly area: string
  readonly description: string
  /** Why an answer may rightly differ: `rv-at-least`, `age-cells`, `bookmark-timing`, ... */
  readonly flags: readonly string[]
  /** The store's revision just before and just after. */
  readonly at_revision: number
  readonly at_revision_after: number
  /** The last compacted revision then; 0 is none. */
  readonly compact_revision: number
  readonly apiserver_run: number
  /** Wall clock at sending, RFC 3339. */
  readonly recorded_at: string
  readonly user: string
  readonly request: RecordedRequest
  readonly response: RecordedResponse
}

/** One request and its answer. */
export interface Exchange extends Recorded {
  readonly took_ms: number
  /** Exchanges of one continue chain, in order, with the real tokens. */
  readonly chain?: string
}

/** One watch stream. */
export interface RecordedWatch extends Recorded {
  readonly duration_ms: number
  readonly ended_by: 'server-eof' | 'client-closed'
  readonly frames: readonly RecordedFrame[]
  /** Writes while the stream was open. */
  readonly mutations: {
    readonly description: string
    readonly from_revision: number
    readonly to_revision: number
    readonly events: readonly Pick<HistoryLine, 'rev' | 'type' | 'key'>[]
  }
}

/** JSON: one line with its `\n` in `raw`. Protobuf: the frame with its 4-byte length in
 *  `raw_base64`. */
export interface RecordedFrame {
  readonly offset_ms: number
  readonly raw?: string
  readonly raw_base64?: string
}

export interface GoldenMeta {
  readonly marks: Readonly<Record<string, number>>
  readonly end_revision: number
  /** Bearer tokens; null is a request without one. */
  readonly users: Readonly<Record<string, string | null>>
}

/** The body's bytes, uncompressed. */
export function bodyBytes(response: RecordedResponse): Buffer {
  const bytes =
    response.body_base64 === undefined
      ? Buffer.from(response.body ?? '')
      : Buffer.from(response.body_base64, 'base64')
  return response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
}

export function frameBytes({ raw, raw_base64: base64 }: RecordedFrame): Buffer {
  return base64 === undefined ? Buffer.from(raw ?? '') : Buffer.from(base64, 'base64')
}

/** All changes of one revision. */
export interface HistoryBatch {
  readonly revision: Revision
  readonly changes: readonly Change[]
}

/** The recording of one minor version, read when it is first asked for. */
export interface Recording {
  readonly minor: string
  /** Every etcd event, in order. */
  readonly historyLines: () => readonly HistoryLine[]
  /** The history as the changes that a source would report, one batch a revision. */
  readonly historyBatches: () => readonly HistoryBatch[]
  readonly exchanges: () => readonly Exchange[]
  readonly watches: () => readonly RecordedWatch[]
  readonly meta: () => GoldenMeta
}

/** The data stays with the sources; this file runs from `dist/test/golden`. */
const dataFolder = new URL('../../../test/golden/data/', import.meta.url)

/** One of `data/`, by the name of its folder. */
export function recordingOf(minor: string): Recording {
  return recordingIn(new URL(`${minor}/`, dataFolder), minor)
}

/** One in any folder, whose URL ends with a slash. */
export function recordingIn(folder: URL, minor: string): Recording {
  const rows = <T>(name: string): T[] => readLines<T>(new URL(`${name}.jsonl.gz`, folder))
  const historyLines = once(() => rows<HistoryLine>('history'))
  return {
    minor,
    historyLines,
    historyBatches: once(() => batchesOf(historyLines())),
    exchanges: once(() => rows<Exchange>('exchanges')),
    watches: once(() => rows<RecordedWatch>('watches')),
    meta: once(() => JSON.parse(readFileSync(new URL('meta.json', folder), 'utf8')) as GoldenMeta),
  }
}

/** The recording that has everything: all kinds of requests, writes among them. */
export const golden: Recording = recordingOf('1.36')
export const historyLines: Recording['historyLines'] = golden.historyLines
export const historyBatches: Recording['historyBatches'] = golden.historyBatches
export const exchanges: Recording['exchanges'] = golden.exchanges
export const watches: Recording['watches'] = golden.watches
export const meta: Recording['meta'] = golden.meta

function batchesOf(lines: readonly HistoryLine[]): HistoryBatch[] {
  const slab = new SlabWriter()
  const batches: { revision: Revision; changes: Change[] }[] = []
  for (const line of lines) {
    let batch = batches.at(-1)
    if (batch?.revision !== line.rev) {
      batch = { revision: revision(line.rev), changes: [] }
      batches.push(batch)
    }
    batch.changes.push(changeFromLine(line, slab))
  }
  return batches
}

/** The contents of etcd at `at`: key to entry, in no order. Builds a new map: hold on to it in
 *  loops. */
export function entriesAt(at: number): Map<Key, KeyValue> {
  const entries = new Map<Key, KeyValue>()
  for (const batch of historyBatches()) {
    if (batch.revision > at) break
    for (const change of batch.changes) {
      if (change.type === 'put') entries.set(change.entry.key, change.entry)
      else entries.delete(change.key)
    }
  }
  return entries
}

/** Every entry that was ever put under `key`, oldest first; `key` is text such as
 *  `/registry/pods/shop/web`. */
export function entriesOf(key: string): readonly KeyValue[] {
  return entriesByKey().get(key) ?? []
}

/** The entry that the put of `modRevision` left under `key`. */
export function entryAt(key: string, modRevision: number): KeyValue | undefined {
  return entriesOf(key).find(entry => entry.modRevision === modRevision)
}

const entriesByKey = once(() => {
  const entries = new Map<string, KeyValue[]>()
  for (const { changes } of historyBatches()) {
    for (const change of changes) {
      if (change.type !== 'put') continue
      const key = textFromKey(change.entry.key)
      const list = entries.get(key)
      if (list === undefined) entries.set(key, [change.entry])
      else list.push(change.entry)
    }
  }
  return entries
})

function changeFromLine(line: HistoryLine, slab: SlabWriter): Change {
  const key = keyFromText(line.key)
  if (line.type === 'delete') return { type: 'delete', key }
  const meta = {
    createRevision: revision(line.create_revision ?? 0),
    modRevision: revision(line.mod_revision ?? 0),
    version: line.version ?? 0,
    lease: BigInt(line.lease ?? '0'),
  }
  const value = slab.copy(Buffer.from(line.value ?? '', 'base64'))
  return { type: 'put', entry: new KeyValue(key, value, meta) }
}

function readLines<T>(file: URL): T[] {
  const text = gunzipSync(readFileSync(file)).toString('utf8')
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as T)
}

function once<T>(load: () => T): () => T {
  let loaded: { readonly value: T } | undefined
  return () => (loaded ??= { value: load() }).value
}
