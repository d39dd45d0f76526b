import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import {
  builtIn,
  created,
  entryOf,
  now,
  stored,
  widget,
  widgetEncoder,
} from '../../support/kube/outputs.ts'

/** The cells of an object by the names of their columns. */
function cellsOf(
  encoder: ObjectEncoder,
  entry: ReturnType<typeof entryOf>,
): Record<string, unknown> | undefined {
  const cells = encoder.cells(entry, 7, now)
  if (cells instanceof NotExact) throw new Error(cells.reason)
  return Object.fromEntries(encoder.columns.map(({ name }, i) => [name, cells[i]]))
}

t.test('cells are times and milliseconds in place of ages and durations', async t => {
  const job = new ObjectEncoder({ ...builtIn({ group: 'batch', kind: 'Job' }) }, undefined)
  const metadata = { name: 'a', namespace: 'team', creationTimestamp: created }
  const running = stored({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: { template: {} },
    status: { startTime: '2026-01-01T23:59:59Z' },
  })
  t.match(cellsOf(job, entryOf('a', running)), { Duration: '1000', Age: created })
  t.match(Object.fromEntries(job.columns.map(({ name, kind }) => [name, kind])), {
    Name: 'text',
    Duration: 'duration',
    Age: 'time',
  })
  t.match(cellsOf(widgetEncoder(), widget('w')), { Name: 'w', Age: created })
})

t.test('the row that is shown beside is as ever', async t => {
  const encoder = widgetEncoder()
  t.match(cellsOf(encoder, widget('w')), { Age: created })
  const row = encoder.table.row(widget('w'), now)
  t.same(row instanceof NotExact ? row : row.cells, ['w', '24h'])
})

t.test('columns of definitions have the kinds of their types', async t => {
  const { columns } = widgetEncoder([
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Seen', type: 'date', jsonPath: '.spec.seen' },
    { name: 'Color', type: 'string', jsonPath: '.spec.color' },
  ])
  t.same(
    columns.map(({ kind }) => kind),
    ['text', 'number', 'time', 'text'],
  )
})

t.test('columns of one’s own are read of the object as it is served', async t => {
  const own = { type: 'own', format: '', description: '', priority: 0 }
  const read = widgetEncoder().readerOf([
    { ...own, name: 'a', jsonPath: '.spec.size' },
    { ...own, name: 'b', jsonPath: '.spec.names[1]' },
    { ...own, name: 'c', jsonPath: '.spec.none' },
    { ...own, name: 'd', jsonPath: '.metadata.resourceVersion' },
    { ...own, name: 'e', jsonPath: '.spec.gone' },
  ])
  const object = widget('w', { gone: null, names: ['x', 'y'], size: 5 })
  t.same(read(object, 9), [5, 'y', null, '9', null])
})
