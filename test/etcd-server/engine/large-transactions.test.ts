/** A transaction of many changes is made in steps, while others are answered. */

import t from 'tap'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import { changesAtOnce } from '../../../lib/etcd-server/engine/at-once.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { Transaction } from '../../../lib/etcd-server/engine/kv.ts'
import type { Lane, Scheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { PreparedBatch } from '../../../lib/store/prepared-batch.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const count = 60_000

/** Messages that the test delivers one by one. */
class Turns implements Scheduler {
  readonly #tasks: (() => void)[] = []

  createLane(): Lane {
    const post = (task: () => void): void => void this.#tasks.push(task)
    return { post, postFirst: post, close: () => {} }
  }

  /** False if nothing waits. */
  next(): boolean {
    const task = this.#tasks.shift()
    task?.()
    return task !== undefined
  }
}

/** A method as it is before a test puts its own in its place. */
function unboundOf<T extends object, K extends keyof T>(prototype: T, name: K): T[K] {
  return prototype[name]
}

/** Counts what is done since the last look: deletes that are gathered, and changes of the tree. */
function countWork(): () => number {
  let done = 0
  const gather = unboundOf(Transaction.prototype, 'delete')
  Transaction.prototype.delete = function (entry) {
    done++
    gather.call(this, entry)
  }
  const step = unboundOf(PreparedBatch.prototype, 'step')
  const made = new Map<PreparedBatch, number>()
  PreparedBatch.prototype.step = function (maxChanges) {
    const before = made.get(this) ?? 0
    const after = Math.min(this.changes.length, before + maxChanges)
    made.set(this, after)
    done += after - before
    return step.call(this, maxChanges)
  }
  return () => {
    const now = done
    done = 0
    return now
  }
}

t.test('60,000 deletes of a transaction hold nobody for longer than a thousand', async t => {
  const turns = new Turns()
  const clock = new FakeClock()
  const engine = new Engine({ clock, random: createRandom(1), scheduler: turns })
  const [member] = engine.members
  const at = revision(10)
  const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
  const value = { bytes: Buffer.from('v'), start: 0, end: 1 }
  const key = (i: number) => keyFromText(`/k/${String(i).padStart(6, '0')}`)
  engine.loadBase(
    at,
    Array.from({ length: count }, (_, i) => new KeyValue(key(i), value, meta)),
  )
  const work = countWork()
  const outcomes: string[] = []
  const range = { key: keyFromText('/k/'), rangeEnd: keyFromText('/k0'), previous: false }
  member!.deleteRange(range, outcome =>
    outcomes.push('deleted' in outcome ? `deleted ${outcome.deleted}` : 'failed'),
  )
  const put = { key: key(7), value: Buffer.from('n'), lease: 0n, previous: false }
  member!.put({ ...put, ignoreValue: false, ignoreLease: false }, outcome =>
    outcomes.push('code' in outcome ? 'failed' : 'put'),
  )
  t.strictSame(outcomes, [], 'what comes meanwhile waits for its turn')
  t.equal(member!.count(allKeys), count, 'nothing of it is seen before it is whole')
  let longest = work()
  let steps = 1
  while (turns.next()) {
    longest = Math.max(longest, work())
    steps++
  }
  t.strictSame(outcomes, [`deleted ${count}`, 'put'])
  t.equal(member!.count(allKeys), 1)
  t.equal(engine.revision, 12)
  // The step in which the last are gathered also begins to change the tree, or ends it.
  t.ok(longest <= 3 * changesAtOnce, `${longest} in the longest of ${steps} steps`)
  engine.close()
})
