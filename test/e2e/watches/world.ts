/** The writes while watches are judged, and the naive model of it: every change of every revision,
 *  before and after, and what a selector makes of it. */

import { type Key, keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import type { Client, Operation } from '../../../lib/etcd/client.ts'

/** A config map, as far as it matters here. */
export interface ModelObject {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** Tells every write from every other. */
  readonly serial: number
}

export interface ModelChange {
  readonly revision: number
  readonly key: string
  readonly before: ModelObject | undefined
  readonly after: ModelObject | undefined
}

export interface ToldChange {
  readonly type: string
  readonly key: string
  readonly revision: number
  readonly serial: number
}

/** A watch's request, and the objects that it selects. */
export interface ModelSelector {
  /** The path without the query. */
  readonly path: string
  /** Selector in the query; empty or `name=value`. */
  readonly query: string
  readonly selects: (object: ModelObject) => boolean
  /** Something that it selects. */
  readonly sample: Omit<ModelObject, 'serial'>
}

const namespaces = ['a', 'b', 'bb']
const names = ['k', 'l', 'm', 'm2', 'n', 'o']
const colors = ['red', 'green', 'blue']

interface Write {
  readonly revision: number
  readonly objects: ReadonlyMap<string, ModelObject | undefined>
}

export class WatchedWorld {
  readonly client: Client
  readonly #writes: Write[] = []
  #serial = 0

  constructor(client: Client) {
    this.client = client
  }

  /** Some objects are put or deleted, all at one revision, which is answered. */
  async write(random: Random): Promise<number> {
    const count = random.next() < 0.7 ? 1 : randomInt(random, 2, 4)
    const objects = new Map<string, ModelObject | undefined>()
    for (let i = 0; i < count; i++) {
      const object = this.#randomObject(random)
      const { namespace, name } = object
      objects.set(`${namespace}/${name}`, random.next() < 0.25 ? undefined : object)
    }
    return this.#commit(objects)
  }

  /** Puts one object. */
  put(object: Omit<ModelObject, 'serial'>): Promise<number> {
    const key = `${object.namespace}/${object.name}`
    return this.#commit(new Map([[key, { ...object, serial: ++this.#serial }]]))
  }

  /** Every change, in order. */
  changes(): ModelChange[] {
    const state = new Map<string, ModelObject>()
    const changes: ModelChange[] = []
    for (const { revision, objects } of this.#writes.toSorted((a, b) => a.revision - b.revision)) {
      for (const [key, after] of objects) {
        const before = state.get(key)
        if (before === undefined && after === undefined) continue
        changes.push({ revision, key, before, after })
        if (after === undefined) state.delete(key)
        else state.set(key, after)
      }
    }
    return changes
  }

  async #commit(objects: ReadonlyMap<string, ModelObject | undefined>): Promise<number> {
    const success = [...objects].map(([name, object]): Operation => {
      const key = keyOf(name)
      return object === undefined
        ? { type: 'delete', range: singleKey(key) }
        : { type: 'put', key, value: storedOf(object) }
    })
    const { header } = await this.client.txn({ compares: [], success, failure: [] })
    this.#writes.push({ revision: header.revision, objects })
    return header.revision
  }

  #randomObject(random: Random): ModelObject {
    const labels: Record<string, string> = {}
    if (random.next() < 0.8) labels['color'] = randomItem(random, colors)
    if (random.next() < 0.3) labels['big'] = 'yes'
    const namespace = randomItem(random, namespaces)
    return { namespace, name: randomItem(random, names), labels, serial: ++this.#serial }
  }
}

function keyOf(name: string): Key {
  return keyFromText(`/registry/configmaps/${name}`)
}

function storedOf({ namespace, name, labels, serial }: ModelObject): Uint8Array {
  const metadata = { namespace, name, labels }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { serial: String(serial) } }
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

/** The event of a watch with that selector after a change; undefined: none. */
export function toldOf(
  { revision, key, before, after }: ModelChange,
  { selects }: ModelSelector,
): ToldChange | undefined {
  const was = before !== undefined && selects(before)
  const is = after !== undefined && selects(after)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', key, revision, serial: after.serial }
  return was ? { type: 'DELETED', key, revision, serial: before.serial } : undefined
}

/** `NAMESPACE/NAME` and serial of what is selected at a revision. */
export function selectedAt(
  changes: readonly ModelChange[],
  revision: number,
  { selects }: ModelSelector,
): Map<string, number> {
  const state = new Map<string, number>()
  for (const { key, after, revision: at } of changes) {
    if (at > revision) break
    if (after !== undefined && selects(after)) state.set(key, after.serial)
    else state.delete(key)
  }
  return state
}

/** Any kind of selector, with values that occur. */
export function randomSelector(random: Random): ModelSelector {
  const namespace = random.next() < 0.4 ? randomItem(random, namespaces) : undefined
  const one = { namespace: namespace ?? 'a', name: randomItem(random, names) }
  const color = randomItem(random, colors)
  const other = colors.find(known => known !== color)!
  const {
    query,
    selects,
    labels = {},
  } = randomItem(random, [
    { query: '', selects: () => true },
    { query: `labelSelector=color%3D${color}`, selects: has('color', [color]), labels: { color } },
    {
      query: `labelSelector=color%20in%20(${color},${other})`,
      selects: has('color', [color, other]),
      labels: { color: other },
    },
    {
      query: `labelSelector=color!%3D${color}`,
      selects: (object: ModelObject) => !has('color', [color])(object),
      labels: { color: other },
    },
    {
      query: `labelSelector=big,color%3D${color}`,
      selects: (object: ModelObject) =>
        has('big', ['yes'])(object) && has('color', [color])(object),
      labels: { big: 'yes', color },
    },
    {
      query: `labelSelector=!big`,
      selects: (object: ModelObject) => object.labels['big'] === undefined,
    },
    {
      query: `fieldSelector=metadata.name%3D${one.name}`,
      selects: (object: ModelObject) => object.name === one.name,
    },
    {
      query: `fieldSelector=metadata.namespace%3D${one.namespace}&labelSelector=color%3D${color}`,
      selects: (object: ModelObject) =>
        object.namespace === one.namespace && has('color', [color])(object),
      labels: { color },
    },
    {
      query: `fieldSelector=metadata.name!%3D${one.name}`,
      selects: (object: ModelObject) => object.name !== one.name,
    },
  ] as readonly Choice[])
  const name = query.includes('name!') ? names.find(known => known !== one.name)! : one.name
  const path =
    namespace === undefined ? '/api/v1/configmaps' : `/api/v1/namespaces/${namespace}/configmaps`
  return {
    path,
    query,
    selects: object => (namespace ?? object.namespace) === object.namespace && selects(object),
    sample: { namespace: one.namespace, name, labels },
  }
}

interface Choice {
  readonly query: string
  readonly selects: (object: ModelObject) => boolean
  readonly labels?: Readonly<Record<string, string>>
}

function has(label: string, values: readonly string[]): (object: ModelObject) => boolean {
  return ({ labels }) => values.includes(labels[label] ?? '')
}
