/** Definitions with odd columns and defaults, and objects that were stored before there were any:
 *  both are made by clients, and what is read is their product. */

import { notedEffort } from '../../../lib/base/slice.ts'
import type { Random } from '../../../lib/base/random.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import { CustomPrinter } from '../../../lib/codec/table/printers/custom.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'

type Schema = { readonly [name: string]: unknown }

/** The effort of a byte that is read or made, and of any object: a row and its object. */
const effortPerByte = 1
const effortMax = 200_000

const names = ['a', 'b', 'list', 'metadata', 'spec', '__proto__', 'größe', 'a<b']
const steps = [
  ...names.map(name => `.${name}`),
  '[0]',
  '[-1]',
  '[*]',
  '.*',
  '..',
  '..a',
  '[0,0]',
  "['a','b']",
  '[:2]',
  '[::3]',
  '[9:1]',
  '[?(@.a)]',
  '[?(@.a==@.b)]',
  '[?(@.a>"x")]',
  ' "x"',
  ' 5',
  ' true',
  ' word',
  '}{.a',
]
const types = ['string', 'integer', 'number', 'boolean', 'date', 'other']

/** Reads such an object by such a definition; 1 if it was shown. Throws if it takes too much
 *  work. */
export function readOddDefinition(random: Random): number {
  const below = (count: number): number => Math.floor(random.next() * count)
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
  const value = (depth: number, longest = 100): unknown => {
    const text = 'x'.repeat(one([0, 1, longest]))
    if (depth === 0 || below(4) === 0) return one([null, 1, 1.5, true, text, [], {}])
    const count = one([0, 1, 2, 3, depth === 3 ? 500 : 5])
    if (below(2) === 0) return Array.from({ length: count }, () => value(depth - 1, longest))
    return Object.fromEntries(
      Array.from({ length: count }, () => [one(names), value(depth - 1, longest)]),
    )
  }
  const schema = (depth: number): Schema => ({
    ...(below(2) === 0 ? { default: value(2, 20_000) } : {}),
    ...(below(3) === 0 ? { nullable: true } : {}),
    ...(below(3) === 0 ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(depth > 0 && below(2) === 0 ? { items: schema(depth - 1) } : {}),
    ...(depth > 0 && below(2) === 0 ? { additionalProperties: schema(depth - 1) } : {}),
    properties: Object.fromEntries(
      depth === 0 ? [] : Array.from({ length: 4 }, () => [one(names), schema(depth - 1)]),
    ),
  })
  const path = (): string => Array.from({ length: below(6) + 1 }, () => one(steps)).join('')
  const columns = Array.from({ length: one([1, 5, 300]) }, () => {
    const [type, jsonPath] = [one(types), path()]
    return { name: 'C', type, format: '', description: '', priority: 0, jsonPath }
  })
  const kind = new CustomKind({
    group: 'example.com',
    kind: 'Widget',
    versions: [{ name: 'v1', schema: schema(3) }],
    preservesUnknownFields: false,
    conversion: 'none',
  })
  const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } }
  const parts = Object.fromEntries(names.slice(4).map(name => [name, value(3)]))
  const bytes = Buffer.from(JSON.stringify({ ...parts, ...object }))
  return shown(kind, new CustomPrinter(columns), bytes) ? 1 : 0
}

function shown(kind: CustomKind, printer: CustomPrinter, bytes: Uint8Array): boolean {
  const before = notedEffort()
  const out = new ByteWriter()
  const options = { version: 'v1', resourceVersion: '1' }
  const problem = kind.append(out, { bytes, start: 0, end: bytes.length }, options)
  if (problem === undefined) {
    JSON.parse(Buffer.from(out.bytes.buffer, out.bytes.byteOffset, out.length).toString())
  }
  const row = printer.cells({ bytes: out.bytes, start: 0, end: out.length }, 0)
  const effort = notedEffort() - before
  const most = effortMax + effortPerByte * bytes.length
  if (effort > most) throw new Error(`an object of ${bytes.length} bytes took ${effort}`)
  return problem === undefined && !(row instanceof NotExact)
}
