import t from 'tap'
import { changedView, type ViewDocument } from '../../../../lib/cli/commands/get/view-document.ts'
import { csvText, tableText } from '../../../../lib/cli/commands/get/view-text.ts'

const columns = [
  { id: 'name', title: 'Name', kind: 'text', priority: 0 },
  { id: 'restarts', title: 'Restarts', kind: 'number', priority: 0 },
  { id: 'age', title: 'Age', kind: 'time', priority: 0 },
]
const view: ViewDocument = {
  revision: '7',
  total: 3,
  matched: 3,
  columns,
  rows: [
    { name: 'a', namespace: 'n', uid: '1', cells: ['a', 10, '2026-11-28T00:00:00Z'] },
    { name: 'bcd', namespace: 'n', uid: '2', cells: ['bcd', 2, null] },
    { name: 'e', namespace: 'n', cells: ['e\u001b[2J\n', 0, 'none'] },
  ],
}
const nowMs = Date.parse('2026-11-28T05:00:30Z')

t.test('a table is that of kubectl, and no text steers the terminal', t => {
  t.strictSame(tableText(view, nowMs).split('\n'), [
    'NAME       RESTARTS   AGE',
    'a          10         5h',
    'bcd        2          <none>',
    'e^[[2J^J   0          none',
    '',
  ])
  t.equal(tableText({ ...view, rows: [] }, nowMs), 'No resources found\n')
  const counts = { revision: '7', total: 3, matched: 3, by: ['status', 'node'] }
  const groups = [{ values: ['Running', 'n1'], count: 12 }]
  t.equal(tableText({ ...counts, groups }, nowMs), 'STATUS    NODE   COUNT\nRunning   n1     12\n')
  t.end()
})

t.test('CSV quotes what has to be quoted, and keeps timestamps', t => {
  const quoted = { ...view, rows: [{ name: 'x', cells: ['a,"b"', 1, '2026-11-28T00:00:00Z'] }] }
  t.equal(csvText(quoted), 'Name,Restarts,Age\r\n"a,""b""",1,2026-11-28T00:00:00Z\r\n')
  t.end()
})

t.test('changes are applied in their order', t => {
  const names = (changed: ViewDocument): unknown => changed.rows?.map(({ name }) => name)
  const row = { name: 'f', namespace: 'n', uid: '6', cells: ['f', 1, null] }
  const fresh = changedView(view, { total: 4, matched: 4, left: ['2'], rows: [{ index: 1, row }] })
  t.strictSame(names(fresh), ['a', 'f', 'e'])
  t.match(fresh, { total: 4, matched: 4, revision: '7' })
  t.strictSame(names(changedView(fresh, { order: ['6', 'n/e', '1'] })), ['f', 'e', 'a'])
  const moved = { index: 0, row: { ...row, cells: ['f', 9, null] } }
  t.strictSame(names(changedView(fresh, { rows: [moved] })), ['f', 'a', 'e'])
  const counted = {
    revision: '1',
    total: 3,
    matched: 3,
    by: ['x'],
    groups: [{ values: ['a'], count: 3 }],
  }
  const groups = changedView(counted, { groups: [{ values: ['b'], count: 5 }], removed: [['a']] })
  t.strictSame(groups.groups, [{ values: ['b'], count: 5 }])
  t.end()
})
