/** A mirror as the etcd server needs it: ranges of which every key is kept, each in a
 *  keyspace of its own. */

import { type Freshness, type KeyRange, type Revision, singleKey } from '@watchglass/base'
import type { Client, HeaderMessage } from '@watchglass/etcd'
import { LastHeader } from './last-header.ts'
import type { MirroredEtcd, MirroredPart, PartFollower } from '../answers/mirrored.ts'
import type { Batch, Keyspace, Snapshot } from '@watchglass/store'
import {
  coversRange,
  type Mirror,
  type MirroredKeyspace,
  type MirrorSink,
  type ResetReason,
} from '@watchglass/cache'

export interface EtcdViewOptions {
  readonly mirror: Mirror
  readonly client: Client
  /** The keyspaces: each has every key of its range. */
  readonly keyspaces: readonly string[]
}

export class EtcdView implements MirroredEtcd, MirrorSink {
  readonly #options: EtcdViewOptions
  readonly #parts = new Map<string, Part>()
  readonly #followers: PartFollower[] = []
  readonly #headers = new LastHeader()

  constructor(options: EtcdViewOptions) {
    this.#options = options
    for (const name of options.keyspaces) this.#parts.set(name, new Part(options.mirror, name))
  }

  partOf(range: KeyRange): MirroredPart | undefined {
    for (const part of this.#parts.values()) if (coversRange(part.range, range)) return part
    return undefined
  }

  get revision(): Revision {
    return this.#options.mirror.witnessed
  }

  header(revision: number): HeaderMessage {
    return this.#headers.at(this.#options.mirror.header, revision)
  }

  async checkRevision(revision: Revision): Promise<HeaderMessage> {
    const { client, mirror } = this.#options
    const range = singleKey(mirror.probeKey)
    const { header } = await client.range({ range, revision, countOnly: true })
    return header
  }

  lookAgain(): void {
    this.#options.mirror.probe.ask({ isSettled: false, delayed: () => {}, probed: () => {} })
  }

  follow(follower: PartFollower): void {
    this.#followers.push(follower)
  }

  applied(keyspace: string, batch: Batch): void {
    const part = this.#parts.get(keyspace)
    if (part === undefined) return
    for (const follower of this.#followers) follower.applied?.(part, batch)
  }

  progressed(keyspaces: Iterable<string>): void {
    for (const name of keyspaces) {
      const part = this.#parts.get(name)
      if (part === undefined) continue
      for (const follower of this.#followers) follower.progressed?.(part)
    }
  }

  reset(keyspace: string, reason: ResetReason): void {
    const part = this.#parts.get(keyspace)
    if (part === undefined) return
    for (const follower of this.#followers) {
      if (reason === 'new epoch') follower.epochEnded?.()
      follower.reset?.(part)
    }
  }

  stateChanged(keyspace: string): void {
    const part = this.#parts.get(keyspace)
    if (part === undefined) return
    for (const follower of this.#followers) follower.stateChanged?.(part)
  }
}

class Part implements MirroredPart {
  readonly range: KeyRange
  readonly #mirror: Mirror
  readonly #keyspace: MirroredKeyspace

  constructor(mirror: Mirror, name: string) {
    this.#mirror = mirror
    this.#keyspace = mirror.keyspace(name)
    this.range = this.#keyspace.range
  }

  get store(): Keyspace {
    return this.#keyspace.store
  }

  get proven(): Revision {
    return this.#mirror.proven(this.#keyspace.name)
  }

  get isServed(): boolean {
    return this.#keyspace.isServed
  }

  get isProgressSound(): boolean {
    return this.#mirror.isProgressTrusted(this.#keyspace.name)
  }

  get isCutOff(): boolean {
    return this.#keyspace.state === 'cut-off'
  }

  async read(freshness: Freshness, signal: () => AbortSignal): Promise<Snapshot | undefined> {
    const outcome = await this.#mirror.read(this.#keyspace.name, {
      freshness,
      elsewhere: 'anywhere',
      reader: {
        get signal() {
          return signal()
        },
      },
    })
    return outcome.from === 'mirror' ? outcome.snapshot : undefined
  }

  latest(): Snapshot {
    this.#keyspace.advance(this.proven)
    return this.#keyspace.store.latest()
  }

  refresh(): void {
    this.#mirror.refresh([this.#keyspace.name])
  }
}
