/** Random calls of etcd's API, in which everything that etcd tells apart comes up: few keys, so
 *  that calls meet; ranges of every form; revisions before, at and after what is there; leases that
 *  exist and that do not. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import type { Message } from '../../support/etcd/raw-etcd.ts'

/** The store that calls go to, as the generator knows it. */
export interface StoreState {
  readonly revision: number
  readonly compactRevision: number
}

export interface Call {
  readonly service: string
  readonly method: string
  readonly request: Message
  /** It changes nothing, so calls beside it need not wait for it. */
  readonly isRead: boolean
}

const names = ['a', 'a\0', 'aa', 'ab', 'b', 'b/1', 'b/2', 'c', '\0', '\xff', '\xff\xff']
// Enough keys for a sorted range to be longer than what Go sorts by insertion.
const manyNames = Array.from({ length: 40 }, (_, i) => `m/${String(i).padStart(2, '0')}`)
const values = ['', '0', '1', '1', 'long value', '\0\xff']
/** The ids that leases are granted with: the largest and smallest that there are too. */
const leases = ['1', '77', '4611686018427387909', '9223372036854775807', '-3']

export interface CallsOptions {
  /** Sorts by what many entries have in common: their order among each other then follows from the
   *  server's sorting algorithm. */
  readonly withTies: boolean
}

export class Calls {
  readonly #random: Random
  readonly #options: CallsOptions

  constructor(random: Random, options: CallsOptions) {
    this.#random = random
    this.#options = options
  }

  next(state: StoreState): Call {
    const roll = this.#random.next()
    if (roll < 0.6) return kv('Range', this.range(state), true)
    if (roll < 0.76) return kv('Put', this.#put(), false)
    if (roll < 0.83) return kv('DeleteRange', this.#deleteRange(), false)
    if (roll < 0.96) return kv('Txn', this.#txn(state, 0), false)
    return this.#leaseCall()
  }

  /** A compaction, mostly of what can be compacted. */
  compaction(state: StoreState): Call {
    const { revision, compactRevision } = state
    const at = this.#chance(0.8)
      ? randomInt(this.#random, Math.max(compactRevision, 0) + 1, revision)
      : randomItem(this.#random, [0, -1, compactRevision, compactRevision - 1, revision + 1])
    const physical = this.#chance(0.5)
    return kv('Compact', { revision: String(at), physical }, false)
  }

  /** A watcher's request, without its id. */
  watcher(state: StoreState): Message {
    const { revision, compactRevision } = state
    const startRevision = this.#oneOf([
      () => 0,
      () => 0,
      () => randomInt(this.#random, Math.max(compactRevision, 0) + 1, revision),
      () => revision + randomInt(this.#random, 1, 30),
      () => randomInt(this.#random, 1, Math.max(1, compactRevision - 1)),
    ])
    const span = this.#chance(0.5) ? this.#span() : { key: '', rangeEnd: base64('\0') }
    return {
      ...span,
      startRevision: String(startRevision === compactRevision ? 0 : startRevision),
      prevKv: this.#chance(0.5),
      progressNotify: this.#chance(0.2),
      fragment: this.#chance(0.3),
      filters: this.#chance(0.7) ? [] : randomItem(this.#random, [[0], [1], [0, 1]]),
    }
  }

  range(state: StoreState): Message {
    const bound = (): string => (this.#chance(0.85) ? '0' : String(this.#revision(state)))
    return {
      ...this.#span(),
      limit: String(randomItem(this.#random, [0, 0, 0, 1, 2, 5, 13, 20, 100, -1])),
      revision: this.#chance(0.6) ? '0' : String(this.#revision(state)),
      sortOrder: randomItem(this.#random, [0, 0, 1, 2]),
      sortTarget: this.#options.withTies ? randomItem(this.#random, [0, 0, 1, 2, 3, 4]) : 0,
      serializable: this.#chance(0.3),
      keysOnly: this.#chance(0.2),
      countOnly: this.#chance(0.15),
      minModRevision: bound(),
      maxModRevision: bound(),
      minCreateRevision: bound(),
      maxCreateRevision: bound(),
    }
  }

  #put(): Message {
    const ignoreValue = this.#chance(0.1)
    const ignoreLease = this.#chance(0.1)
    return {
      key: this.#key(),
      value: ignoreValue && this.#chance(0.9) ? '' : this.#value(),
      lease: (ignoreLease && this.#chance(0.9)) || this.#chance(0.7) ? '0' : this.#lease(),
      prevKv: this.#chance(0.5),
      ignoreValue,
      ignoreLease,
    }
  }

  #deleteRange(): Message {
    return { ...this.#span(), prevKv: this.#chance(0.5) }
  }

  /** Transactions down to three levels. Two that etcd should refuse and does not are left out: a
   *  put beside a delete without an upper bound, and transactions side by side of which a later one
   *  deletes what an earlier one puts. */
  #txn(state: StoreState, level: number): Message {
    const branch = (): Message[] => {
      const mayNest = level < 2 && this.#chance(0.25)
      const count = this.#chance(0.01) ? 129 : randomInt(this.#random, 0, 4)
      const operations = Array.from({ length: count }, () => this.#operation(state))
      if (mayNest) operations.push({ requestTxn: this.#txn(state, level + 1) })
      return operations
    }
    const compare = Array.from({ length: randomInt(this.#random, 0, 2) }, () =>
      this.#compare(state),
    )
    return { compare, success: branch(), failure: branch() }
  }

  #operation(state: StoreState): Message {
    const roll = this.#random.next()
    if (roll < 0.4) return { requestRange: this.range(state) }
    if (roll < 0.8) return { requestPut: this.#put() }
    if (roll < 0.99) {
      const { rangeEnd, ...request } = this.#deleteRange()
      const isOpen = rangeEnd === base64('\0')
      return { requestDeleteRange: { ...request, rangeEnd: isOpen ? '' : rangeEnd } }
    }
    return {}
  }

  #compare(state: StoreState): Message {
    const [target, field, value] = randomItem(this.#random, [
      [0, 'version', String(randomInt(this.#random, 0, 4))],
      [1, 'createRevision', String(this.#revision(state))],
      [2, 'modRevision', String(this.#revision(state))],
      [3, 'value', this.#value()],
      [4, 'lease', this.#lease()],
    ] as const)
    const span = this.#chance(0.6) ? { key: this.#key() } : this.#span()
    return { ...span, result: randomInt(this.#random, 0, 3), target, [field]: value }
  }

  #leaseCall(): Call {
    const roll = this.#random.next()
    const id = this.#lease()
    if (roll < 0.45) {
      const ttl = randomItem(this.#random, [1000, 2000, 3000, 9_000_000_000, 9_000_000_001])
      return leaseCall('LeaseGrant', { ID: id, TTL: String(ttl) }, false)
    }
    if (roll < 0.65) return leaseCall('LeaseRevoke', { ID: id }, false)
    if (roll < 0.9) {
      return leaseCall('LeaseTimeToLive', { ID: id, keys: this.#chance(0.8) }, true)
    }
    return leaseCall('LeaseLeases', {}, true)
  }

  #span(): { key: string; rangeEnd: string } {
    const key = this.#key()
    const rangeEnd = this.#oneOf([
      () => '',
      () => base64('\0'),
      () => this.#key(),
      () => base64('m0'),
      () => key,
    ])
    if (this.#chance(0.2)) return { key: base64('m/'), rangeEnd: base64('m0') }
    return { key, rangeEnd }
  }

  #key(): string {
    if (this.#chance(0.005)) return ''
    return base64(randomItem(this.#random, this.#chance(0.5) ? names : manyNames))
  }

  #value(): string {
    return base64(randomItem(this.#random, values))
  }

  #lease(): string {
    return randomItem(this.#random, leases)
  }

  #revision({ revision, compactRevision }: StoreState): number {
    return this.#oneOf([
      () => randomInt(this.#random, Math.max(0, compactRevision), revision),
      () => randomInt(this.#random, Math.max(0, compactRevision), revision),
      () => revision,
      () => compactRevision + randomInt(this.#random, -2, 1),
      () => revision + randomInt(this.#random, 1, 3),
      () => randomItem(this.#random, [-1, 1, 2 ** 52]),
    ])
  }

  #chance(chance: number): boolean {
    return this.#random.next() < chance
  }

  #oneOf<T>(choices: readonly (() => T)[]): T {
    return randomItem(this.#random, choices)()
  }
}

export function base64(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('base64')
}

function kv(method: string, request: Message, isRead: boolean): Call {
  return { service: 'KV', method, request, isRead }
}

function leaseCall(method: string, request: Message, isRead: boolean): Call {
  return { service: 'Lease', method, request, isRead }
}
