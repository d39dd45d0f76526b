/** Rows of Tables and metadata of objects from stored bytes, compared with JSON.parse of the same
 *  objects and building the same answer, as a server would that keeps objects as JSON. */

import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { deepStrictEqual } from 'node:assert'
import { createHash } from 'node:crypto'
import { revision } from '../../lib/base/revision.ts'
import { type OutputForm, ObjectEncoder } from '../../lib/codec/output/object-encoder.ts'
import { listBody } from '../../lib/codec/output/list-body.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import type { OutputKind } from '../../lib/codec/output-kind.ts'
import { humanDuration } from '../../lib/codec/table/format.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode/transcode.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { SlabWriter } from '../../lib/store/slab.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import { type Bench, type BenchOptions, type BenchResult, median } from '../bench.ts'
import { storedPods } from './pods.ts'

export const outputs: Bench = {
  name: 'outputs',
  summary: 'rows of Tables and metadata from stored bytes, against JSON.parse',
  run: measureOutputs,
}

const pods: OutputKind = {
  schema: schemaOf(),
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  listKind: 'PodList',
  storage: { group: '', version: 'v1', kind: 'Pod', encoding: 'protobuf', conversion: 'same' },
}
const now = Date.UTC(2026, 11, 1)
const table: OutputForm = {
  encoding: 'json',
  rendering: 'Table',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
  now,
}
const cellsOnly: OutputForm = { ...table, includeObject: 'None' }
const metadata: OutputForm = { ...table, rendering: 'PartialObjectMetadataList' }
const metadataProtobuf: OutputForm = { ...metadata, encoding: 'protobuf' }
const whole: OutputForm = { ...table, rendering: 'object' }

/** The part of a pod that a program reads from JSON.parse. */
interface ParsedPod {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string }
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly object[]
    readonly readinessGates?: readonly object[]
  }
  readonly status: {
    readonly phase: string
    readonly podIPs?: readonly { readonly ip: string }[]
    readonly nominatedNodeName?: string
    readonly containerStatuses?: readonly {
      readonly ready: boolean
      readonly restartCount: number
      readonly state: { readonly running?: object }
      readonly lastState: { readonly terminated?: { readonly finishedAt: string } }
    }[]
  }
}

async function measureOutputs({ size, progress }: BenchOptions): Promise<BenchResult> {
  const count = size === 'full' ? 5000 : 50
  const rounds = size === 'full' ? 15 : 1
  const entries = storedEntries(count)
  const texts = entries.map(({ bytes, start, end }) => {
    const json = jsonFromProtobuf(bytes, start, end)
    if (json instanceof NotExact) throw new Error(json.reason)
    return Buffer.from(json)
  })
  const encoder = new ObjectEncoder(pods, undefined)
  const hash = createHash('sha256')
  const rows: (string | number)[][] = []
  const ratios = new Map<string, number>()
  for (const { name, ours, theirs } of comparisons(encoder, entries, texts)) {
    progress(name)
    const [mine, other] = alternate(rounds, [ours, theirs])
    hash.update(name).update(checked(ours(), theirs()))
    const ratio = median(other) / median(mine)
    ratios.set(name, ratio)
    const perSecond = (times: readonly number[]): number =>
      Math.round(count / (median(times) / 1000))
    rows.push([name, perSecond(mine), perSecond(other), ratio.toFixed(2)])
  }
  return {
    tables: [
      {
        title: `${count} pods`,
        columns: ['answer', 'objects/s from stored bytes', 'objects/s by JSON.parse', 'ratio'],
        rows,
      },
    ],
    floors: ['Table', 'metadata as JSON', 'metadata as protobuf'].map(name => ({
      name: `${name} against JSON.parse`,
      value: ratios.get(name) ?? 0,
      bound: 'at least',
      limit: 3,
      unit: 'times',
    })),
    resultHash: hash.digest('hex'),
  }
}

/** Both say the same of every object: what stands in the lists is compared item by item. */
function checked(ours: Uint8Array, theirs: Uint8Array): Uint8Array {
  if (ours[0] !== 0x7b) return ours
  const mine = JSON.parse(Buffer.from(ours).toString()) as { items?: unknown[]; rows?: unknown[] }
  const other = JSON.parse(Buffer.from(theirs).toString()) as unknown[]
  const items = mine.items ?? mine.rows ?? []
  for (const [i, item] of items.entries()) {
    deepStrictEqual(withoutRevision(item), withoutRevision(other[i]))
  }
  return ours
}

/** The stored objects have none, and each gets its own. */
function withoutRevision(item: unknown): unknown {
  const text = JSON.stringify(item)
    .replace(/"resourceVersion":"\d+",?/, '')
    .replace(/,\}/g, '}')
  return JSON.parse(text)
}

interface Comparison {
  readonly name: string
  readonly ours: () => Uint8Array
  readonly theirs: () => Uint8Array
}

function comparisons(
  encoder: ObjectEncoder,
  entries: readonly KeyValue[],
  texts: readonly Buffer[],
): Comparison[] {
  const ours = (form: OutputForm) => () => bodyOf(encoder, entries, form)
  const fromJson = (build: (pod: ParsedPod) => unknown) => () =>
    Buffer.from(JSON.stringify(texts.map(text => build(JSON.parse(text.toString()) as ParsedPod))))
  const partial = (pod: ParsedPod): object => ({
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { ...pod.metadata, resourceVersion: '12345' },
  })
  return [
    {
      name: 'Table',
      ours: ours(table),
      theirs: fromJson(pod => ({ cells: cellsOf(pod), object: partial(pod) })),
    },
    {
      name: 'Table without objects',
      ours: ours(cellsOnly),
      theirs: fromJson(pod => ({ cells: cellsOf(pod), object: null })),
    },
    { name: 'metadata as JSON', ours: ours(metadata), theirs: fromJson(partial) },
    { name: 'metadata as protobuf', ours: ours(metadataProtobuf), theirs: fromJson(partial) },
    {
      name: 'whole objects as JSON',
      ours: ours(whole),
      theirs: fromJson(({ metadata: own, spec, status }) => ({
        metadata: { ...own, resourceVersion: '12345' },
        spec,
        status,
      })),
    },
  ]
}

/** The cells of pods that run, which is what these do: less than the server looks at, so in favour
 *  of this side. */
function cellsOf({ metadata: { name, creationTimestamp }, spec, status }: ParsedPod): unknown[] {
  let ready = 0
  let restarts = 0
  let last = 0
  for (const container of status.containerStatuses ?? []) {
    restarts += container.restartCount
    const finishedAt = container.lastState.terminated?.finishedAt
    if (finishedAt !== undefined) last = Math.max(last, Date.parse(finishedAt))
    if (container.ready && container.state.running !== undefined) ready++
  }
  const ago = restarts > 0 && last > 0 ? ` (${humanDuration(now - last)} ago)` : ''
  return [
    name,
    `${ready}/${spec.containers.length}`,
    status.phase,
    `${restarts}${ago}`,
    humanDuration(now - Date.parse(creationTimestamp)),
    status.podIPs?.[0]?.ip ?? '<none>',
    spec.nodeName ?? '<none>',
    status.nominatedNodeName ?? '<none>',
    spec.readinessGates === undefined ? '<none>' : '0/0',
  ]
}

function bodyOf(
  encoder: ObjectEncoder,
  entries: readonly KeyValue[],
  form: OutputForm,
): Uint8Array {
  const pieces: Uint8Array[] = []
  const runs = []
  // As in a tree: no more than 32 to a leaf.
  for (let from = 0; from < entries.length; from += 32) {
    runs.push({ entries, from, to: Math.min(entries.length, from + 32), leaf: undefined })
  }
  const body = listBody(encoder, { form, isPretty: false, meta: { resourceVersion: '1' }, runs })
  for (;;) {
    const next = body.next()
    if (next.done === true) break
    pieces.push(next.value)
  }
  return Buffer.concat(pieces)
}

/** The times of each way in milliseconds, taken in turns, after one turn that does not count. */
function alternate(
  rounds: number,
  [a, b]: readonly [() => unknown, () => unknown],
): [number[], number[]] {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    for (const [i, way] of [a, b].entries()) {
      // Neither pays for what the other left behind.
      globalThis.gc?.()
      const start = performance.now()
      way()
      if (round > 0) times[i]?.push(performance.now() - start)
    }
  }
  if (rounds === 0) return [[1], [1]]
  return times
}

function storedEntries(count: number): KeyValue[] {
  const slab = new SlabWriter()
  return storedPods(count, 1).map((value, i) => {
    const at = revision(i + 1)
    return new KeyValue(keyFromText(`/registry/pods/team/${i}`), slab.copy(value), {
      createRevision: at,
      modRevision: at,
      version: 1,
      lease: noLease,
    })
  })
}
