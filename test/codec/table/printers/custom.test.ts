import { strictEqual } from 'node:assert'
import t from 'tap'
import { type JsonValue, parseTree, textFromTree } from '../../../../lib/go/json/tree.ts'
import { notedEffort } from '../../../../lib/base/slice.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { CustomPrinter } from '../../../../lib/codec/table/printers/custom.ts'
import { type CustomColumn, type LearnedOutput } from '../../../../lib/codec/output-kind.ts'
import type { StoredValue } from '../../../../lib/codec/stored-value.ts'
import { type Table, tableOf as tableOfKind } from '../../../../lib/codec/table/table.ts'
import type { Cell } from '../../../../lib/codec/table/printer.ts'
import { objectBody } from '../../../../lib/codec/output/object-body.ts'
import {
  builtIn,
  created,
  exact,
  now,
  shownAs,
  widget,
  widgetEncoder,
} from '../../../support/kube/outputs.ts'

function column(jsonPath: string, type = 'string'): CustomColumn {
  return { name: 'Column', type, format: '', description: '', priority: 0, jsonPath }
}

/** The cell that a column has for an object, or why it has none. */
function cell(jsonPath: string, object: object, type?: string): Cell | string | undefined {
  const bytes = Buffer.from(`x${JSON.stringify(object)}\n`)
  const printer = new CustomPrinter([column(jsonPath, type)])
  const cells = printer.cells({ bytes, start: 1, end: bytes.length - 1 }, now)
  return cells instanceof NotExact ? `not exact: ${cells.reason}` : cells[1]
}

t.test('the first column is the name, and columns follow in their order', async t => {
  const object = { metadata: { name: 'w', namespace: 'team' }, spec: { a: 1, b: 'x' } }
  const bytes = Buffer.from(JSON.stringify(object))
  const printer = new CustomPrinter([column('.spec.b'), column('.spec.a', 'integer')])
  t.same(printer.cells({ bytes, start: 0, end: bytes.length }, now), ['w', 'x', 1n])
  const empty = Buffer.from('{}')
  t.same(printer.cells({ bytes: empty, start: 0, end: 2 }, now), ['', null, null])
})

t.test('one printer reads one object after the other', async t => {
  const printer = new CustomPrinter([column('.spec.a'), column('.spec'), column('.spec.b.c')])
  const cells = (object: object): unknown => {
    const bytes = Buffer.from(JSON.stringify({ metadata: { name: 'w' }, ...object }))
    return printer.cells({ bytes, start: 0, end: bytes.length }, now)
  }
  t.same(cells({ spec: { a: 'x', b: { c: 'y' } } }), ['w', 'x', '{"a":"x","b":{"c":"y"}}', 'y'])
  t.same(cells({ spec: { b: 'text' } }), ['w', null, '{"b":"text"}', null])
  t.same(cells({}), ['w', null, null, null])
})

t.test('text columns show whatever is there', async () => {
  const spec = {
    text: 'a<b',
    empty: '',
    whole: 5,
    part: 1.5,
    huge: 1e21,
    flag: false,
    nothing: null,
    list: ['a', 1],
    object: { a: '<' },
  }
  const expected: Record<keyof typeof spec, Cell> = {
    text: 'a<b',
    empty: '',
    whole: '5',
    part: '1.5',
    huge: '1e+21',
    flag: 'false',
    nothing: '<no value>',
    list: '["a",1]',
    object: '{"a":"\\u003c"}',
  }
  for (const [name, shown] of Object.entries(expected)) {
    strictEqual(cell(`.spec.${name}`, { spec }), shown, name)
  }
})

t.test('columns of other types show values of their type only', async () => {
  const spec = { text: '5', whole: -5, part: 1.9, flag: true, nothing: null, list: [1] }
  const rows: readonly (readonly [type: string, name: keyof typeof spec, shown: Cell])[] = [
    ['integer', 'whole', -5n],
    ['integer', 'part', 1n],
    ['integer', 'text', null],
    ['integer', 'flag', null],
    ['integer', 'nothing', null],
    ['number', 'whole', -5],
    ['number', 'part', 1.9],
    ['number', 'text', null],
    ['boolean', 'flag', true],
    ['boolean', 'whole', null],
    ['boolean', 'text', null],
    ['date', 'whole', null],
    ['date', 'nothing', null],
    ['integer', 'list', null],
    ['unknown', 'whole', null],
  ]
  for (const [type, name, shown] of rows) {
    strictEqual(cell(`.spec.${name}`, { spec }, type), shown, `${type} ${name}`)
  }
})

t.test('numbers beyond those of 64 bits', async () => {
  const shown = (number: string, type: string): unknown => {
    const bytes = Buffer.from(`{"a":${number}}`)
    const cells = new CustomPrinter([column('.a', type)]).cells(
      { bytes, start: 0, end: bytes.length },
      now,
    )
    return cells instanceof NotExact ? cells.reason : cells[1]
  }
  strictEqual(shown('9223372036854775807', 'integer'), 2n ** 63n - 1n)
  strictEqual(shown('9223372036854775808', 'integer'), -(2n ** 63n))
  strictEqual(shown('-9223372036854775808', 'integer'), -(2n ** 63n))
  strictEqual(shown('-9223372036854775809', 'integer'), -(2n ** 63n))
  strictEqual(shown('1e18', 'integer'), 10n ** 18n)
  strictEqual(shown('1e19', 'integer'), -(2n ** 63n))
  strictEqual(shown('9223372036854775807', 'string'), '9223372036854775807')
  strictEqual(shown('9223372036854775808', 'string'), '9.223372036854776e+18')
})

t.test('dates show ages', async () => {
  const age = (at: string): unknown => cell('.at', { at }, 'date')
  strictEqual(age(created), '24h')
  strictEqual(age('2026-01-01T12:00:00.5Z'), '11h')
  strictEqual(age('2026-01-02T01:00:00+02:00'), '60m')
  strictEqual(age('2026-01-03T00:00:00Z'), '<invalid>')
  strictEqual(age('yesterday'), '<invalid>')
  strictEqual(age('2026-02-30T00:00:00Z'), '<invalid>')
  strictEqual(age(''), '<unknown>')
  strictEqual(age('0001-01-01T00:00:00Z'), '<unknown>')
  strictEqual(age('0001-01-01T01:00:00+01:00'), '<unknown>')
})

const list = {
  list: [
    { name: 'a', size: 1, on: true },
    { name: 'b', size: 2 },
    { name: 'c', size: 10, on: false },
  ],
  map: { 'a.b/c': 'dotted', plain: 'x' },
  none: null,
  text: 'x',
}

t.test('paths go through lists, names with dots, filters and slices', async () => {
  const found: Readonly<Record<string, Cell>> = {
    '.list[0].name': 'a',
    '.list[-1].name': 'c',
    '.list[3].name': null,
    '.list[-4].name': null,
    '.list[1:].name': 'b',
    '.list[:2].size': '1',
    '.list[0:3:2].size': '1',
    '.list[1:1].size': null,
    '.list[*].name': 'a',
    '.list[?(@.name=="b")].size': '2',
    '.list[?(@.name!="a")].name': 'b',
    ".list[?(@.name=='c')].size": '10',
    '.list[?(@.size>1)].name': 'b',
    '.list[?(@.size>=10)].name': 'c',
    '.list[?(@.size<2)].name': 'a',
    '.list[?(@.size<=2)].name': 'a',
    '.list[?(@.on==true)].name': 'a',
    '.list[?(@.on==false)].name': 'c',
    '.list[?(@.on)].name': 'a',
    '.list[?(@.name=="z")].size': null,
    '.list[0,2].name': 'a',
    '.map.a\\.b/c': 'dotted',
    ".map['plain']": 'x',
    ".map['a\\.b/c']": 'dotted',
    '$.map.plain': 'x',
    '.none.x': null,
    '.none[0]': null,
    '.text.x': null,
    '.text[0]': null,
    '.map[0]': null,
    '.map[?(@.x)]': null,
    '.missing.deep[0].deeper': null,
  }
  for (const [path, shown] of Object.entries(found)) strictEqual(cell(path, list), shown, path)
})

t.test('a cell has what upstream prints of an object, a list, or of nothing', async () => {
  const found: Readonly<Record<string, Cell>> = {
    '.': null,
    '.map.': null,
    '.map': '{"a.b/c":"dotted","plain":"x"}',
    '.list[0]': '{"name":"a","on":true,"size":1}',
    '.list[1:]': '{"name":"b","size":2}',
    '.list..': textOf(list.list),
    '..': textOf(list),
    $: textOf(list),
    '.none': '<no value>',
    '.text.*': '120',
    '.none 5': '5',
    '.nothing "<text>"': '<text>',
    '.list range .name': null,
    '.list[?(@.a=="x")].name': null,
    '.text}{.list': 'x',
    '.text}{.list[9]': null,
  }
  for (const [path, shown] of Object.entries(found)) strictEqual(cell(path, list), shown, path)
  // Objects of Go have no order.
  strictEqual(cell('.map.*', list), 'dotted')
  strictEqual(cell('.none 5', list, 'integer'), null)
  strictEqual(cell('.none 5.5', list, 'integer'), 5n)
  strictEqual(cell('.text.*', list, 'integer'), null)
})

function textOf(value: unknown): string {
  const bytes = Buffer.from(JSON.stringify(value))
  return textFromTree(parseTree(bytes, 0, bytes.length) as JsonValue)
}

t.test('the first column that cannot be read hides itself and those behind it', async t => {
  const { columnDefinitions, rows } = tableOf([
    { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
    { name: 'Wrong', jsonPath: '.spec[' },
    { name: 'Hidden', jsonPath: '.spec.size' },
  ])
  t.same(
    columnDefinitions.map(({ name }) => name),
    ['Name', 'Size'],
  )
  t.same(rows[0]?.cells, ['w', 3])
})

t.test('rows of an aggregated server with a column that cannot be read are its own', async t => {
  const columns = [column('.a'), column('.a[')]
  const table = tableFor(columns)
  t.type(table.row(valueOf({ a: 1 }), now), NotExact)
  t.same(tableFor(columns.slice(0, 1)).row(valueOf({ a: 'x' }), now), {
    cells: ['', 'x'],
    condition: undefined,
  })
})

function tableFor(columns: readonly CustomColumn[]): Table {
  const learned = { table: { columns } } as unknown as LearnedOutput
  return tableOfKind({ ...builtIn({ kind: 'Flunder' }), learned })
}

function valueOf(object: object): StoredValue {
  const bytes = Buffer.from(JSON.stringify(object))
  return { bytes, start: 0, end: bytes.length }
}

t.test('a value that is no JSON has no cells', async t => {
  const printer = new CustomPrinter([column('.a')])
  for (const text of ['{"a"', '{"a":1,}', '']) {
    const bytes = Buffer.from(text)
    t.type(printer.cells({ bytes, start: 0, end: bytes.length }, now), NotExact, text)
  }
})

interface CustomTable {
  readonly columnDefinitions: readonly { readonly name: string; readonly description: string }[]
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: object }[]
}

/** The cells of an object, or why it has none, and the effort that they took. */
function rowOf(columns: readonly CustomColumn[], spec: object): { cells: unknown; effort: number } {
  const bytes = Buffer.from(JSON.stringify({ metadata: { name: 'w' }, spec }))
  const printer = new CustomPrinter(columns)
  const before = notedEffort()
  const cells = printer.cells({ bytes, start: 0, end: bytes.length }, now)
  return {
    cells: cells instanceof NotExact ? cells.reason : cells,
    effort: notedEffort() - before,
  }
}

const many = <Item>(count: number, item: (i: number) => Item): Item[] =>
  Array.from({ length: count }, (_, i) => item(i))

t.test('a row takes no more work than a row may, however many columns there are', async t => {
  const list = many(20_000, i => i)
  const last = rowOf(
    many(1_000, () => column('.spec.list[-1]', 'integer')),
    { list },
  )
  t.same(last.cells, ['w', ...many(1_000, () => 19_999n)], 'the list is read once')
  const tooLong = 'the columns of its definition take too long'
  const refused: readonly (readonly [columns: CustomColumn[], spec: object])[] = [
    [many(1_000, () => column('.spec.list[*]')), { list }],
    [many(1_000, () => column('.spec')), { list }],
    [many(1_000, () => column('.spec.text')), { text: 'x'.repeat(100_000) }],
    [[column('.spec.text.*')], { text: 'x'.repeat(1_000_000) }],
    [
      many(100, () => column('.spec.list[?(@.a==@.b)].a')),
      { list: many(2, () => ({ a: 'x'.repeat(100_000), b: 'x'.repeat(100_000) })) },
    ],
  ]
  for (const [columns, spec] of refused) {
    const { cells, effort } = rowOf(columns, spec)
    t.equal(cells, tooLong)
    t.ok(effort < 5_000 + JSON.stringify(spec).length / 16, `an effort of ${effort}`)
  }
})

t.test('lists that lie within each other are read together', async t => {
  let spec: { [name: string]: unknown } = { end: 'x' }
  for (let depth = 0; depth < 100; depth++) spec = { a: spec, list: [depth] }
  const columns = many(100, i => column(`.spec${'.a'.repeat(i)}.list[0]`, 'integer'))
  const { cells } = rowOf([...columns, column('.spec.list'), column('.none[0]')], spec)
  t.same(cells, ['w', ...many(100, i => BigInt(99 - i)), '[99]', null])
})

t.test('names are found that JSON escapes, and those of any letters', async t => {
  t.equal(cell('.spec.größe', { spec: { größe: 'x' } }), 'x')
  const bytes = Buffer.from('{"metadata":{"name":"w"},"spec":{"a\\u003cb":"x"}}')
  const printer = new CustomPrinter([column('.spec.a<b')])
  t.same(printer.cells({ bytes, start: 0, end: bytes.length }, now), ['w', 'x'])
})

t.test('a path of more names than objects nest leads to nothing', async t => {
  t.equal(cell('.a'.repeat(100_000), { a: { a: 1 } }), null)
})

function tableOf(columns: readonly Partial<CustomColumn>[] | undefined): CustomTable {
  const form = shownAs({ rendering: 'Table' })
  const entry = widget('w', { size: 3 })
  const body = objectBody(widgetEncoder(columns), entry, { form, isPretty: false })
  return JSON.parse(exact(body).toString()) as CustomTable
}

t.test('a definition with columns has these and the name, with their descriptions', async t => {
  const { columnDefinitions, rows } = tableOf([
    { name: 'Size', type: 'integer', jsonPath: '.spec.size', priority: 1, description: 'how much' },
    { name: 'Big', jsonPath: '.spec.big' },
  ])
  t.same(
    columnDefinitions.map(({ name, description }) => [name, description.slice(0, 40)]),
    [
      ['Name', 'Name must be unique within a namespace. '],
      ['Size', 'how much'],
      ['Big', 'Custom resource definition column (in JS'],
    ],
  )
  t.same(rows[0]?.cells, ['w', 3, null])
})

t.test('a definition without columns has name and age', async t => {
  const { columnDefinitions, rows } = tableOf(undefined)
  t.same(
    columnDefinitions.map(({ name }) => name),
    ['Name', 'Age'],
  )
  t.same(rows[0]?.cells, ['w', '24h'])
  t.match(rows[0]?.object, { kind: 'PartialObjectMetadata', metadata: { name: 'w' } })
})
