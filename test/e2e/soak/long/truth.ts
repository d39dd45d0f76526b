/** The contents of etcd at every revision: a watch of etcd itself, past everything that is tested,
 *  which keeps all versions. */

import { setTimeout as pause } from 'node:timers/promises'
import type { CacheError } from '../../../../lib/base/errors.ts'
import { keyFromText, prefixRange, textFromKey } from '../../../../lib/base/keys.ts'
import { type Revision, nextRevision, revision } from '../../../../lib/base/revision.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { jsonFromStored } from '../../../../lib/codec/transcode/transcode.ts'
import type { WatchStream } from '../../../../lib/etcd/client.ts'
import type { GrpcClient } from '../../../../lib/etcd/grpc/client.ts'
import { type KubeObject, metadataText } from './objects.ts'

/** A key from one revision on. */
export interface Version {
  readonly key: string
  readonly revision: number
  /** Undefined: deleted. */
  readonly object: StoredObject | undefined
  /** Object that was there before. */
  readonly before: StoredObject | undefined
}

/** Decoded when it is asked for. */
export class StoredObject {
  #value: Uint8Array | undefined
  #object: KubeObject | undefined
  #text: string | undefined

  constructor(value: Uint8Array) {
    this.#value = value
  }

  get object(): KubeObject {
    if (this.#object === undefined) {
      const json = jsonFromStored(this.#value!)
      if (json instanceof NotExact) throw new Error(json.reason)
      this.#object = JSON.parse(Buffer.from(json).toString()) as KubeObject
      this.#value = undefined
    }
    return this.#object
  }

  get metadata(): string {
    return (this.#text ??= metadataText(this.object))
  }
}

const root = '/registry/'

export class Truth {
  readonly #client: GrpcClient
  readonly #versions = new Map<string, Version[]>()
  readonly #all: Version[] = []
  readonly #times: { readonly atMs: number; readonly revision: number }[] = []
  #latest = 0
  #first = 0
  #isStopped = false
  #stream: WatchStream | undefined
  #waiting: (() => void)[] = []

  constructor(client: GrpcClient) {
    this.#client = client
  }

  /** The revision up to which everything is known. */
  get latest(): number {
    return this.#latest
  }

  /** The revision that it began at. */
  get first(): number {
    return this.#first
  }

  async start(): Promise<void> {
    const range = prefixRange(keyFromText(root))
    const { header, entries } = await this.#client.range({ range })
    for (const { key, value, modRevision } of entries) {
      this.#add(textFromKey(key), modRevision, Buffer.from(value))
    }
    this.#first = this.#latest = header.revision
    void this.#follow()
  }

  stop(): void {
    this.#isStopped = true
    this.#stream?.cancel()
  }

  /** The revision that was known at a time. */
  knownAt(ms: number): number {
    return this.#times.findLast(({ atMs }) => atMs <= ms)?.revision ?? 0
  }

  /** etcd's newest revision. */
  async now(): Promise<number> {
    const range = prefixRange(keyFromText(root))
    const { header } = await this.#client.range({ range, limit: 1, keysOnly: true })
    return header.revision
  }

  /** Resolves when everything up to a revision is known. */
  async reach(wanted: number): Promise<void> {
    const latestMs = Date.now() + 60_000
    while (this.#latest < wanted) {
      if (Date.now() > latestMs) throw new Error(`etcd does not come to revision ${wanted}`)
      this.#stream?.requestProgress()
      await Promise.race([new Promise<void>(resolve => this.#waiting.push(resolve)), pause(500)])
    }
  }

  /** Contents below a prefix at a revision, in the order of keys. */
  contents(prefix: string, at: number): Version[] {
    const found: Version[] = []
    for (const [key, versions] of this.#versions) {
      if (!key.startsWith(prefix)) continue
      const version = versions.findLast(({ revision }) => revision <= at)
      if (version?.object !== undefined) found.push(version)
    }
    return found.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** All versions of a key, the oldest first. */
  versionsOf(key: string): readonly Version[] {
    return this.#versions.get(key) ?? []
  }

  /** Changes below a prefix, above one revision and up to another, in order. */
  changes(prefix: string, after: number, upTo: number): Version[] {
    const from = this.#all.findLastIndex(({ revision }) => revision <= after) + 1
    return this.#all
      .slice(from)
      .filter(({ key, revision }) => revision <= upTo && key.startsWith(prefix))
  }

  async #follow(): Promise<void> {
    let avoidEndpoint: string | undefined
    while (!this.#isStopped) {
      const failure = await this.#watch(avoidEndpoint)
      if (this.#isStopped) return
      // Nobody can know what is true any more.
      if (failure.code === 'expired') throw failure
      avoidEndpoint = this.#stream?.endpoint
      await pause(100)
    }
  }

  #watch(avoidEndpoint: string | undefined): Promise<CacheError> {
    const range = prefixRange(keyFromText(root))
    const startRevision = nextRevision(revision(this.#latest))
    return new Promise(resolve => {
      this.#stream = this.#client.watch(
        { range, startRevision, avoidEndpoint },
        {
          created: () => undefined,
          changed: batches => {
            for (const { revision, changes } of batches) {
              for (const change of changes) {
                const value = change.type === 'put' ? Buffer.from(change.entry.value) : undefined
                const key = change.type === 'put' ? change.entry.key : change.key
                this.#add(textFromKey(key), revision, value)
              }
              this.#known(revision)
            }
          },
          progress: header => this.#known(header.revision),
          ended: resolve,
        },
      )
    })
  }

  #add(key: string, at: Revision, value: Uint8Array | undefined): void {
    const versions = this.#versions.get(key) ?? []
    const object = value && new StoredObject(value)
    const version = { key, revision: at, object, before: versions.at(-1)?.object }
    versions.push(version)
    this.#versions.set(key, versions)
    this.#all.push(version)
  }

  #known(at: number): void {
    this.#latest = Math.max(this.#latest, at)
    this.#times.push({ atMs: Date.now(), revision: this.#latest })
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
