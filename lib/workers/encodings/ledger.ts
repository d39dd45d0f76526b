/** In the main thread: which encoded leaves are kept, under one budget for all threads.
 *
 *  ```
 *  worker            main thread                 other workers
 *  encodes, finds it  ──▶ made ─▶ a slot         ──▶  kept: found from now on
 *                     ◀── placed
 *  finds it no more   ◀── dropped, in order after  ──▶ found no more
 *  ```
 *
 *  A segment is complete before its thread tells of it, so a thread that dies leaves nothing half
 *  made: what it told of stays, what it did not is gone with it. Nothing is counted for readers:
 *  whoever still sends a segment holds its memory, which goes when the last one lets go. A slot is
 *  only a number by which it is dropped, and is used again in order after that.
 *
 *  What was used least recently is dropped when the budget is exceeded, an eighth of it at once,
 *  since finding it takes a look at all; and what nobody has used for a while. */

import { assert } from '@watchglass/base'
import type { ToLedger, ToShelf } from './messages.ts'
import { SharedSegment } from './shared-segment.ts'
import { SegmentUsage } from './usage.ts'

export interface LedgerOptions {
  readonly maxBytes: number
  /** Number of segments that may be kept. */
  readonly slots: number
  /** Periods without use after which a segment is dropped. */
  readonly periodsKept: number
  /** Called with the bytes that are no longer held here. */
  readonly onReleased: (bytes: number) => void
}

/** A worker that is told. */
export type TellShelf = (message: ToShelf) => void

interface Entry {
  readonly name: string
  readonly segment: SharedSegment
  readonly slot: number
}

/** When room is made, so much of the budget is free afterwards. */
const freedShare = 1 / 8
/** A thread that begins is told of so many segments in one message. */
const toldAtOnce = 256

export class SegmentLedger {
  readonly usage: SegmentUsage
  readonly #options: LedgerOptions
  readonly #threads = new Set<TellShelf>()
  readonly #entries: (Entry | undefined)[] = []
  readonly #free: number[] = []
  readonly #byName = new Map<string, Map<number, Entry>>()
  #bytes = 0
  #count = 0

  constructor(options: LedgerOptions) {
    this.#options = options
    this.usage = SegmentUsage.create(options.slots, options.maxBytes)
  }

  get bytes(): number {
    return this.#bytes
  }

  get count(): number {
    return this.#count
  }

  /** Tells a thread what there is, and what changes, until the returned function is called. */
  attach(tell: TellShelf): () => void {
    for (const [name, byPlace] of this.#byName) {
      const all = [...byPlace.values()].map(({ slot, segment: { memory } }) => ({ slot, memory }))
      for (let from = 0; from < all.length; from += toldAtOnce) {
        tell({ type: 'kept', name, segments: all.slice(from, from + toldAtOnce) })
      }
    }
    this.#threads.add(tell)
    return () => void this.#threads.delete(tell)
  }

  /** Takes what a thread has made. What it replaces is dropped after it was told of, so that no
   *  slot is told of twice. */
  take({ name, segments: made }: ToLedger, maker: TellShelf): void {
    this.#makeSlots(made.length)
    const placed: { id: number; slot: number | undefined }[] = []
    const kept: { slot: number; memory: SharedArrayBuffer }[] = []
    const replaced: Entry[] = []
    for (const { id, memory } of made) {
      const slot = this.#add({ name, segment: new SharedSegment(memory) }, replaced)
      placed.push({ id, slot })
      if (slot !== undefined) kept.push({ slot, memory })
    }
    maker({ type: 'placed', segments: placed })
    if (kept.length > 0) {
      for (const tell of this.#threads) {
        if (tell !== maker) tell({ type: 'kept', name, segments: kept })
      }
    }
    this.#drop(replaced)
    const { maxBytes } = this.#options
    if (this.#bytes > maxBytes) this.dropTo(maxBytes * (1 - freedShare))
    this.usage.keep(this.#bytes)
  }

  /** Drops what was used least recently until at most `bytes` are left. */
  dropTo(bytes: number): void {
    if (this.#bytes > bytes) this.#dropOldest(this.#bytes - bytes, 0)
  }

  /** Ends a period, and drops what was not used for too many of them. */
  nextPeriod(): void {
    this.usage.nextPeriod()
    const { periodsKept } = this.#options
    this.#drop(this.#entries.filter(entry => entry !== undefined && this.#age(entry) > periodsKept))
  }

  /** Its slot; undefined if there is a segment of the same entries already. */
  #add({ name, segment }: Omit<Entry, 'slot'>, replaced: Entry[]): number | undefined {
    let byPlace = this.#byName.get(name)
    if (byPlace === undefined) this.#byName.set(name, (byPlace = new Map()))
    const known = byPlace.get(segment.firstPlace)
    if (known?.segment.equals(segment) === true) return undefined
    if (known !== undefined) replaced.push(known)
    const slot = this.#free.pop() ?? this.#entries.length
    assert(this.#entries[slot] === undefined, 'a slot has one segment, which is written once')
    const entry = { name, segment, slot }
    this.#entries[slot] = entry
    byPlace.set(segment.firstPlace, entry)
    this.usage.use(slot)
    this.#bytes += segment.size
    this.#count++
    return slot
  }

  #makeSlots(needed: number): void {
    const { slots } = this.#options
    const free = slots - this.#count
    if (free < needed) this.#dropOldest(0, Math.max(needed - free, slots * freedShare))
  }

  #age(entry: Entry): number {
    return this.usage.period - this.usage.usedIn(entry.slot)
  }

  /** At least so many bytes and segments, without sorting what may be tens of thousands. */
  #dropOldest(bytes: number, segments: number): void {
    const { periodsKept } = this.#options
    const byAge: Entry[][] = []
    for (const entry of this.#entries) {
      if (entry === undefined) continue
      const age = Math.max(0, Math.min(this.#age(entry), periodsKept))
      ;(byAge[age] ??= []).push(entry)
    }
    const dropped: Entry[] = []
    let freed = 0
    for (let age = periodsKept; age >= 0; age--) {
      for (const entry of byAge[age] ?? []) {
        if (freed >= bytes && dropped.length >= segments) break
        dropped.push(entry)
        freed += entry.segment.size
      }
    }
    this.#drop(dropped)
  }

  #drop(entries: readonly (Entry | undefined)[]): void {
    const slots: number[] = []
    for (const entry of entries) {
      if (entry === undefined || this.#entries[entry.slot] !== entry) continue
      const { name, segment, slot } = entry
      slots.push(slot)
      this.#entries[slot] = undefined
      this.#free.push(slot)
      const byPlace = this.#byName.get(name)
      if (byPlace?.get(segment.firstPlace) === entry) byPlace.delete(segment.firstPlace)
      if (byPlace?.size === 0) this.#byName.delete(name)
      this.#bytes -= segment.size
      this.#count--
      this.#options.onReleased(segment.size)
    }
    if (slots.length === 0) return
    for (const tell of this.#threads) tell({ type: 'dropped', slots })
    this.usage.keep(this.#bytes)
  }
}
