import t from 'tap'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { type Scale, renderedScale } from '../../../../lib/codec/output/scale.ts'

const scale: Scale = {
  name: 'x',
  createdAt: '2026-01-01T00:00:00Z',
  metadata: '{"name":"x","resourceVersion":"1"}',
  wanted: 3,
  counted: 0,
  selector: '',
}
const now = Date.parse('2026-01-02T00:00:00Z')

function cellsOf(one: Scale, isCustom: boolean): unknown {
  const shown = { rendering: 'Table', renderingVersion: 'v1', includeObject: 'None', now } as const
  const text = renderedScale(one, { schema: schemaOf(), isCustom }, shown)
  return (JSON.parse(text) as { rows: { cells: unknown }[] }).rows[0]?.cells
}

t.test('a Scale has its numbers and its age as a row', async t => {
  for (const isCustom of [true, false]) t.strictSame(cellsOf(scale, isCustom), ['x', 3, 0, '24h'])
})

t.test('of custom resources, what the Scale leaves out where it is zero has no cell', async t => {
  const empty = { ...scale, wanted: 0, createdAt: '' }
  t.strictSame(cellsOf(empty, true), ['x', null, 0, null])
  t.strictSame(cellsOf(empty, false), ['x', 0, 0, '<unknown>'])
})
