/** Writes that are tried with made-up values: they go all the way from their body to the bytes, but
 *  nothing is stored and nobody is called. What comes of it is a stamp for writes that differ in
 *  these values only, once a second trial with other values has shown that they do. */

import {
  CacheError,
  equalBytes,
  type Key,
  keyFromText,
  prefixRange,
  type Random,
  textFromKey,
} from '@watchglass/base'
import type { Keyspace, KeyValue, Snapshot } from '@watchglass/store'
import type { WriteStore } from '@watchglass/writes'
import type { ApiClient } from '../runtime/api-client.ts'
import { Stamp, type Variables } from '../stamps/stamp.ts'

/** The values that a trial gives to a new object. */
export interface TrialValues {
  readonly uid: string
  /** The endings of generated names, in the order in which they are asked for. */
  readonly suffixes: readonly string[]
  readonly nowMs: number
}

export interface TrialRequest {
  readonly values: TrialValues
  /** The object that is changed; left out for a new one. */
  readonly live?: KeyValue | undefined
  /** An object that is found below a made-up key, too. */
  readonly alias?: { readonly made: Key; readonly real: Key } | undefined
}

/** The outcome of a trial, and the other objects at which it has looked. */
export interface Trial {
  readonly key: Key
  readonly value: Uint8Array
  readonly looks: readonly TrialLook[]
}

/** An object, or all of a keyspace, as a trial has seen it. */
export type TrialLook =
  | { readonly type: 'object'; readonly key: Key; readonly revision: number }
  | { readonly type: 'list'; readonly prefix: Key; readonly root: unknown }

/** A stamp, and whether what it was made of is still so. */
export interface ProvenStamp {
  readonly stamp: Stamp
  /** The key of the trial, with its made-up values. */
  readonly key: Key
  readonly isCurrent: () => boolean
}

export interface TrialsOptions {
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly random: Random
}

/** Somebody may decide by the name of an object, by its uid or by the time, or counts it. */
const decidedBy = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicies',
  'validatingadmissionpolicies',
  'resourcequotas',
]

class NotTried extends Error {}

export class Trials {
  readonly #options: TrialsOptions

  constructor(options: TrialsOptions) {
    this.#options = options
  }

  /** Undefined if the writes cannot be stamped: the trial was refused, somebody else decides, or
   *  the values go into the object in other ways than as they are. */
  async prove<T extends Variables>(
    messageName: string,
    marks: readonly [T, T],
    run: (marks: T) => Promise<Trial | undefined>,
  ): Promise<(Omit<ProvenStamp, 'isCurrent'> & Pick<Trial, 'looks'>) | undefined> {
    const first = await run(marks[0])
    const second = await run(marks[1])
    if (first === undefined || second === undefined) return undefined
    const stamp = new Stamp(first.value, messageName, marks[0])
    const filled = stamp.fill(marks[1])
    if (!equalBytes(filled, 0, filled.length, second.value)) return undefined
    const { key, looks } = first
    return { stamp, key, looks: [...looks, ...second.looks] }
  }

  /** Undefined if it was refused, or somebody else decides. */
  async run(
    cluster: ApiClient,
    request: TrialRequest,
    write: (cluster: ApiClient) => Promise<unknown>,
  ): Promise<Trial | undefined> {
    const { values } = request
    const { services } = cluster
    const store = new TrialStore(services.store, request)
    const { clock } = services
    let [uids, suffixes] = [0, 0]
    try {
      await write(
        cluster.trying({
          store,
          uid: () => (uids++ === 0 ? values.uid : refuse('more than one uid')),
          nameSuffix: () => values.suffixes[suffixes++] ?? refuse('too many generated names'),
          clock: {
            wallMs: () => values.nowMs,
            monotonicMs: () => clock.monotonicMs(),
            yield: place => clock.yield(place),
            setTimer: (delayMs, task) => clock.setTimer(delayMs, task),
          },
          onListed: (prefix, namespace) => store.looks.push(this.#lookAt(prefix, namespace)),
        }),
      )
    } catch (error) {
      // Whoever refuses it refuses the write itself, too, which then says so.
      if (error instanceof NotTried || error instanceof CacheError) return undefined
      throw error
    }
    const { written, looks } = store
    return written && { ...written, looks }
  }

  /** Whether everything is as a trial has seen it. */
  isCurrent(cluster: ApiClient, looks: readonly TrialLook[]): boolean {
    return looks.every(look => {
      if (look.type === 'list') return this.#snapshotOf(look.prefix)?.root === look.root
      const keyspace = cluster.registry.keyspaceOf(look.key)
      const snapshot = keyspace === undefined ? undefined : this.#snapshotOf(keyspace)
      return snapshot !== undefined && (snapshot.get(look.key)?.modRevision ?? 0) === look.revision
    })
  }

  #lookAt(prefix: string, namespace: string): TrialLook {
    const snapshot = this.#snapshotOf(keyFromText(prefix))
    if (snapshot === undefined) throw new NotTried(`${prefix} is not mirrored`)
    if (decidedBy.some(name => prefix.endsWith(`/${name}/`))) {
      const range = prefixRange(keyFromText(namespace === '' ? prefix : `${prefix}${namespace}/`))
      for (const { key } of snapshot.iterate(range)) throw new NotTried(textFromKey(key))
    }
    return { type: 'list', prefix: keyFromText(prefix), root: snapshot.root }
  }

  #snapshotOf(keyspace: Key): Snapshot | undefined {
    const snapshot = this.#options.storeOf(keyspace)?.latest()
    return snapshot?.revision === 0 ? undefined : snapshot
  }
}

function refuse(reason: string): never {
  throw new NotTried(reason)
}

/** Shows what is there, and keeps what is written. */
class TrialStore implements WriteStore {
  readonly looks: TrialLook[] = []
  written: Pick<Trial, 'key' | 'value'> | undefined
  readonly #store: WriteStore
  readonly #request: TrialRequest

  constructor(store: WriteStore, request: TrialRequest) {
    this.#store = store
    this.#request = request
  }

  async get(key: Key, signal: AbortSignal): Promise<KeyValue | undefined> {
    const { live, alias } = this.#request
    if (key === live?.key) return live
    if (key === alias?.made) return this.#store.get(alias.real, signal)
    const entry = await this.#store.get(key, signal)
    this.looks.push({ type: 'object', key, revision: entry?.modRevision ?? 0 })
    return entry
  }

  list(): never {
    return refuse('a list that is not mirrored')
  }

  commit({
    key,
    value,
    expected,
  }: Parameters<WriteStore['commit']>[0]): ReturnType<WriteStore['commit']> {
    const { live } = this.#request
    const isOwn = live === undefined ? expected === 0 : key === live.key
    if (!isOwn || value === undefined || this.written !== undefined) refuse('another write')
    else this.written = { key, value }
    return Promise.resolve({ type: 'done', revision: 1 })
  }
}
