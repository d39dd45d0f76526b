/** The cost of the codec on pods as large as real ones, each figure compared with what a program
 *  would do without it, measured in turns in one run; and the first list of 10,000 pods in a new
 *  process. */

import { createHash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { ByteWriter } from '../../lib/base/bytes/byte-writer.ts'
import { CustomKind } from '../../lib/codec/served/custom/custom.ts'
import { readEnvelope } from '../../lib/codec/transcode/envelope.ts'
import { compileFields } from '../../lib/codec/fields/reader.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import type { StoredValue } from '../../lib/codec/stored-value.ts'
import { appendProtobufView } from '../../lib/codec/served/protobuf.ts'
import {
  appendJson,
  appendProtobuf,
  jsonFromProtobuf,
} from '../../lib/codec/transcode/transcode.ts'
import { appendView } from '../../lib/codec/served/view.ts'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  median,
} from '../bench.ts'
import type { ColdList } from './cold-list.ts'
import { customObjects, structuralOf } from './custom-objects.ts'
import { storedPods } from './pods.ts'
import { protobufjsType } from './protobufjs.ts'

export const codecBench: Bench = {
  name: 'codec',
  summary: 'protobuf and JSON both ways, fields, splicing, and a first list, on realistic pods',
  run: measureCodec,
}

/** One way to do something to the object with this index; answers a number that depends on what it
 *  did. */
type Work = (index: number) => number

interface Contest {
  readonly name: string
  readonly ours: Work
  readonly theirs: Work
  readonly theirName: string
  /** The least that theirs must take, in times of ours; 0 where no floor is set. */
  readonly floor: number
}

async function measureCodec(options: BenchOptions): Promise<BenchResult> {
  const isFull = options.size === 'full'
  const seed = 1
  options.progress('making pods')
  const pods = storedPods(isFull ? 1000 : 40, seed)
  const contests = [...podContests(pods), ...spliceContests(pods)]
  const hash = createHash('sha256')
  const rows: (string | number)[][] = []
  const floors: BenchResult['floors'][number][] = []
  for (const contest of contests) {
    options.progress(contest.name)
    const { ours, theirs, ratio } = compete(contest, pods.length, isFull ? 400 : 3)
    rows.push([contest.name, ours, contest.theirName, theirs, ratio])
    if (contest.floor > 0) {
      floors.push({
        name: `${contest.name}, against ${contest.theirName}`,
        value: ratio,
        bound: 'at least',
        limit: contest.floor,
        unit: 'times',
      })
    }
    hash.update(String(contest.ours(0)))
  }
  options.progress('a first list')
  const cold = await measureColdLists(isFull ? 5 : 1, isFull ? 10_000 : 200)
  floors.push({
    name: 'a first list of 10,000 pods: longest slice',
    value: cold.longestMs,
    bound: 'at most',
    limit: 10,
    unit: 'ms',
  })
  return {
    tables: [
      {
        title: `Pods of ${mean(pods)} bytes as protobuf, ${mean(pods.map(jsonOf))} as JSON: microseconds for each`,
        columns: ['', 'ours', '', 'theirs', 'times'],
        rows,
      },
      cold.table,
    ],
    floors,
    resultHash: hash.digest('hex').slice(0, 16),
  }
}

function podContests(pods: readonly Uint8Array[]): Contest[] {
  const out = new ByteWriter()
  const pod = (index: number): Uint8Array => pods[index] as Uint8Array
  const type = protobufjsType('core/v1.Pod')
  const decode = (index: number): unknown => {
    const envelope = readEnvelope(pod(index), 0, pod(index).length)
    if (envelope instanceof NotExact) throw new Error(envelope.reason)
    return type.decode(pod(index).subarray(envelope.rawStart, envelope.rawEnd))
  }
  const decodeAndStringify = (index: number): number => JSON.stringify(decode(index)).length
  const written = (refused: NotExact | undefined): number => {
    if (refused !== undefined) throw new Error(refused.reason)
    return out.length
  }
  const view = { schema: schemaOf(), resourceVersion: '123456' }
  const stored = (index: number): StoredValue => ({
    bytes: pod(index),
    start: 0,
    end: pod(index).length,
  })
  const begin = (): ByteWriter => {
    out.clear()
    return out
  }
  const texts = pods.map(jsonOf).map(bytes => ({ bytes, start: 0, end: bytes.length }))
  // protobufjs has a JSON of its own: Kubernetes' forms of times and quantities are not in it.
  const theirTexts = pods.map((_, i) => JSON.stringify(decode(i)))
  const fields = compileFields('core/v1.Pod', { labels: 'metadata.labels' })
  const label = Buffer.from('app')
  const peer = { theirName: 'protobufjs decode + JSON.stringify', theirs: decodeAndStringify }
  return [
    {
      name: 'protobuf to JSON',
      ours: i => written(appendJson(begin(), stored(i), schemaOf())),
      ...peer,
      floor: 3,
    },
    {
      name: 'protobuf to the JSON that is served',
      ours: i => written(appendView(begin(), stored(i), view)),
      ...peer,
      floor: 0,
    },
    {
      name: 'protobuf to the protobuf that is served',
      ours: i => written(appendProtobufView(begin(), stored(i), view)),
      theirName: 'protobufjs decode',
      theirs: i => String(decode(i)).length,
      floor: 0,
    },
    {
      name: 'a label',
      ours: i => {
        fields.readStored(pod(i), 0, pod(i).length)
        return fields.mapText(fields.slot.labels, label)?.length ?? 0
      },
      theirName: 'protobufjs decode',
      theirs: i =>
        (decode(i) as { metadata: { labels: Record<string, string> } }).metadata.labels['app']
          ?.length ?? 0,
      floor: 10,
    },
    {
      name: 'JSON to protobuf',
      ours: i => written(appendProtobuf(begin(), texts[i] as StoredValue, schemaOf())),
      theirName: 'JSON.parse + protobufjs encode',
      theirs: i =>
        type.encode(type.fromObject(JSON.parse(theirTexts[i] ?? '') as object)).finish().length,
      floor: 0,
    },
  ]
}

/** Custom resources: with a definition that preserves what it does not know, and with one that
 *  declares all that they hold, so that every member is looked at. */
function spliceContests(pods: readonly Uint8Array[]): Contest[] {
  const out = new ByteWriter()
  const objects = customObjects(pods.map(jsonOf))
  const options = { version: 'v1', resourceVersion: '123456' }
  const contestOf = (name: string, schema: object, floor: number): Contest => {
    const custom = new CustomKind({
      group: 'example.com',
      kind: 'Workload',
      versions: [{ name: 'v1', schema }],
      preservesUnknownFields: false,
      conversion: 'none',
    })
    return {
      name,
      ours: i => {
        out.clear()
        const bytes = objects[i] as Uint8Array
        const refused = custom.append(out, { bytes, start: 0, end: bytes.length }, options)
        if (refused !== undefined) throw new Error(refused.reason)
        return out.length
      },
      theirName: 'JSON.parse + JSON.stringify',
      theirs: i => {
        const text = Buffer.from(objects[i] as Uint8Array).toString()
        const object = JSON.parse(text) as { metadata: { resourceVersion: string } }
        object.metadata.resourceVersion = '123456'
        return JSON.stringify(object).length
      },
      floor,
    }
  }
  const preserved = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const loose = { type: 'object', properties: { spec: preserved, status: preserved } }
  return [
    contestOf('JSON, resourceVersion put in', loose, 6),
    contestOf('the same, all members declared', structuralOf(objects), 0),
  ]
}

/** Lets both do a few objects in turns, many times, so that whatever else the machine does hits
 *  both alike, and most turns not at all. The first turns, in which the engine is still compiling,
 *  do not count; they tell how often the faster one repeats its turn, so that both take about as
 *  long. */
function compete(
  { ours, theirs }: Contest,
  objects: number,
  turns: number,
): { ours: number; theirs: number; ratio: number } {
  const warmUp = Math.ceil(turns / 5)
  const times: { ours: number; theirs: number }[] = []
  let repeats = 1
  for (let turn = -warmUp; turn < turns; turn++) {
    const first = (Math.abs(turn) * turnObjects) % objects
    const range = { first, end: Math.min(objects, first + turnObjects) }
    const measured = { ours: timed(ours, range, repeats), theirs: timed(theirs, range, 1) }
    if (turn >= 0) times.push(measured)
    else repeats = Math.min(50, Math.max(1, Math.round(measured.theirs / measured.ours)))
  }
  return {
    ours: median(times.map(time => time.ours)),
    theirs: median(times.map(time => time.theirs)),
    ratio: median(times.map(time => time.theirs / time.ours)),
  }
}

const turnObjects = 40

/** Microseconds for each object. */
function timed(
  work: Work,
  { first, end }: { readonly first: number; readonly end: number },
  repeats: number,
): number {
  const start = performance.now()
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (let i = first; i < end; i++) work(i)
  }
  return ((performance.now() - start) * 1000) / ((end - first) * repeats)
}

/** The first list in a thread of its own, which has compiled nothing yet, several times. */
async function measureColdLists(
  runs: number,
  pods: number,
): Promise<{ table: BenchTable; longestMs: number }> {
  const lists: ColdList[] = []
  for (let run = 0; run < runs; run++) {
    const worker = new Worker(new URL('./cold-list.js', import.meta.url), { workerData: { pods } })
    lists.push(
      await new Promise<ColdList>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      }),
    )
    await worker.terminate()
  }
  const longestMs = median(lists.map(({ slicesMs }) => Math.max(...slicesMs)))
  return {
    longestMs,
    table: {
      title: `First lists of ${pods} pods in fresh threads, in slices of 64 pods or 4 ms: milliseconds on the processor`,
      columns: ['', 'longest step of preparing', 'first slice', 'longest slice', 'all'],
      rows: lists.map(({ stepsMs, slicesMs }, i) => [
        `run ${i + 1}`,
        Math.max(...stepsMs),
        slicesMs[0] ?? 0,
        Math.max(...slicesMs),
        slicesMs.reduce((sum, time) => sum + time, 0),
      ]),
    },
  }
}

function jsonOf(pod: Uint8Array): Uint8Array {
  const json = jsonFromProtobuf(pod)
  if (json instanceof NotExact) throw new Error(json.reason)
  return json
}

function mean(values: readonly Uint8Array[]): string {
  const sum = values.reduce((total, { length }) => total + length, 0)
  return Math.round(sum / values.length).toLocaleString('en-US')
}
