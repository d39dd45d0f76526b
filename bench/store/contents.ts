/** Keys and values like those of a cluster: long keys with common prefixes, in namespaces, with the
 *  random suffix of generated names; values of 200 bytes on slabs. Everything depends on a seed. */

import type { Key } from '../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { SlabWriter } from '../../lib/store/slab.ts'

export const valueBytes = 200

/** The `size` keys of one keyspace in order, each a string of its own, as keys from the wire
 *  are. */
export function keysOf(size: number, seed: number): Key[] {
  const random = createRandom(seed)
  const namespaces = Math.max(1, Math.round(Math.sqrt(size)))
  const keys = new Set<string>()
  while (keys.size < size) {
    const namespace = String(randomInt(random, 0, namespaces - 1)).padStart(4, '0')
    const app = String(randomInt(random, 0, 40)).padStart(2, '0')
    keys.add(`/registry/pods/namespace-${namespace}/application-${app}-${tail(random)}`)
  }
  return [...keys].sort().map(key => copyOf(key as Key))
}

/** The same key as another string, as whoever asks for it has it. */
export function copyOf(key: Key): Key {
  return Buffer.from(key, 'latin1').toString('latin1') as Key
}

function tail(random: Random): string {
  return Math.floor(random.next() * 36 ** 10)
    .toString(36)
    .padStart(10, '0')
}

/** Makes entries whose values lie on slabs, as those of the mirror do. */
export class EntryMaker {
  readonly #slabs = new SlabWriter()
  readonly #value = Buffer.alloc(valueBytes, 'value ')

  entry(key: Key, modRevision: number): KeyValue {
    this.#value.writeUInt32BE(modRevision >>> 0, 0)
    return new KeyValue(key, this.#slabs.copy(this.#value), {
      createRevision: revision(1),
      modRevision: revision(modRevision),
      version: modRevision,
      lease: noLease,
    })
  }
}
