/** Leases: which exist, until when, and which keys they hold. Deleting the keys of a lease that
 *  ends is left to the engine, which does it at one revision. */

import { Alarm, type Clock, Heap, type Key, type Random, randomInt } from '@watchglass/base'
import { noLease } from '@watchglass/store'
import { EtcdError } from '@watchglass/etcd'
import type { RecoveredLease } from './journal.ts'

/** etcd raises what is below: one and a half election timeouts of a second, rounded up. */
const minTtlSeconds = 2

/** The longest lease that etcd grants. */
const maxTtlSeconds = 9_000_000_000

export interface EngineLease {
  readonly id: bigint
  /** Granted, which may be more than was asked for. */
  readonly ttlSeconds: number
  readonly keys: ReadonlySet<Key>
  readonly expiresAtMs: number
}

interface OwnLease extends EngineLease {
  readonly keys: Set<Key>
  expiresAtMs: number
}

export class Lessor {
  readonly #clock: Clock
  readonly #random: Random
  readonly #expire: (lease: EngineLease) => void
  readonly #leases = new Map<bigint, OwnLease>()
  /** By a time at which each was to expire; one that was kept alive since is put back when its turn
   *  comes. */
  readonly #queue = new Heap<{ readonly atMs: number; readonly lease: OwnLease }>(
    (a, b) => a.atMs - b.atMs,
  )
  readonly #alarm: Alarm

  /** `expire` is called for each lease whose time is over, and has to call `remove`, or `wait` if
   *  the lease was kept alive before it could end. */
  constructor(clock: Clock, random: Random, expire: (lease: EngineLease) => void) {
    this.#clock = clock
    this.#random = random
    this.#expire = expire
    this.#alarm = new Alarm(clock, () => this.#expireDue())
  }

  has(id: bigint): boolean {
    return this.#leases.has(id)
  }

  get(id: bigint): EngineLease | undefined {
    return this.#leases.get(id)
  }

  /** All leases, the one that expires first first. */
  all(): EngineLease[] {
    return [...this.#leases.values()].sort((a, b) => a.expiresAtMs - b.expiresAtMs)
  }

  /** Grants a lease; an id of 0 lets us choose one. */
  grant(id: bigint, ttlSeconds: number): EngineLease {
    if (ttlSeconds > maxTtlSeconds) throw new EtcdError('leaseTtlTooLarge')
    if (this.#leases.has(id)) throw new EtcdError('leaseExists')
    const granted = Math.max(ttlSeconds, minTtlSeconds)
    const lease: OwnLease = {
      id: id === noLease ? this.#newId() : id,
      ttlSeconds: granted,
      keys: new Set(),
      expiresAtMs: this.#clock.monotonicMs() + granted * 1000,
    }
    this.#leases.set(lease.id, lease)
    this.#enqueue(lease)
    return lease
  }

  /** Takes a lease over with what is left of its time. */
  recover({ id, ttlSeconds, remainingMs }: RecoveredLease): void {
    const expiresAtMs = this.#clock.monotonicMs() + remainingMs
    const lease: OwnLease = { id, ttlSeconds, keys: new Set(), expiresAtMs }
    this.#leases.set(id, lease)
    this.#enqueue(lease)
  }

  /** Makes a lease live for its whole time again; `undefined` when there is none. */
  renew(id: bigint): EngineLease | undefined {
    const lease = this.#leases.get(id)
    if (lease !== undefined) {
      lease.expiresAtMs = this.#clock.monotonicMs() + lease.ttlSeconds * 1000
    }
    return lease
  }

  /** Whole seconds that the lease has left. */
  remainingSeconds(lease: EngineLease): number {
    return Math.trunc((lease.expiresAtMs - this.#clock.monotonicMs()) / 1000)
  }

  remove(id: bigint): void {
    this.#leases.delete(id)
    // Leases that end early must not stay in the queue until their time: there may be many.
    if (this.#queue.size > 2 * this.#leases.size + 64) {
      this.#queue.retain(({ lease }) => this.#leases.get(lease.id) === lease)
    }
  }

  attach(id: bigint, key: Key): void {
    this.#leases.get(id)?.keys.add(key)
  }

  detach(id: bigint, key: Key): void {
    if (id !== noLease) this.#leases.get(id)?.keys.delete(key)
  }

  /** Lets a lease expire at its time, again. */
  wait(lease: EngineLease): void {
    const own = this.#leases.get(lease.id)
    if (own !== undefined) this.#enqueue(own)
  }

  /** Forgets all leases, and lets no more expire. */
  clear(): void {
    this.#leases.clear()
    this.#queue.takeAll()
    this.#alarm.clear()
  }

  #newId(): bigint {
    for (;;) {
      const high = BigInt(randomInt(this.#random, 0, 0x7fff_ffff))
      const low = BigInt(randomInt(this.#random, 0, 0xffff_ffff))
      const id = (high << 32n) | low
      if (id !== noLease && !this.#leases.has(id)) return id
    }
  }

  #enqueue(lease: OwnLease): void {
    this.#queue.add({ atMs: lease.expiresAtMs, lease })
    this.#alarm.set(lease.expiresAtMs)
  }

  #expireDue(): void {
    const nowMs = this.#clock.monotonicMs()
    for (let first = this.#queue.first; first !== undefined; first = this.#queue.first) {
      if (first.atMs > nowMs) break
      this.#queue.take()
      const { lease } = first
      if (this.#leases.get(lease.id) !== lease) continue
      if (lease.expiresAtMs > nowMs) this.#queue.add({ atMs: lease.expiresAtMs, lease })
      else this.#expire(lease)
    }
    this.#alarm.set(this.#queue.first?.atMs ?? Infinity)
  }
}
