/** Lets VolumeAttributesClasses go that are being deleted, when no claim and no volume names them
 *  any more: admission gives each of them a finalizer that says so. */

import { type Clock, type Key, Slice, textFromKey } from '@watchglass/base'
import type { Event, KeyValue } from '@watchglass/store'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'
import { factsOf, type ObjectFacts } from './object-facts.ts'
import { type ClassUser, isClassNamed } from './protected-volumes.ts'

const finalizer = 'kubernetes.io/vac-protection'

export interface ClassProtectionOptions {
  readonly cluster: ClusterApi
  /** Prefixes of keys. */
  readonly classes: Key
  readonly claims: Key
  readonly volumes: Key
  /** Contents of a keyspace now; undefined while the mirror has none of it. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  /** The object as the API shows it, in plain values; undefined if it cannot be shown. */
  readonly plainOf: (place: ApiPlace, entry: KeyValue) => unknown
  readonly clock: Clock
  /** The class is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
}

export class ClassProtection {
  readonly #options: ClassProtectionOptions
  /** The classes that wait for claims and volumes, each with its name in bytes. */
  readonly #waiting = new Map<Key, Buffer>()

  constructor(options: ClassProtectionOptions) {
    this.#options = options
  }

  /** An object that was there before. */
  found(keyspace: Key, key: Key, facts: ObjectFacts): void {
    if (keyspace !== this.#options.classes) return
    if (facts.deletedAtMs !== undefined && facts.finalizers.includes(finalizer)) {
      this.#options.lookAt(key)
    }
  }

  changed(keyspace: Key, { key, before, after }: Event): void {
    const { classes, claims, volumes, lookAt } = this.#options
    if (keyspace === classes) {
      const facts = after === undefined ? undefined : factsOf(after)
      if (facts === undefined) this.#waiting.delete(key)
      else this.found(keyspace, key, facts)
      return
    }
    if (before === undefined || (keyspace !== claims && keyspace !== volumes)) return
    for (const [waiting, name] of this.#waiting) if (mentions(before, name)) lookAt(waiting)
  }

  async work(key: Key): Promise<void> {
    const { cluster, classes } = this.#options
    const name = textFromKey(key).slice(textFromKey(classes).length)
    // Noted before anything is looked at: who names the class may go meanwhile.
    this.#waiting.set(key, Buffer.from(name))
    const place = cluster.placeOf(key)
    const entry = await cluster.read(key)
    const facts = entry && factsOf(entry)
    const finalizers = facts?.finalizers.filter(one => one !== finalizer) ?? []
    const isOver = facts?.deletedAtMs === undefined || finalizers.length === facts.finalizers.length
    if (place === undefined || isOver) {
      this.#waiting.delete(key)
      return
    }
    if (await this.#isUsed(name)) return
    const { resourceVersion } = facts
    await cluster.patch(place, { metadata: { resourceVersion, finalizers } })
  }

  async #isUsed(name: string): Promise<boolean> {
    const { cluster, claims, volumes, contentsOf, plainOf, clock } = this.#options
    const bytes = Buffer.from(name)
    const slice = new Slice(clock)
    for (const keyspace of [claims, volumes]) {
      const contents = contentsOf(keyspace)
      if (contents === undefined) return true
      for (const entry of contents) {
        if (slice.isOver) await slice.next()
        if (!mentions(entry, bytes)) continue
        const place = cluster.placeOf(entry.key)
        const user = place && (plainOf(place, entry) as ClassUser | undefined)
        if (user === undefined || isClassNamed(name, user)) return true
      }
    }
    return false
  }
}

/** The name stands somewhere in the stored object: only then it is worth decoding. */
function mentions({ value }: KeyValue, name: Buffer): boolean {
  return Buffer.from(value.buffer, value.byteOffset, value.length).includes(name)
}
