/** The cost of a write on the processor, beside a transaction that compares the revision and puts
 *  the same bytes. Both take turns on one engine in this process. */

import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { type Key, keyFromText, singleKey } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import type { Revision } from '../../lib/base/revision.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { createWriteServices } from '../../lib/simulator/write-side.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { parseQuery, type Verb } from '../../lib/kube/request/request.ts'
import { runWrite } from '../../lib/writes/operations/run-write.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import {
  type Asking,
  namespaceKey,
  sessionsOver,
} from '../../test/support/kube/writes/memory-store.ts'
import { type BenchTable, type Floor, median } from '../bench.ts'
import { samples, type Sample } from './samples.ts'

interface Step {
  readonly name: string
  readonly verb: Verb
  readonly type?: string
  readonly query?: string
  body(sample: Sample, name: string): object
}

const steps: readonly Step[] = [
  { name: 'create', verb: 'create', body: (sample, name) => sample.object(name, '1') },
  { name: 'update', verb: 'update', body: (sample, name) => sample.object(name, '2') },
  {
    name: 'merge patch',
    verb: 'patch',
    type: 'application/merge-patch+json',
    body: sample => sample.patch('3'),
  },
  {
    name: 'strategic merge patch',
    verb: 'patch',
    type: 'application/strategic-merge-patch+json',
    body: sample => sample.patch('4'),
  },
  {
    name: 'apply',
    verb: 'patch',
    type: 'application/apply-patch+yaml',
    query: 'fieldManager=bench&force=true',
    body: (sample, name) => sample.object(name, '5'),
  },
]

/** The least share of the bare transactions a second that each kind of step must reach, over all
 *  kinds of objects. */
const leastShare = 0.006

interface Row {
  readonly kind: string
  readonly step: string
  readonly bytes: number
  readonly perSecond: number
  readonly barePerSecond: number
}

export async function measureCosts(
  rounds: number,
  objects: number,
): Promise<{
  readonly table: BenchTable
  readonly floors: readonly Floor[]
  readonly hash: string
}> {
  const hash = createHash('sha256')
  const rows: Row[] = []
  const stage = await Stage.start()
  for (const sample of samples) {
    const found = new Map<Step, { readonly bytes: number[]; ours: number[]; bare: number[] }>()
    // The first round is to warm up.
    for (let round = 0; round <= rounds; round++) {
      const names = Array.from(
        { length: objects },
        (_, index) => `${sample.name}-${round}-${index}`,
      )
      for (const step of steps) {
        const ours = await stage.write(sample, step, names)
        const { seconds, bytes } = await stage.putBare(sample, names)
        if (round === 0) continue
        const of = found.get(step) ?? { bytes: [], ours: [], bare: [] }
        found.set(step, of)
        of.ours.push(objects / ours)
        of.bare.push(objects / seconds)
        of.bytes.push(bytes / objects)
      }
      await stage.clear(sample, names, round === rounds ? data => hash.update(data) : undefined)
    }
    for (const [step, { bytes, ours, bare }] of found) {
      rows.push({
        kind: sample.kind,
        step: step.name,
        bytes: Math.round(median(bytes)),
        perSecond: median(ours),
        barePerSecond: median(bare),
      })
    }
  }
  stage.close()
  return { table: tableOf(rows), floors: floorsOf(rows), hash: hash.digest('hex').slice(0, 16) }
}

function tableOf(rows: readonly Row[]): BenchTable {
  return {
    title: 'Writes a second of the processor, without HTTP',
    columns: ['object', 'write', 'stored bytes', 'writes/s', 'bare transactions/s', 'share'],
    rows: rows.map(({ kind, step, bytes, perSecond, barePerSecond }) => [
      kind,
      step,
      bytes,
      Math.round(perSecond),
      Math.round(barePerSecond),
      Number((perSecond / barePerSecond).toFixed(3)),
    ]),
  }
}

function floorsOf(rows: readonly Row[]): Floor[] {
  return steps.map(({ name }) => {
    const shares = rows
      .filter(({ step }) => step === name)
      .map(({ perSecond, barePerSecond }) => perSecond / barePerSecond)
    return {
      name: `${name}: share of bare transactions`,
      value: Math.min(...shares),
      bound: 'at least',
      limit: leastShare,
      unit: '',
    }
  })
}

/** An engine with a namespace, and who writes to it. */
class Stage {
  readonly #engine: Engine
  readonly #client: Client
  readonly #sessionOf: ReturnType<typeof sessionsOver>

  static async start(): Promise<Stage> {
    const scheduler = createDirectScheduler()
    const random = createRandom(1)
    const engine = new Engine({ clock: systemClock, random, scheduler })
    const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
    const namespace = protobufFromJson(
      Buffer.from(
        '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ns"},"status":{"phase":"Active"}}',
      ),
    ) as Uint8Array
    await put(client, namespaceKey, 0 as Revision, namespace)
    return new Stage(engine, client)
  }

  private constructor(engine: Engine, client: Client) {
    this.#engine = engine
    this.#client = client
    const clock = { ...systemClock, wallMs: () => Date.parse('2026-01-01T00:00:00Z') }
    const generated = {
      uid: () => '00000000-0000-0000-0000-000000000000',
      nameSuffix: () => 'abcde',
      allocator: { address: () => '10.0.0.1', port: () => 30_000 },
    }
    this.#sessionOf = sessionsOver(createWriteServices({ client, generated }, clock))
  }

  close(): void {
    this.#engine.close()
  }

  /** Seconds of the processor. */
  async write(sample: Sample, step: Step, names: readonly string[]): Promise<number> {
    const { verb, type } = step
    const bodies = names.map(name => Buffer.from(JSON.stringify(step.body(sample, name))))
    const query = parseQuery(step.query ?? '')
    return await secondsOf(names, async (name, index) => {
      const asking: Asking = { ...sample.of, name: verb === 'create' ? '' : name }
      await runWrite(this.#sessionOf(asking), {
        verb,
        query,
        contentType: type,
        readBody: async () => bodies[index]!,
      })
    })
  }

  /** The same bytes under other keys, by bare transactions. */
  async putBare(
    sample: Sample,
    names: readonly string[],
  ): Promise<{ readonly seconds: number; readonly bytes: number }> {
    const values: Uint8Array[] = []
    const revisions: Revision[] = []
    for (const name of names) {
      const written = await this.#entry(keyOf(sample, name))
      const bare = await this.#entry(bareKey(name))
      values.push(written!.value)
      revisions.push(bare?.modRevision ?? (0 as Revision))
    }
    const seconds = await secondsOf(names, async (name, index) => {
      await put(this.#client, bareKey(name), revisions[index]!, values[index]!)
    })
    return { seconds, bytes: values.reduce((sum, { length }) => sum + length, 0) }
  }

  async clear(
    sample: Sample,
    names: readonly string[],
    see: ((data: Uint8Array) => void) | undefined,
  ): Promise<void> {
    for (const name of names) {
      const entry = await this.#entry(keyOf(sample, name))
      see?.(entry!.value)
      for (const key of [keyOf(sample, name), bareKey(name)]) {
        await remove(this.#client, key)
      }
    }
  }

  async #entry(key: Key): Promise<KeyValue | undefined> {
    const { entries } = await this.#client.range({ range: singleKey(key) })
    return entries[0]
  }
}

/** A transaction that compares the revision. */
async function put(client: Client, key: Key, expected: Revision, value: Uint8Array): Promise<void> {
  const { succeeded } = await client.txn({
    compares: [{ key, target: 'modRevision', result: 'equal', value: expected }],
    success: [{ type: 'put', key, value, lease: 0n }],
    failure: [{ type: 'range', request: { range: singleKey(key) } }],
  })
  if (!succeeded) throw new Error('a transaction failed')
}

async function remove(client: Client, key: Key): Promise<void> {
  const range = singleKey(key)
  await client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
}

function keyOf(sample: Sample, name: string): Key {
  return keyFromText(`${sample.keyspace}${name}`)
}

function bareKey(name: string): Key {
  return keyFromText(`/bare/${name}`)
}

/** Seconds of the processor that it takes for all names, one after the other. */
async function secondsOf(
  names: readonly string[],
  each: (name: string, index: number) => Promise<void>,
): Promise<number> {
  await setImmediate()
  const before = process.cpuUsage()
  for (const [index, name] of names.entries()) await each(name, index)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}
