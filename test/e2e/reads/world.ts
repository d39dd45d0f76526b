/** The world of the model of reads: a real etcd, writers who never rest, everything that they
 *  wrote, and what etcd says of any revision. etcd is asked with a codec that is not ours; where it
 *  has compacted a revision, the writers' own log stands in. */

import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { createRandom, type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { revision as toRevision } from '../../../lib/base/revision.ts'
import type { Operation } from '../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { compactRevisionKey } from '../../../lib/cache/mirror/feed/compaction.ts'
import { type Message, RawEtcd } from '../../support/etcd/raw-etcd.ts'
import { toyDefinition, toyDefinitionKey } from '../../support/toys.ts'
import { kinds, type ModelKind, type ModelObject, randomObject } from './kinds.ts'

/** An object at a revision. */
export interface ModelEntry {
  readonly key: string
  readonly revision: number
  readonly object: ModelObject
}

/** A change of a key, and its revision. Undefined: it was deleted. */
interface LoggedChange {
  readonly revision: number
  readonly entry: ModelEntry | undefined
}

export class World {
  readonly client: GrpcClient
  /** The newest revision that a writer knows to be written. */
  acknowledged = 0
  /** Compactions up to here may have happened, and up to there they have. */
  compactingThrough = 0
  compactedThrough = 0
  readonly #raw: RawEtcd
  readonly #random: Random
  readonly #objects = new Map<string, ModelObject>()
  readonly #log = new Map<string, LoggedChange[]>()
  readonly #writing = new Set<Promise<void>>()
  #serial = 0

  constructor(endpoint: string, seed: number) {
    this.client = new GrpcClient({ endpoints: [endpoint] })
    this.#raw = new RawEtcd(endpoint.replace('http://', ''))
    this.#random = createRandom(seed)
  }

  /** The definition, what must never be shown, and some first objects. */
  async begin(writes: number): Promise<void> {
    await this.#commit([
      {
        type: 'put',
        key: keyFromText(toyDefinitionKey),
        value: toyDefinition(['color', 'size']),
      },
    ])
    for (const { prefix } of kinds) {
      // A neighbour whose name begins the same.
      const key = keyFromText(`${prefix.slice(0, -1)}x/a/n01`)
      await this.#commit([{ type: 'put', key, value: Buffer.from('not an object') }])
    }
    for (let i = 0; i < writes; i++) await this.write()
  }

  /** One transaction: mostly one change, sometimes several. */
  async write(): Promise<void> {
    const writing = this.#write().finally(() => this.#writing.delete(writing))
    this.#writing.add(writing)
    await writing
  }

  async #write(): Promise<void> {
    const random = this.#random
    const count = random.next() < 0.8 ? 1 : randomInt(random, 2, 6)
    const operations = new Map<string, { operation: Operation; object: ModelObject | undefined }>()
    for (let i = 0; i < count; i++) {
      const kind = randomItem(random, kinds)
      const object = randomObject(random, kind, this.#serial++)
      const key = keyOf(kind, object)
      if (random.next() < 0.3) {
        const operation: Operation = { type: 'delete', range: singleKey(keyFromText(key)) }
        operations.set(key, { operation, object: undefined })
        continue
      }
      const value = kind.stored(object)
      this.#objects.set(value.toString('base64'), object)
      operations.set(key, { operation: { type: 'put', key: keyFromText(key), value }, object })
    }
    const changes = [...operations]
    const revision = await this.#commit(changes.map(([, { operation }]) => operation))
    for (const [key, { object }] of changes) {
      const entry = object === undefined ? undefined : { key, revision, object }
      const logged = this.#log.get(key) ?? []
      this.#log.set(key, logged)
      logged.push({ revision, entry })
      // Several writers: answers may come in another order than etcd's.
      logged.sort((a, b) => a.revision - b.revision)
    }
  }

  async #commit(success: Operation[]): Promise<number> {
    const { header } = await this.client.txn({ compares: [], success, failure: [] })
    this.acknowledged = Math.max(this.acknowledged, header.revision)
    return header.revision
  }

  /** Compacts as kube-apiserver does. */
  async compact(revision: number): Promise<void> {
    this.compactingThrough = revision
    await this.#commit([
      { type: 'put', key: compactRevisionKey, value: Buffer.from(String(revision)) },
    ])
    await this.client.compact(toRevision(revision))
    this.compactedThrough = revision
  }

  /** etcd's revision of now. */
  async now(): Promise<number> {
    const { header } = await this.client.range({
      range: singleKey(compactRevisionKey),
      countOnly: true,
    })
    return header.revision
  }

  /** All entries below a prefix at a revision, in the order of keys. */
  async entriesAt(prefix: string, revision: number): Promise<ModelEntry[]> {
    const bytes = Buffer.from(prefix)
    const end = Buffer.from(bytes)
    end[end.length - 1] = end[end.length - 1]! + 1
    const request = {
      key: bytes.toString('base64'),
      rangeEnd: end.toString('base64'),
      revision: String(revision),
    }
    const answer = await this.#raw.call('KV', 'Range', request)
    if (!('response' in answer)) {
      if (!answer.details.includes('compacted')) throw new Error(answer.details)
      await this.#logged()
      return this.#loggedAt(prefix, revision)
    }
    const found = (answer.response['kvs'] ?? []) as readonly Message[]
    return found.map(({ key, value, modRevision }) => {
      const object = this.#objects.get(String(value))
      if (object === undefined) throw new Error(`etcd has what nobody wrote: ${String(key)}`)
      const text = Buffer.from(String(key), 'base64').toString()
      return { key: text, revision: Number(modRevision), object }
    })
  }

  #loggedAt(prefix: string, revision: number): ModelEntry[] {
    const entries: ModelEntry[] = []
    for (const key of this.#log.keys()) {
      const entry = key.startsWith(prefix) ? this.#stateAt(key, revision)?.entry : undefined
      if (entry !== undefined) entries.push(entry)
    }
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  #stateAt(key: string, revision: number): LoggedChange | undefined {
    return this.#log.get(key)?.findLast(change => change.revision <= revision)
  }

  /** Waits until writes are logged that etcd may have answered and whose writers do not know it
   *  yet. */
  async #logged(): Promise<void> {
    await Promise.all(this.#writing)
  }

  /** Everything that a key was at the revisions from `first` to `last`. */
  async statesBetween(
    key: string,
    first: number,
    last: number,
  ): Promise<(ModelEntry | undefined)[]> {
    await this.#logged()
    const later = (this.#log.get(key) ?? []).filter(
      ({ revision }) => revision > first && revision <= last,
    )
    return [this.#stateAt(key, first)?.entry, ...later.map(({ entry }) => entry)]
  }

  async close(): Promise<void> {
    this.#raw.close()
    await this.client.close()
  }
}

function keyOf({ prefix, isNamespaced }: ModelKind, { namespace, name }: ModelObject): string {
  return isNamespaced ? `${prefix}${namespace}/${name}` : `${prefix}${name}`
}
