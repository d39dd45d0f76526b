/** The cost of admission on the processor: creates under policies beside creates without, and rules
 *  of CEL on small objects. */

import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { allKeys, type Key, keyFromText, singleKey } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import type { Revision } from '../../lib/base/revision.ts'
import { ruleLanguage } from '../../lib/writes/custom/cel/language.ts'
import { freeValue } from '../../lib/cel/schema/data.ts'
import { dynType } from '../../lib/cel/types.ts'
import { createWriteServices } from '../../lib/simulator/write-side.ts'
import { runWrite } from '../../lib/writes/operations/run-write.ts'
import { parseTree } from '../../lib/go/json/tree.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { namespaceKey, sessionsOver } from '../../test/support/kube/writes/memory-store.ts'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
} from '../bench.ts'
import { samples, type Sample } from '../write/samples.ts'

const sizes = {
  small: { rounds: 1, objects: 10, runs: 100 },
  full: { rounds: 11, objects: 250, runs: 10_000 },
}

export const admissionBench: Bench = {
  name: 'admission',
  summary: 'creates under ten policies of three rules each, and rules on small objects',
  async run({ size, progress }: BenchOptions): Promise<BenchResult> {
    const { rounds, objects, runs } = sizes[size]
    progress('admission: policies')
    const policies = await measurePolicies(rounds, objects)
    progress('admission: rules')
    const rules = measureRules(rounds, runs)
    return {
      tables: [policies.table, rules.table],
      floors: [...policies.floors, rules.floor],
      resultHash: policies.hash,
    }
  },
}

const policyCount = 10
/** The three rules of each policy: what people ask of names, labels and fields. */
const validations = [
  "object.metadata.name.matches('^[a-z0-9-]+$')",
  'has(object.metadata.labels) && object.metadata.labels.all(key, size(key) < 64)',
  "request.operation != 'CREATE' || !has(object.metadata.annotations) || size(object.metadata.annotations) < 100",
]

interface Costs {
  readonly table: BenchTable
  readonly floors: readonly Floor[]
  readonly hash: string
}

async function measurePolicies(rounds: number, objects: number): Promise<Costs> {
  const hash = createHash('sha256')
  const [plain, bound] = [await Stage.start(0), await Stage.start(policyCount)]
  const rows: (readonly [kind: string, plainUs: number, boundUs: number, ratio: number])[] = []
  for (const sample of samples) {
    const [without, under, ratios]: [number[], number[], number[]] = [[], [], []]
    // The first rounds are to warm up: compiling takes longer than the work.
    for (let round = -3; round <= rounds; round++) {
      const names = Array.from({ length: objects }, (_, i) => `${sample.name}-${round + 3}-${i}`)
      const stages = round % 2 === 0 ? [plain, bound] : [bound, plain]
      const took = new Map<Stage, number>()
      for (const stage of stages) took.set(stage, await stage.create(sample, names))
      if (round <= 0) continue
      const [one, other] = [took.get(plain) ?? 0, took.get(bound) ?? 0]
      without.push((one / objects) * 1e6)
      under.push((other / objects) * 1e6)
      ratios.push(other / one)
    }
    hash.update(await bound.stored(sample))
    rows.push([sample.kind, median(without), median(under), median(ratios)])
  }
  plain.close()
  bound.close()
  return {
    table: {
      title: `Creates under ${policyCount} policies of ${validations.length} rules, in µs of the processor`,
      columns: ['object', 'without policies', 'with policies', 'ratio'],
      rows: rows.map(([kind, one, other, ratio]) => [
        kind,
        Math.round(one),
        Math.round(other),
        Number(ratio.toFixed(2)),
      ]),
    },
    floors: rows.map(([kind, , , ratio]) => ({
      name: `${kind}: a create under ${policyCount} policies beside one without`,
      value: ratio,
      bound: 'at most',
      limit: 1.5,
      unit: '',
    })),
    hash: hash.digest('hex').slice(0, 16),
  }
}

/** Rules as definitions have them, on an object of ten fields. */
const rules = [
  'self.replicas <= self.maxReplicas',
  "self.name.startsWith('app-') && self.mode in ['a', 'b', 'c']",
  "!has(self.tls) || (has(self.tls.secret) && self.tls.secret != '')",
  'self.ports.all(port, port > 0 && port < 65536)',
  "self.hosts.exists_one(host, host == 'a.example.com')",
  "self.size.matches('^[0-9]+(Gi|Mi)$')",
]

const small = {
  name: 'app-one',
  mode: 'b',
  replicas: 3,
  maxReplicas: 10,
  size: '20Gi',
  ports: [80, 443, 8080],
  hosts: ['a.example.com', 'b.example.com'],
  tls: { secret: 'certificate' },
}

function measureRules(rounds: number, runs: number): { table: BenchTable; floor: Floor } {
  const text = Buffer.from(JSON.stringify(small))
  const self = freeValue(parseTree(text, 0, text.length) ?? null)
  const measured = rules.map(rule => {
    const { expression, problems } = ruleLanguage().compile(rule, new Map([['self', dynType]]))
    if (expression === undefined) throw new Error(problems)
    const took: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const { user, system } = process.cpuUsage()
      for (let i = 0; i < runs; i++) {
        if (expression.run([self], 1_000_000).value !== true) throw new Error(`${rule} is false`)
      }
      const after = process.cpuUsage()
      if (round > 0) took.push((after.user + after.system - user - system) / runs)
    }
    return [rule, median(took)] as const
  })
  return {
    table: {
      title: 'Runs of compiled rules on a small object, in µs of the processor',
      columns: ['rule', 'µs'],
      rows: measured.map(([rule, us]) => [rule, Number(us.toFixed(2))]),
    },
    floor: {
      name: 'a compiled rule on a small object',
      value: Math.max(...measured.map(([, us]) => us)),
      bound: 'at most',
      limit: 5,
      unit: 'µs',
    },
  }
}

/** An engine with a namespace and policies, which are mirrored, and who creates in it. */
class Stage {
  readonly #engine: Engine
  readonly #client: Client
  readonly #sessionOf: ReturnType<typeof sessionsOver>
  readonly #mirrors = new Map<Key, Keyspace>()

  static async start(policies: number): Promise<Stage> {
    const scheduler = createDirectScheduler()
    const random = createRandom(1)
    const engine = new Engine({ clock: systemClock, random, scheduler })
    const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
    const namespace = protobufFromJson(
      Buffer.from(
        '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"ns"},"status":{"phase":"Active"}}',
      ),
    ) as Uint8Array
    await client.txn({
      compares: [],
      success: [{ type: 'put', key: namespaceKey, value: namespace, lease: 0n }],
      failure: [],
    })
    const stage = new Stage(engine, client)
    for (let i = 0; i < policies; i++) await stage.#bind(`policy-${i}`)
    await stage.#mirror()
    return stage
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
    const storeOf = (keyspace: Key): Keyspace => this.#mirrorOf(keyspace)
    this.#sessionOf = sessionsOver(createWriteServices({ client, generated, storeOf }, clock))
  }

  close(): void {
    this.#engine.close()
  }

  /** Seconds of the processor. */
  async create(sample: Sample, names: readonly string[]): Promise<number> {
    const bodies = names.map(name => Buffer.from(JSON.stringify(sample.object(name, '1'))))
    await setImmediate()
    const before = process.cpuUsage()
    for (const body of bodies) await this.#create(sample.of, body)
    const { user, system } = process.cpuUsage(before)
    for (const name of names) {
      const range = singleKey(keyFromText(`${sample.keyspace}${name}`))
      if (name !== names[0]) {
        await this.#client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
      }
    }
    return (user + system) / 1e6
  }

  /** The bytes of the objects that are left. */
  async stored(sample: Sample): Promise<Uint8Array> {
    const { entries } = await this.#client.range({ range: allKeys })
    const own = entries.filter(({ key }) => key.startsWith(keyFromText(sample.keyspace)))
    return Buffer.concat(own.map(({ value }) => value))
  }

  async #create(of: Sample['of'], body: Uint8Array): Promise<void> {
    await runWrite(this.#sessionOf({ ...of, name: '' }), {
      verb: 'create',
      query: parseQuery(''),
      contentType: undefined,
      readBody: async () => body,
    })
  }

  async #bind(name: string): Promise<void> {
    const group = 'admissionregistration.k8s.io'
    const everything = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*'] }
    const make = (resource: string, spec: object): Promise<void> =>
      this.#create(
        { group, version: 'v1', resource },
        Buffer.from(JSON.stringify({ metadata: { name }, spec })),
      )
    await make('validatingadmissionpolicies', {
      failurePolicy: 'Fail',
      matchConstraints: { resourceRules: [everything] },
      validations: validations.map(expression => ({ expression })),
    })
    const spec = { policyName: name, validationActions: ['Deny'] }
    await make('validatingadmissionpolicybindings', spec)
  }

  /** The contents of now: what is created later is not looked at. */
  async #mirror(): Promise<void> {
    const { entries, header } = await this.#client.range({ range: allKeys })
    this.#contents = { entries, revision: header.revision }
    this.#mirrors.clear()
  }

  #contents: Contents = { entries: [], revision: 1 as Revision }

  #mirrorOf(prefix: Key): Keyspace {
    const known = this.#mirrors.get(prefix)
    if (known !== undefined) return known
    const made = new Keyspace({ maxBatches: 1, maxAgeMs: Infinity, maxBytes: Infinity })
    const { entries, revision } = this.#contents
    made.restore(
      entries.filter(({ key }) => key.startsWith(prefix)),
      revision,
    )
    this.#mirrors.set(prefix, made)
    return made
  }
}

type Contents = Pick<Awaited<ReturnType<Client['range']>>, 'entries'> & {
  readonly revision: Revision
}
