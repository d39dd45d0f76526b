import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { defaultColumns } from '../../../lib/codec/table/table.ts'
import { type Scale, renderedScale } from '../../../lib/codec/output/scale.ts'

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

t.test('a Scale is shown as a Table with the columns of its converter', async t => {
  const [nameText, ageText] = defaultColumns(schemaOf()).map(({ description }) => description)
  for (const isCustom of [false, true]) {
    const shown = { rendering: 'Table', renderingVersion: 'v1', now } as const
    const kind = { schema: schemaOf(), isCustom }
    const columns = [
      ['Name', 'string', isCustom ? 'name' : '', nameText],
      [
        'Desired',
        'integer',
        '',
        isCustom
          ? 'Number of desired replicas'
          : 'replicas is the desired number of instances for the scaled object.',
      ],
      [
        'Available',
        'integer',
        '',
        isCustom
          ? 'Number of actual replicas'
          : 'replicas is the actual number of observed instances of the scaled object.',
      ],
      ['Age', isCustom ? 'date' : 'string', '', ageText],
    ]
    const metadata = { name: 'x', resourceVersion: '1' }
    const apiVersion = 'meta.k8s.io/v1'
    for (const [includeObject, object] of [
      ['None', null],
      ['Metadata', { kind: 'PartialObjectMetadata', apiVersion, metadata }],
      [
        'Object',
        {
          kind: 'Scale',
          apiVersion: 'autoscaling/v1',
          metadata,
          spec: { replicas: 3 },
          status: { replicas: 0 },
        },
      ],
    ] as const) {
      const text = renderedScale(scale, kind, { ...shown, includeObject })
      t.strictSame(JSON.parse(text), {
        kind: 'Table',
        apiVersion,
        metadata: { resourceVersion: '1' },
        columnDefinitions: columns.map(([name, type, format, description]) => ({
          name,
          type,
          format,
          description,
          priority: 0,
        })),
        rows: [{ cells: ['x', 3, 0, '24h'], object }],
      })
    }
    const as = (rendering: 'object' | 'PartialObjectMetadata'): unknown =>
      JSON.parse(renderedScale(scale, kind, { ...shown, rendering, includeObject: 'None' }))
    t.strictSame(as('PartialObjectMetadata'), {
      kind: 'PartialObjectMetadata',
      apiVersion,
      metadata,
    })
    t.match(as('object'), { kind: 'Scale', metadata })
  }
})
