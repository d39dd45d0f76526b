/** Encoded leaves that threads share: whatever is found is what was encoded of exactly these
 *  entries, whatever is late, dropped or dead. */

import fc from 'fast-check'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { SegmentLedger } from '../../../lib/workers/encodings/ledger.ts'
import type { ToLedger, ToShelf } from '../../../lib/workers/encodings/messages.ts'
import { createPlaceOf } from '../../../lib/workers/encodings/shared-segment.ts'
import { SegmentShelf } from '../../../lib/workers/encodings/shelf.ts'
import { SegmentUsage } from '../../../lib/workers/encodings/usage.ts'
import type { Run } from '../../../lib/codec/output/segments.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'

const slabs = [1, 2, 3].map(() => Buffer.from(new SharedArrayBuffer(1024)))
const slabOf = (bytes: Uint8Array): number | undefined => {
  const index = slabs.findIndex(slab => slab === bytes)
  return index === -1 ? undefined : index
}
const placeOf = createPlaceOf(slabOf)

function entryAt(place: number, at: number): KeyValue {
  const bytes = slabs[Math.floor(place / 64)]!
  const start = (place % 64) * 16
  const meta = {
    createRevision: revision(1),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  }
  return new KeyValue(keyFromText(`/r/${place}`), { bytes, start, end: start + 16 }, meta)
}

/** A leaf in one of its states: some of its entries have changed. */
function leafRun(leaf: number, state: number): Run {
  const size = 2 + (leaf % 3)
  const first = leaf * 8 + (state >> 2)
  const entries = Array.from({ length: size }, (_, i) =>
    entryAt((first + (i === 0 ? 0 : i + (state & 1))) % 192, 1 + (((state >> 1) + i) % 2)),
  )
  return { entries, from: 0, to: size, leaf: {}, size }
}

/** The same in every thread. */
function encoded(name: string, { entries, size }: Run): { bytes: Buffer; ends: Uint32Array } {
  const texts = entries
    .slice(0, size)
    .map(entry => `${name} ${placeOf(entry)} ${entry.modRevision};`.repeat(1 + (entry.start % 5)))
  let end = 0
  const ends = Uint32Array.from(texts, text => (end += text.length))
  return { bytes: Buffer.from(texts.join('')), ends }
}

const names = ['json', 'protobuf']
const maxBytes = 12_000

/** A thread, and the messages that are under way from it and to it. */
class FakeThread {
  readonly toMain: ToLedger[] = []
  readonly toWorker: ToShelf[] = []
  readonly shelf: SegmentShelf
  readonly detach: () => void
  readonly tell = (message: ToShelf): void => void this.toWorker.push(message)
  heldBytes = 0
  /** Each thread has leaves of its own. */
  readonly #leaves = new Map<string, Run>()
  later: (() => void)[] = []

  constructor(ledger: SegmentLedger) {
    const { memory } = ledger.usage
    this.shelf = new SegmentShelf({
      placeOf,
      usage: new SegmentUsage(memory, maxBytes),
      tell: message => void this.toMain.push(message),
      soon: task => void this.later.push(task),
      onReleased: bytes => (this.heldBytes -= bytes),
    })
    this.detach = ledger.attach(this.tell)
  }

  /** The same leaf each time. */
  leafRun(leaf: number, state: number): Run {
    const name = `${leaf} ${state}`
    const run = this.#leaves.get(name) ?? leafRun(leaf, state)
    this.#leaves.set(name, run)
    return run
  }

  /** As `itemsOfRun` does. */
  list(name: string, run: Run): Buffer {
    const found = this.shelf.find(name, run)
    if (found !== undefined) return Buffer.from(found.bytes)
    const made = this.shelf.keep(name, run, encoded(name, run))
    if (made === undefined) throw new Error('a leaf in shared memory is not kept')
    this.heldBytes += sizeOf(made as { size?: number })
    return Buffer.from(made.bytes)
  }

  deliver(): void {
    const message = this.toWorker.shift()
    if (message === undefined) return
    this.shelf.take(message)
    if (message.type !== 'kept') return
    for (const { memory } of message.segments) this.heldBytes += memory.byteLength + overhead
  }

  runLater(): void {
    for (const task of this.later.splice(0)) task()
  }
}

/** Beside the memory: as shared-segment.ts counts it. */
const overhead = 600
function sizeOf({ size = 0 }: { size?: number }): number {
  return size
}

const threadCount = 3
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('list' as const),
      thread: fc.nat(2),
      name: fc.constantFrom(...names),
      leaf: fc.nat(11),
      state: fc.nat(7),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('send' as const, 'deliver' as const, 'later' as const),
      thread: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('die' as const), thread: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('period' as const, 'drop' as const),
      thread: fc.nat(2),
    }),
  },
)

t.test(
  'what a thread finds was made of the same entries, and all threads end with what the ledger has',
  async () => {
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 30, maxLength: 300 }),
        fc.integer({ min: 3, max: 40 }),
        (steps, slots) => {
          let releasedBytes = 0
          const ledger = new SegmentLedger({
            maxBytes,
            slots: slots + 16,
            periodsKept: 3,
            onReleased: bytes => (releasedBytes += bytes),
          })
          const threads = Array.from({ length: threadCount }, () => new FakeThread(ledger))
          let keptBytes = 0
          const send = (thread: FakeThread): void => {
            const message = thread.toMain.shift()
            if (message === undefined) return
            const before = thread.toWorker.length
            ledger.take(message, thread.tell)
            const placed = thread.toWorker.slice(before).find(({ type }) => type === 'placed')
            for (const [i, { memory }] of message.segments.entries()) {
              const slot = placed?.type === 'placed' ? placed.segments[i]?.slot : undefined
              if (slot !== undefined) keptBytes += memory.byteLength + overhead
            }
            assertEqual(
              ledger.bytes <= maxBytes && ledger.count <= slots + 16,
              true,
              'the budget holds',
            )
            assertEqual(ledger.bytes, keptBytes - releasedBytes, 'what the ledger has')
          }
          for (const one of steps) {
            const thread = threads[one.thread]!
            if (one.type === 'list') {
              const run = thread.leafRun(one.leaf, one.state)
              const { bytes } = encoded(one.name, run)
              assertEqual(thread.list(one.name, run).toString(), bytes.toString(), 'the bytes')
            } else if (one.type === 'send') send(thread)
            else if (one.type === 'deliver') thread.deliver()
            else if (one.type === 'later') thread.runLater()
            else if (one.type === 'period') ledger.nextPeriod()
            else if (one.type === 'drop') ledger.dropTo(ledger.bytes / 2)
            else {
              thread.detach()
              threads[one.thread] = new FakeThread(ledger)
            }
          }
          for (const thread of threads) {
            thread.runLater()
            while (thread.toMain.length > 0) send(thread)
          }
          for (const thread of threads) {
            while (thread.toWorker.length > 0) thread.deliver()
            assertEqual(thread.heldBytes, ledger.bytes, 'what a thread holds')
          }
          for (const name of names) {
            for (let leaf = 0; leaf < 12; leaf++) {
              for (let state = 0; state < 8; state++) {
                const run = leafRun(leaf, state)
                const found = threads.flatMap(thread =>
                  [run, thread.leafRun(leaf, state)].map(
                    one => thread.shelf.find(name, one)?.bytes.length,
                  ),
                )
                assertEqual(new Set(found).size, 1, `leaf ${leaf} in state ${state}`)
              }
            }
          }
        },
      ),
      { numRuns: 150 },
    )
  },
)

function assertEqual<T>(actual: T, expected: T, what: string): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)} is not ${String(expected)}`)
}
