import t from 'tap'
import type { LiveView } from '../../../lib/views/live/live-view.ts'
import { drained } from '../../support/kube/outputs.ts'
import { allSteps } from '../../support/steps.ts'
import { onePod, podsOf, questionOf, ViewWorld } from '../../support/views/view-world.ts'

function opened(world: ViewWorld, query: Record<string, string>): LiveView {
  const view = allSteps(world.views.open(questionOf({ ...query, watch: '1' }), world.source()))
  if (typeof view !== 'object' || !('next' in view)) throw new Error(JSON.stringify(view))
  return view
}

/** The next document of a view; undefined if nothing that it shows has changed. */
function nextOf(world: ViewWorld, view: LiveView): unknown {
  const document = allSteps(view.next(world.wallMs))
  if (document === undefined || typeof document === 'string' || !('next' in document)) {
    return document
  }
  return JSON.parse(drained(document).text)
}

t.test('a page is told of its own rows only', async t => {
  const world = new ViewWorld()
  world.change(podsOf(100))
  const view = opened(world, { sort: '-restarts', pageSize: '2', columns: 'name,restarts' })
  t.match(JSON.parse(drained(view.first).text), {
    type: 'PAGE',
    kind: 'View',
    matched: 100,
    remaining: 98,
    rows: [{ name: 'pod-006', cells: ['pod-006', 6] }, { name: 'pod-013' }],
  })
  t.equal(nextOf(world, view), undefined)
  world.change([onePod('pod-050', { restarts: 1, isReady: false })])
  t.equal(nextOf(world, view), undefined, 'a row that is on another page')
  world.change([onePod('pod-006', { restarts: 6, isReady: false })])
  t.match(nextOf(world, view), {
    type: 'CHANGE',
    left: [],
    rows: [{ index: 0, row: { name: 'pod-006' } }],
  })
  world.change([onePod('pod-050', { restarts: 9 })])
  t.match(nextOf(world, view), {
    left: ['uid of pod-013'],
    rows: [{ index: 0, row: { name: 'pod-050', cells: ['pod-050', 9] } }],
  })
  view.close()
})

t.test('counts that change alone are told every two seconds', async t => {
  const world = new ViewWorld()
  world.change(podsOf(10))
  const view = opened(world, { sort: 'name', pageSize: '2' })
  t.equal(view.dueAtMs, Infinity)
  world.change([onePod('z')])
  t.equal(nextOf(world, view), undefined)
  t.equal(view.dueAtMs, world.wallMs + 2_000)
  world.wallMs += 2_000
  t.match(nextOf(world, view), { total: 11, matched: 11, remaining: 9, left: [], rows: [] })
  t.equal(view.dueAtMs, Infinity)
})

t.test('a row leaves when its age turns, though nothing changes', async t => {
  const world = new ViewWorld()
  const { wallMs } = world
  world.change([
    onePod('old', { createdMs: wallMs - 3_599_000 }),
    onePod('new', { createdMs: wallMs }),
  ])
  const view = opened(world, { where: 'age<1h', columns: 'name' })
  t.equal(view.dueAtMs, wallMs + 1_000)
  world.wallMs += 999
  t.equal(nextOf(world, view), undefined)
  world.wallMs += 1
  t.match(nextOf(world, view), { matched: 1, left: ['uid of old'], rows: [] })
  t.equal(view.dueAtMs, wallMs + 3_600_000)
})

t.test('an object that is made again under its name is another row', async t => {
  const world = new ViewWorld()
  world.change(podsOf(3))
  const view = opened(world, {})
  world.change([{ key: 'one/pod-001', object: undefined }])
  world.change([onePod('pod-001', { uid: 'another' })])
  t.match(nextOf(world, view), {
    left: ['uid of pod-001'],
    rows: [{ index: 1, row: { uid: 'another' } }],
  })
})

t.test('live counts tell the groups whose number has changed, and those that are gone', async t => {
  const world = new ViewWorld()
  world.change(podsOf(9))
  const view = opened(world, { countBy: 'node' })
  t.match(JSON.parse(drained(view.first).text), {
    type: 'PAGE',
    by: ['node'],
    groups: [{ values: ['node-0'], count: 3 }, { count: 3 }, { count: 3 }],
  })
  world.change([onePod('pod-000', { node: 'node-1' }), onePod('pod-001', { node: 'node-1' })])
  t.same(nextOf(world, view), {
    type: 'CHANGE',
    revision: String(world.revision),
    total: 9,
    matched: 9,
    groups: [
      { values: ['node-0'], count: 2 },
      { values: ['node-1'], count: 4 },
    ],
    removed: [],
  })
  const others = ['pod-002', 'pod-005', 'pod-008'].map(name => ({
    key: `one/${name}`,
    object: undefined,
  }))
  world.change(others)
  t.match(nextOf(world, view), { total: 6, groups: [], removed: [['node-2']] })
  t.equal(nextOf(world, view), undefined)
})
