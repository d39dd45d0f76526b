import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { revision } from '../../../lib/base/revision.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { Views } from '../../../lib/views/views.ts'
import { onePod, podsOf, questionOf, ViewWorld } from '../../support/views/view-world.ts'
import { allSteps } from '../../support/steps.ts'

const keyspace = keyFromText('/registry/pods/')
const minuteMs = 60_000

t.test('an order is kept when it is asked for again, and goes when nobody asks', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const question = questionOf({ sort: 'restarts' })
  world.ask(question)
  t.notOk(world.views.isWarm(question), 'asked for once')
  t.equal(world.views.bytes, 0)
  world.ask(question)
  t.ok(world.views.isWarm(question))
  t.ok(world.views.bytes > 100 * 120)
  world.nowMs = 4 * minuteMs
  world.views.dropIdle(world.nowMs)
  t.ok(world.views.isWarm(question))
  world.ask(question)
  world.nowMs = 8 * minuteMs
  world.views.dropIdle(world.nowMs)
  t.ok(world.views.isWarm(question), 'asked for four minutes ago')
  world.views.dropIdle(10 * minuteMs)
  t.notOk(world.views.isWarm(question))
  t.equal(world.views.bytes, 0)
})

t.test('memory is counted, and given back when it is needed', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const questions = [{ sort: 'name' }, { sort: '-node' }, { countBy: 'node' }].map(query =>
    questionOf(query),
  )
  for (const question of [...questions, ...questions]) world.ask(question)
  t.ok(questions.every(question => world.views.isWarm(question)))
  const { bytes } = world.views
  world.views.dropTo(bytes - 1)
  t.same(
    questions.map(question => world.views.isWarm(question)),
    [false, true, true],
    'the one that was used least recently goes',
  )
  world.views.dropTo(0)
  t.equal(world.views.bytes, 0)
})

t.test('nothing is kept where there is no room, and answers are the same', async t => {
  const world = new ViewWorld(new Views({ fits: () => false }))
  world.change(podsOf(100))
  const question = questionOf({ sort: '-name', pageSize: '1' })
  for (let i = 0; i < 3; i++) t.match(world.ask(question), { rows: [{ name: 'pod-099' }] })
  t.equal(world.views.bytes, 0)
  t.equal(
    allSteps(world.views.open(questionOf({ sort: 'name', watch: '1' }), world.source())),
    'full',
  )
})

t.test('one user has eight orders of a resource at most', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const questions = Array.from({ length: 10 }, (_, i) => questionOf({ where: `restarts>${i}` }))
  for (const question of [...questions, ...questions]) {
    world.ask(question, { ...world.source(), user: 'alice' })
  }
  t.equal(questions.filter(question => world.views.isWarm(question)).length, 8)
})

t.test('live views show 256 different orders at most, and give them back', async t => {
  const world = new ViewWorld()
  world.change(podsOf(3))
  const open = (i: number) =>
    allSteps(world.views.open(questionOf({ where: `restarts<${i}`, watch: '1' }), world.source()))
  const views = Array.from({ length: 256 }, (_, i) => open(i))
  t.equal(open(256), 'full')
  t.not(open(255), 'full', 'that one is there already')
  for (const view of views) if (typeof view === 'object' && 'close' in view) view.close()
  t.not(open(256), 'full')
})

t.test('other contents end what is kept', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const question = questionOf({ sort: 'name' })
  for (let i = 0; i < 2; i++) world.ask(question)
  const live = allSteps(world.views.open(questionOf({ sort: 'name', watch: '1' }), world.source()))
  const plain = allSteps(world.views.open(questionOf({ watch: '1' }), world.source()))
  world.views.reset(keyspace)
  t.notOk(world.views.isWarm(question))
  for (const view of [live, plain]) {
    if (typeof view !== 'object' || !('next' in view)) throw new Error('no view')
    t.equal(allSteps(view.next(world.wallMs)), 'expired')
    view.close()
    view.close()
  }
})

t.test('an order that the history has left behind is made anew', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const question = questionOf({ sort: '-restarts', pageSize: '1' })
  for (let i = 0; i < 2; i++) world.ask(question)
  for (let i = 0; i < 5; i++) world.change([onePod(`late-${i}`, { restarts: 50 + i })])
  world.store.compact(world.revision)
  t.match(world.ask(question), { total: 105, rows: [{ name: 'late-4' }] })
  // The source has lost its history.
  world.store.restore([], revision(1))
  t.match(world.ask(question), { total: 0, rows: [] })
})

t.test('an object that cannot be read is no row, and no answer', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const bad = Buffer.from('k8s\0 no pod')
  const at = revision(world.revision + 1)
  const meta = { createRevision: at, modRevision: at, version: 1, lease: noLease }
  const value = { bytes: bad, start: 0, end: bad.length }
  const questions = [{ sort: 'restarts' }, { countBy: 'status' }].map(query => questionOf(query))
  for (const question of [...questions, ...questions]) world.ask(question)
  const key = keyFromText('/registry/pods/one/bad')
  world.store.apply(at, [{ type: 'put', entry: new KeyValue(key, value, meta) }], 0)
  for (const question of questions) t.ok(world.ask(question) instanceof NotExact)
  world.change([{ key: 'one/bad', object: undefined }])
  for (const question of questions) t.match(world.ask(question), { total: 100 })
})
