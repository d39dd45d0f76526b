/** Somebody who writes to the simulated etcd: one change at a time, and remembers what was
 *  acknowledged. */

import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, prefixRange, singleKey } from '../../lib/base/keys.ts'
import { type Random, randomInt } from '../../lib/base/random.ts'
import { revision, type Revision } from '../../lib/base/revision.ts'
import type { Client, Operation } from '../../lib/etcd/client.ts'
import { compactRevisionKey } from '../../lib/cache/mirror/feed/compaction.ts'
import { anyKey, anyPlace } from './keys.ts'
import type { Stats } from './stats.ts'
import type { Truth } from './truth.ts'

export interface WriterOptions {
  readonly client: Client
  readonly random: Random
  readonly truth: Truth
  readonly stats: Stats
  readonly fail: (error: unknown) => void
}

export class Writer {
  readonly #options: WriterOptions
  #isBusy = false
  #values = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  /** Begins a write, unless one is under way. */
  write(): void {
    if (this.#options.random.next() < 0.03) this.#do('lease', () => this.#writeWithLease())
    else this.#do('write', () => this.#txn(this.#operations()))
  }

  /** Changes a key of each keyspace at one revision. */
  touch(keyspaces: readonly string[]): void {
    this.#do('write', () =>
      this.#txn(
        keyspaces.map(name => {
          return { type: 'put', key: keyFromText(`/r/${name}/touched`), value: this.#nextValue() }
        }),
      ),
    )
  }

  /** Compacts as Kubernetes does: says so in a key first. */
  compact(at: number): void {
    this.#do('compaction', async () => {
      const bytes = Buffer.from(String(at))
      await this.#txn([{ type: 'put', key: compactRevisionKey, value: bytes }])
      await this.#options.client.compact(revision(at))
    })
  }

  #do(what: string, task: () => Promise<unknown>): void {
    if (this.#isBusy) return
    this.#isBusy = true
    const { stats, fail } = this.#options
    task()
      .then(
        () => stats.count(`${what} done`),
        (error: unknown) => {
          if (!(error instanceof CacheError)) fail(error)
          else stats.count(`${what} failed`)
        },
      )
      .finally(() => {
        this.#isBusy = false
      })
      .catch(fail)
  }

  async #txn(operations: readonly Operation[]): Promise<void> {
    const { truth, client } = this.#options
    const epoch = truth.current
    const { header } = await client.txn({ compares: [], success: operations, failure: [] })
    this.#acknowledged(epoch, header.revision)
  }

  /** Whatever reads from now on must contain it. A restore breaks every connection, so an answer is
   *  of the epoch of its question. */
  #acknowledged(epoch: Truth['current'], at: Revision): void {
    if (at > epoch.floor) epoch.floor = at
  }

  /** Keys that vanish together when their lease is revoked. */
  async #writeWithLease(): Promise<void> {
    const { client, random } = this.#options
    const { id } = await client.grantLease(randomInt(random, 1, 3), 0n)
    await this.#txn(
      this.#operations().map(operation =>
        operation.type === 'put' ? { ...operation, lease: id } : operation,
      ),
    )
    if (random.next() < 0.5) await client.revokeLease(id)
  }

  /** A few puts of different keys, or a delete of a key, or of all below a place. */
  #operations(): Operation[] {
    const { random } = this.#options
    const choice = random.next()
    if (choice < 0.2) return [{ type: 'delete', range: singleKey(anyKey(random)) }]
    if (choice < 0.23) return [{ type: 'delete', range: prefixRange(anyPlace(random)) }]
    const count = choice < 0.8 ? 1 : randomInt(random, 2, 4)
    const keys = new Set(Array.from({ length: count }, () => anyKey(random)))
    return [...keys].map(key => ({ type: 'put', key, value: this.#nextValue() }))
  }

  #nextValue(): Buffer {
    this.#values++
    return Buffer.from(String(this.#values))
  }
}
