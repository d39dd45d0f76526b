/** A large list that nobody has encoded yet, encoded ahead of where it is read: by other threads, and by this one while it would wait for
 *  them.
 *
 *  ```
 *  leaves    | read, written | being read | done | asked | asked | open | open | not looked at ...
 *                            ▲ the list                                        ▲ the window ends
 *  ```
 *
 *  The list reads its leaves in order as any other, and finds most of them encoded. What it does not find it encodes itself, so that
 *  nothing depends on the others: they only save work. It looks ahead as far as the window reaches, and no more once it is given up. */

import type { Clock } from '../../base/clock.ts'
import { type Key, keyAfter } from '../../base/keys.ts'
import { Slice } from '../../base/slice.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { itemEncoder } from '../../codec/output/list-body.ts'
import { itemsOfRun, type Run } from '../../codec/output/segments.ts'
import type { Shown } from '../../codec/served/object-encoder.ts'
import type { Stretch } from '../../threads/encodings/stretches.ts'
import type { ListPlan } from '../../kube/read-plan.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { LeafSlice } from '../../store/btree.ts'
import type { KeyValue } from '../../store/event.ts'
import type { ApiOptions } from '../handler/api.ts'
import type { ShownAs } from './list.ts'

export interface AheadOptions {
  readonly slices: Iterable<LeafSlice<KeyValue>>
  /** Whether a leaf is encoded already. */
  readonly isKept: (run: Run) => boolean
  /** Encodes a leaf here; false if it cannot be. */
  readonly encode: (run: Run) => boolean
  /** Has another thread encode the leaves between two keys. */
  readonly ask: (start: Key, end: Key) => Promise<void>
  /** How many others there are. */
  readonly others: number
  /** Whether there is room for what is encoded ahead, and anybody who waits for it. */
  readonly isWorthwhile: () => boolean
  readonly clock: Clock
}

type StretchState = 'open' | 'asked' | 'done'

/** Some leaves that are encoded together. */
interface Part {
  readonly slices: readonly LeafSlice<KeyValue>[]
  /** Stored bytes. */
  readonly bytes: number
  state: StretchState
  /** How many of them this thread has encoded ahead. */
  encoded: number
  /** Called when another thread has done it. */
  onDone: () => void
}

/** Stored bytes of a stretch: some hundred pods, which take some milliseconds. */
const stretchBytes = 768 * 1024
/** Stored bytes that are looked ahead. */
const windowBytes = 12 * 1024 * 1024
/** What another thread is asked at once, so that it need not wait for the next. */
const askedEach = 2
/** Shorter than usual: all processors may be busy with this list. */
const sliceMs = 2
/** So long another thread is waited for, when there is nothing left to encode here. */
const lateMs = 50
/** Threads that were late so often are asked no more. */
const lateMax = 3

export class Ahead {
  readonly #options: AheadOptions
  /** From the one that is read on. */
  #parts: Part[] = []
  #asked = 0
  #late = 0
  /** What the list waits for. */
  #awaited: Part | undefined

  constructor(options: AheadOptions) {
    this.#options = options
  }

  /** The leaves of the list, with an empty run wherever the next ones are still being encoded: then `more` must be awaited. */
  readonly runs: Iterable<Run> = { [Symbol.iterator]: () => this.#read() }

  /** Waits until the next leaves are encoded, and encodes others meanwhile. */
  async more(): Promise<void> {
    const awaited = this.#awaited
    if (awaited === undefined) return
    const { clock } = this.#options
    const slice = new Slice(clock, sliceMs)
    while (awaited.state === 'asked') {
      if (!this.#encodeOne()) await this.#done(awaited)
      else if (slice.isOver) await slice.next()
    }
  }

  /** Resolves when another thread has done it. There is nothing else to do here: if that takes long, it is encoded here. */
  #done(part: Part): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.setTimer(lateMs, () => {
        part.state = 'open'
        this.#late++
        resolve()
      })
      part.onDone = () => {
        cancel()
        resolve()
      }
    })
  }

  *#read(): Generator<Run, void, undefined> {
    const slices = this.#options.slices[Symbol.iterator]()
    this.#parts = []
    try {
      for (;;) {
        this.#look(slices)
        const [part] = this.#parts
        if (part === undefined) return
        while (part.state === 'asked') {
          this.#awaited = part
          yield nothingYet
        }
        this.#awaited = undefined
        // What is left of it is encoded as it is read.
        part.state = 'done'
        this.#askOthers()
        yield* part.slices
        this.#parts.shift()
      }
    } finally {
      this.#parts = []
      this.#awaited = undefined
      slices.return?.()
    }
  }

  /** Looks ahead as far as the window reaches, at a few stretches at once: looking at thousands of objects takes time, too. */
  #look(slices: Iterator<LeafSlice<KeyValue>>): void {
    const most = 1 + this.#options.others * askedEach
    let bytes = this.#parts.reduce((sum, part) => sum + part.bytes, 0)
    for (let looked = 0; looked < most && bytes < windowBytes; looked++) {
      const part = this.#partOf(slices)
      if (part === undefined) return
      this.#parts.push(part)
      bytes += part.bytes
    }
  }

  #partOf(slices: Iterator<LeafSlice<KeyValue>>): Part | undefined {
    const some: LeafSlice<KeyValue>[] = []
    let bytes = 0
    while (bytes < stretchBytes) {
      const { done, value } = slices.next()
      if (done === true) break
      some.push(value)
      bytes += bytesOf(value)
    }
    const [first] = some
    if (first === undefined) return undefined
    const state = this.#options.isKept(first) ? 'done' : 'open'
    return { slices: some, bytes, state, encoded: 0, onDone: () => {} }
  }

  /** The next stretches that nobody has begun go to the others. */
  #askOthers(): void {
    const { others, isWorthwhile } = this.#options
    if (this.#late >= lateMax || !isWorthwhile()) return
    for (const part of this.#parts) {
      if (this.#asked >= others * askedEach) return
      if (part.state === 'open' && part.encoded === 0) this.#ask(part)
    }
  }

  #ask(part: Part): void {
    const { slices } = part
    const [first, last] = [slices[0]!, slices.at(-1)!]
    const start = first.entries[first.from]!.key
    const end = keyAfter(last.entries[last.to - 1]!.key)
    part.state = 'asked'
    this.#asked++
    void this.#options.ask(start, end).then(() => {
      this.#asked--
      if (part.state === 'asked') part.state = 'done'
      part.onDone()
      this.#askOthers()
    })
  }

  /** Encodes a leaf of the next stretch that nobody was asked for. False if there is none. */
  #encodeOne(): boolean {
    const { encode, isWorthwhile } = this.#options
    const part = isWorthwhile() ? this.#parts.find(({ state }) => state === 'open') : undefined
    const slice = part?.slices[part.encoded]
    if (part === undefined || slice === undefined) return false
    part.encoded++
    const isWhole = slice.from === 0 && slice.to === slice.size
    // The list comes to what cannot be encoded, and says so.
    if (isWhole && !encode(slice)) part.encoded = part.slices.length
    if (part.encoded === part.slices.length) part.state = 'done'
    return true
  }
}

const nothingYet: Run = { entries: [], from: 0, to: 0, leaf: undefined }

function bytesOf({ entries, from, to }: LeafSlice<KeyValue>): number {
  let bytes = 0
  for (let i = from; i < to; i++) bytes += entries[i]!.valueLength
  return bytes
}

/** A list of fewer objects is written in some milliseconds. */
const minItems = 2_000
/** What the other threads are just encoding is not counted yet. */
const minRoomBytes = 48 * 1024 * 1024

/** The list that may be looked ahead in. */
export interface AheadList extends ShownAs {
  readonly plan: ListPlan
  readonly slices: Iterable<LeafSlice<KeyValue>>
  readonly items: number
  readonly pace: Clock
  readonly isOver: () => boolean
}

/** Looks ahead in a large list whose beginning is not encoded; undefined where that is of no use. */
export function aheadOf(
  { plan, slices, items, encoder, shown, pace, isOver }: AheadList,
  { sharedSegments: shared, otherThreads }: Pick<ApiOptions, 'sharedSegments' | 'otherThreads'>,
): Ahead | undefined {
  const perItem = itemEncoder(encoder, shown)
  const { sharedName: name } = perItem
  if (shared === undefined || otherThreads === undefined || name === undefined) return undefined
  if (items < minItems) return undefined
  const isKept = (run: Run): boolean => shared.find(name, run) !== undefined
  const [first] = slices
  if (first === undefined || isKept(first)) return undefined
  const { keyspace, resource } = plan
  return new Ahead({
    slices,
    isKept,
    encode: run => !(itemsOfRun(run, perItem, { shared }) instanceof NotExact),
    ask: (start, end) =>
      otherThreads.ask({ keyspace, resource: nameOf(resource), shown: formOf(shown), start, end }),
    others: otherThreads.count,
    isWorthwhile: () => shared.room > minRoomBytes && !isOver(),
    clock: pace,
  })
}

function nameOf({ group, version, resource }: Resource): Stretch['resource'] {
  return { group, version, resource }
}

function formOf({ encoding, rendering, renderingVersion }: Shown): Stretch['shown'] {
  return { encoding, rendering, renderingVersion }
}
