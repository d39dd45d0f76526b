/** Keeps what is asked for again: orders of rows, and counts. Both are bounded like indexes, by the
 *  same policy and in the same budget, and go when nobody has asked for five minutes. Those that a
 *  live view shows are pinned, and stay as long as it does. */

import type { Key } from '@watchglass/base'
import { IndexPolicy } from '@watchglass/cache'
import type { ObjectEncoder } from '@watchglass/codec'
import type { Keyspace } from '@watchglass/store'
import type { ObjectReaders } from '../cells/cell-reader.ts'
import type { RowSelection, ViewQuestion } from '../question/parse-view.ts'
import { CountFold } from './count-fold.ts'
import { OrderFold, rowBytes } from './order-fold.ts'
import { type RowFold, StoreFollower } from './store-follower.ts'

export interface OrderKeeperOptions {
  /** Whether there is memory for as many bytes more. */
  readonly fits?: ((bytes: number) => boolean) | undefined
}

/** The keyspace that is asked of, by whom, and when. */
export interface AskedOf extends ObjectReaders {
  readonly store: Keyspace
  readonly user?: string | undefined
  /** The wall clock. */
  readonly wallMs: number
  /** The monotonic clock. */
  readonly nowMs: number
}

/** A fold with what keeps it up to date. */
export interface Kept<Fold extends RowFold & { readonly bytes: number }> {
  readonly fold: Fold
  readonly follower: StoreFollower
  readonly store: Keyspace
}

export type KeptRows = Kept<OrderFold>
export type KeptCounts = Kept<CountFold>

/** Something kept that a live view shows. */
export interface Pinned<Fold extends RowFold & { readonly bytes: number }> {
  readonly kept: Kept<Fold>
  /** True once it has been let go of all the same: there is no memory, or other contents. */
  readonly isOver: () => boolean
  /** The view is over. */
  readonly release: () => void
}

interface Held {
  readonly kept: KeptRows | KeptCounts
  readonly name: string
  /** The encoder of the definition that objects are read by. */
  readonly encoder: ObjectEncoder
  usedAtMs: number
  pins: number
}

interface OfKeyspace {
  readonly store: Keyspace
  readonly policy: IndexPolicy
  readonly held: Map<string, Held>
}

const idleMs = 5 * 60_000
/** Orders and counts that live views show. Each takes some microseconds for each change while it is
 *  looked at. */
const pinnedMax = 256
/** A place has the key of its object behind what its columns are. */
const expectedPlaceBytes = 100
/** To choose and sort fewer rows than this takes as long as to find them in an order. */
const rowsMin = 64

export class OrderKeeper {
  readonly #fits: (bytes: number) => boolean
  readonly #keyspaces = new Map<Key, OfKeyspace>()
  #pinned = 0

  constructor({ fits = () => true }: OrderKeeperOptions = {}) {
    this.#fits = fits
  }

  /** The memory that everything takes. */
  get bytes(): number {
    let sum = 0
    for (const { held } of this.#keyspaces.values()) {
      for (const { kept } of held.values()) sum += kept.fold.bytes
    }
    return sum
  }

  /** Lets go of what was used least recently until at most so much is left; of what live views
   *  show last. */
  dropTo(bytes: number): void {
    const all = [...this.#keyspaces.values()].flatMap(of =>
      [...of.held.values()].map(one => ({ of, one })),
    )
    all.sort(({ one: a }, { one: b }) => a.pins - b.pins || a.usedAtMs - b.usedAtMs)
    let left = this.bytes
    for (const { of, one } of all) {
      if (left <= bytes) return
      left -= one.kept.fold.bytes
      this.#drop(of, one)
    }
  }

  /** Lets go of what nobody has asked for lately. */
  dropIdle(nowMs: number): void {
    for (const [keyspace, of] of this.#keyspaces) {
      for (const one of of.held.values()) {
        if (one.pins === 0 && nowMs - one.usedAtMs > idleMs) this.#drop(of, one)
      }
      if (of.held.size === 0) this.#keyspaces.delete(keyspace)
    }
  }

  /** Lets go of all of a keyspace, which has other contents or another meaning now. */
  forget(keyspace: Key): void {
    const of = this.#keyspaces.get(keyspace)
    if (of === undefined) return
    for (const one of of.held.values()) this.#drop(of, one)
    this.#keyspaces.delete(keyspace)
  }

  /** True if what the question is answered from is there, and was up to date when it was last asked
   *  for. */
  isKept(question: ViewQuestion): boolean {
    const isOfCounts = question.countBy.length > 0
    const name = isOfCounts ? countsName(question) : rowsName(question)
    const held = this.#keyspaces.get(question.plan.keyspace)?.held.get(name)
    return held?.kept.follower.revision !== undefined
  }

  /** The order of a question; undefined if it is not kept, since it was asked for the first time or
   *  there is no room. */
  rows(selection: RowSelection, asked: AskedOf): KeptRows | undefined {
    return this.#find(
      rowsName(selection),
      selection,
      asked,
      () => new OrderFold(selection, asked, asked.wallMs),
    )
  }

  /** The counts of a question, likewise. */
  counts(question: ViewQuestion, asked: AskedOf): KeptCounts | undefined {
    return this.#find(
      countsName(question),
      question,
      asked,
      () => new CountFold(question, question.countBy, asked),
    )
  }

  /** The order of a live view's question, which is kept from now on; or that there is no room. */
  pinRows(selection: RowSelection, asked: AskedOf): Pinned<OrderFold> | 'full' {
    return this.#pin(
      rowsName(selection),
      selection,
      asked,
      () => new OrderFold(selection, asked, asked.wallMs),
    )
  }

  /** The counts of a live view's question, likewise. */
  pinCounts(question: ViewQuestion, asked: AskedOf): Pinned<CountFold> | 'full' {
    return this.#pin(
      countsName(question),
      question,
      asked,
      () => new CountFold(question, question.countBy, asked),
    )
  }

  #find<Fold extends OrderFold | CountFold>(
    name: string,
    { plan }: RowSelection,
    asked: AskedOf,
    create: () => Fold,
  ): Kept<Fold> | undefined {
    const of = this.#keyspaceOf(plan.keyspace, asked.store)
    const known = this.#knownOf(of, name, asked)
    const count = asked.store.latest().count(plan.range)
    if (known === undefined) {
      if (count < rowsMin || !this.#fits(count * (rowBytes + expectedPlaceBytes))) return undefined
    }
    for (const change of of.policy.asked([name], asked.user)) {
      const old = of.held.get(change.name)
      if (change.type === 'drop' && old?.pins === 0) of.held.delete(change.name)
      if (change.type === 'add' && old === undefined) this.#create(of, name, asked, create)
    }
    const held = of.held.get(name)
    if (held !== undefined) held.usedAtMs = asked.nowMs
    return held?.kept as Kept<Fold> | undefined
  }

  #pin<Fold extends OrderFold | CountFold>(
    name: string,
    { plan }: RowSelection,
    asked: AskedOf,
    create: () => Fold,
  ): Pinned<Fold> | 'full' {
    const of = this.#keyspaceOf(plan.keyspace, asked.store)
    const known = this.#knownOf(of, name, asked)
    if ((known?.pins ?? 0) === 0 && this.#pinned >= pinnedMax) return 'full'
    if (known === undefined) {
      const count = asked.store.latest().count(plan.range)
      if (!this.#fits(count * (rowBytes + expectedPlaceBytes))) return 'full'
    }
    const held = known ?? this.#create(of, name, asked, create)
    if (held.pins++ === 0) this.#pinned++
    let isReleased = false
    return {
      kept: held.kept as Kept<Fold>,
      isOver: () => of.held.get(name) !== held,
      release: () => {
        if (isReleased) return
        isReleased = true
        if (--held.pins > 0) return
        this.#pinned--
        held.usedAtMs = asked.nowMs
        if (!of.policy.names.includes(name)) this.#drop(of, held)
      },
    }
  }

  #knownOf(of: OfKeyspace, name: string, { encoder }: AskedOf): Held | undefined {
    const held = of.held.get(name)
    if (held === undefined || held.encoder === encoder) return held
    this.#drop(of, held)
    return undefined
  }

  #create(
    of: OfKeyspace,
    name: string,
    { store, encoder, nowMs }: AskedOf,
    create: () => OrderFold | CountFold,
  ): Held {
    const fold = create()
    const kept = { fold, store, follower: new StoreFollower(store, fold) } as KeptRows | KeptCounts
    const held = { kept, name, encoder, usedAtMs: nowMs, pins: 0 }
    of.held.set(name, held)
    return held
  }

  #drop(of: OfKeyspace, one: Held): void {
    if (of.held.get(one.name) === one) of.held.delete(one.name)
    of.policy.forget(one.name)
  }

  /** A keyspace that was dropped and has come back is another store. */
  #keyspaceOf(keyspace: Key, store: Keyspace): OfKeyspace {
    const known = this.#keyspaces.get(keyspace)
    if (known?.store === store) return known
    const of = { store, policy: new IndexPolicy(), held: new Map<string, Held>() }
    this.#keyspaces.set(keyspace, of)
    return of
  }
}

function rowsName({ name }: RowSelection): string {
  return `rows ${name}`
}

function countsName({ name, countBy }: ViewQuestion): string {
  return `counts ${name} ${JSON.stringify(countBy.map(({ id }) => id))}`
}
