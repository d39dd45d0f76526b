/** Views beside a naive program that lists, filters and sorts: random objects, changes and
 *  questions, at once, at revisions that are held, and live. `VIEW_QUESTIONS=100000` asks more. */

import assert from 'node:assert/strict'
import t from 'tap'
import { createRandom, type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import type { LiveView } from '../../lib/views/live/live-view.ts'
import type { ViewPieces } from '../../lib/views/documents/view-document.ts'
import { effort } from '../support/effort.ts'
import { drained } from '../support/kube/outputs.ts'
import { allSteps } from '../support/steps.ts'
import { cellsOf, type ModelPod, objectOf, randomPod } from '../support/views/model-pod.ts'
import {
  naiveGroups,
  type NaiveQuestion,
  naiveRows,
  queryOf,
  randomQuestion,
  shownColumns,
} from '../support/views/naive-view.ts'
import { questionOf, ViewWorld } from '../support/views/view-world.ts'

const questions = Number(process.env['VIEW_QUESTIONS'] ?? 3000) * effort

interface Row {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly revision: string
  readonly cells: unknown
}

interface Answer {
  readonly revision: string
  readonly total: number
  readonly matched: number
  readonly remaining: number
  readonly after?: string
  readonly rows: readonly Row[]
  readonly groups: readonly { values: string[]; count: number }[]
}

type Change = Partial<Omit<Answer, 'rows'>> & {
  readonly type: string
  readonly left: readonly string[]
  readonly rows: readonly { readonly index: number; readonly row: Row }[]
  readonly removed: readonly (readonly string[])[]
}

/** A live view, and what its client has made of the documents. */
interface Watched {
  readonly naive: NaiveQuestion
  readonly view: LiveView
  state: Answer
}

class ModelRun {
  readonly #random: Random
  readonly #world = new ViewWorld()
  #pods = new Map<string, ModelPod>()
  /** The pods at each revision. */
  readonly #held = new Map<number, readonly ModelPod[]>()
  readonly #pool: { readonly naive: NaiveQuestion; readonly query: Record<string, string> }[]
  #watched: Watched[] = []
  asked = 0

  constructor(seed: number) {
    this.#random = createRandom(seed)
    this.#pool = Array.from({ length: 12 }, () => {
      const naive = randomQuestion(this.#random)
      return { naive, query: queryOf(naive, this.#random) }
    })
    const size = randomItem(this.#random, [0, 5, 60, 220])
    this.#change(size)
  }

  step(): void {
    const random = this.#random
    if (random.next() < 0.5) this.#change(1 + randomInt(random, 0, 3))
    this.#world.wallMs += randomItem(random, [0, 0, 500, 1_000, 60_000, 3_600_000])
    const { naive, query } = randomItem(random, this.#pool)
    const kind = random.next()
    if (kind < 0.1) this.#open(naive, query)
    else if (kind < 0.2) this.#hold(naive, query)
    else if (kind < 0.25) this.#walk(naive, query)
    else this.#compare(naive, this.#ask(naive, query), [...this.#pods.values()])
    this.#follow()
    if (random.next() < 0.02) this.#world.views.dropTo(0)
  }

  close(): void {
    for (const { view } of this.#watched) view.close()
  }

  #change(count: number): void {
    const random = this.#random
    const at = this.#world.revision + 1
    const changes = new Map<string, object | undefined>()
    for (let i = 0; i < count; i++) {
      const namespace = randomItem(random, ['one', 'two', 'two-2'])
      const name = `p${randomInt(random, 0, 99)}`
      const key = `${namespace}/${name}`
      const old = this.#pods.get(key)
      if (changes.has(key)) continue
      if (old !== undefined && random.next() < 0.3) {
        this.#pods.delete(key)
        changes.set(key, undefined)
        continue
      }
      const nowMs = Math.floor(this.#world.wallMs / 1000) * 1000
      const pod = randomPod(random, { namespace, name, revision: at }, { nowMs, old })
      this.#pods.set(key, pod)
      changes.set(key, objectOf(pod))
    }
    const batch = [...changes].map(([key, object]) => ({ key, object }))
    if (batch.length > 0) this.#world.change(batch)
    this.#held.set(this.#world.revision, [...this.#pods.values()])
  }

  #ask(naive: NaiveQuestion, query: Record<string, string>, at?: number): Answer {
    this.asked++
    const question = questionOf(
      at === undefined ? query : { ...query, revision: String(at) },
      naive.namespace,
    )
    const source = this.#world.source((at ?? this.#world.revision) as never)
    return this.#world.ask(question, source) as Answer
  }

  /** Compares an answer with what the naive program makes of the pods. */
  #compare(naive: NaiveQuestion, answer: Answer, pods: readonly ModelPod[]): void {
    const rows = naiveRows(pods, naive, this.#world.wallMs)
    const { namespace, page, pageSize, countBy } = naive
    const total = pods.filter(pod => namespace === '' || pod.namespace === namespace).length
    assert.equal(answer.total, total, 'total')
    assert.equal(answer.matched, rows.length, 'matched')
    if (countBy.length > 0) {
      assert.deepEqual(answer.groups, naiveGroups(rows, countBy))
      return
    }
    const from = (page - 1) * pageSize
    const expected = rows.slice(from, from + pageSize)
    assert.deepEqual(
      answer.rows,
      expected.map(pod => rowOf(pod, naive)),
    )
    assert.equal(answer.remaining, Math.max(0, rows.length - from - expected.length))
    assert.equal(answer.after !== undefined, answer.remaining > 0 && expected.length > 0)
  }

  /** A page at a revision that is over. */
  #hold(naive: NaiveQuestion, query: Record<string, string>): void {
    const at = randomItem(this.#random, [...this.#held.keys()].slice(-20))
    this.#compare(naive, this.#ask(naive, query, at), this.#held.get(at)!)
  }

  /** All pages of one revision, each behind the last row of the one before. */
  #walk(naive: NaiveQuestion, query: Record<string, string>): void {
    if (naive.countBy.length > 0) return
    const { page: _, ...from } = query
    const at = this.#world.revision
    const names: string[] = []
    let after: string | undefined
    do {
      const next = { ...from, pageSize: '40', ...(after === undefined ? {} : { after }) }
      const answer = this.#ask(naive, next, after === undefined ? undefined : at)
      names.push(...answer.rows.map(({ namespace, name }) => `${namespace}/${name}`))
      after = answer.after
      if (this.#random.next() < 0.3) this.#change(2)
    } while (after !== undefined)
    const expected = naiveRows(this.#held.get(at)!, naive, this.#world.wallMs)
    assert.deepEqual(
      names,
      expected.map(({ namespace, name }) => `${namespace}/${name}`),
    )
  }

  #open(naive: NaiveQuestion, query: Record<string, string>): void {
    let question
    try {
      question = questionOf({ ...query, watch: '1' }, naive.namespace)
    } catch (error) {
      assert.match(String(error), /live counts cannot be filtered by an age/)
      return
    }
    const view = allSteps(this.#world.views.open(question, this.#world.source()))
    assert.ok(typeof view === 'object' && 'next' in view, JSON.stringify(view))
    const state = parsed(view.first) as unknown as Answer & { type: string }
    assert.equal(state.type, 'PAGE')
    this.#watched.push({ naive, view, state })
    if (this.#watched.length > 6) this.#watched.shift()?.view.close()
  }

  /** Each live view is told of what has changed, and its client has the page. */
  #follow(): void {
    const open: Watched[] = []
    for (const watched of this.#watched) {
      const { naive, view } = watched
      this.asked++
      let document = allSteps(view.next(this.#world.wallMs))
      if (document === 'expired') {
        view.close()
        continue
      }
      if (document === undefined && view.dueAtMs <= this.#world.wallMs + 2_000) {
        // Counts that were not told yet, which come within two seconds.
        this.#world.wallMs += 2_000
        document = allSteps(view.next(this.#world.wallMs))
      }
      open.push(watched)
      if (document !== undefined) {
        assert.ok(typeof document === 'object' && 'next' in document, JSON.stringify(document))
        watched.state = applied(watched.state, parsed(document))
      }
      this.#compare(naive, watched.state, [...this.#pods.values()])
    }
    this.#watched = open
  }
}

function rowOf(pod: ModelPod, naive: NaiveQuestion): Row {
  const cells = cellsOf(pod)
  return {
    name: pod.name,
    namespace: pod.namespace,
    uid: pod.uid,
    revision: String(pod.revision),
    cells: shownColumns(naive).map(column => cells[column]),
  }
}

function parsed(pieces: ViewPieces): Change {
  return JSON.parse(drained(pieces).text) as Change
}

/** The state of a client after a change: it removes the rows that left or changed, and puts those
 *  that changed in at their places. */
function applied(state: Answer, change: Change): Answer {
  const { total, matched } = change
  if (state.groups !== undefined) {
    const groups = new Map(state.groups.map(group => [JSON.stringify(group.values), group]))
    for (const values of change.removed) groups.delete(JSON.stringify(values))
    for (const group of change.groups!) groups.set(JSON.stringify(group.values), group)
    const sorted = [...groups.values()].sort(
      (a, b) => b.count - a.count || (a.values.join('\0') < b.values.join('\0') ? -1 : 1),
    )
    return { ...state, total: total!, matched: matched!, groups: sorted }
  }
  const gone = new Set([...change.left, ...change.rows.map(({ row }) => row.uid)])
  const rows = state.rows.filter(({ uid }) => !gone.has(uid))
  for (const { index, row } of change.rows) rows.splice(index, 0, row)
  const { after: _, ...rest } = state
  const { remaining, after } = change
  const counted = { ...rest, total: total!, matched: matched!, remaining: remaining!, rows }
  return after === undefined ? counted : { ...counted, after }
}

t.test(`${questions} random questions are answered as a naive program answers them`, async t => {
  const first = randomInt(createRandom(Date.now() % 2 ** 31), 0, 2 ** 30)
  let asked = 0
  for (let seed = first; asked < questions; seed++) {
    const run = new ModelRun(seed)
    try {
      for (let i = 0; i < 100; i++) run.step()
      run.close()
    } catch (error) {
      t.fail(`seed ${seed}`, { error: String(error) })
      throw error
    }
    asked += run.asked
  }
  t.ok(asked >= questions)
})
