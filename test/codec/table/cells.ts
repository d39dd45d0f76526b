/** Prints objects that are written down as JSON, by way of protobuf, as the store has them. */

import { strictEqual, deepStrictEqual } from 'node:assert'
import { readEnvelope } from '../../../lib/codec/transcode/envelope.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { compilePattern } from '../../../lib/codec/table/compile-pattern.ts'
import { pickFromProtobuf } from '../../../lib/codec/table/pick-source.ts'
import { pickFromJson } from '../../../lib/codec/table/pick-json.ts'
import type { Cell, Printer } from '../../../lib/codec/table/printer.ts'
import { printerOf } from '../../../lib/codec/table/printers.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'

/** The wall clock of these tests: a day after everything in them was created. */
export const now: number = Date.parse('2026-01-02T00:00:00Z')
export const created = '2026-01-01T00:00:00Z'

/** The cells of an object, which is read from protobuf and from JSON: both must say the same. */
export function cellsOf(apiVersion: string, kind: string, object: object): Cell[] {
  const printer = printerOfKind(apiVersion, kind)
  return printer.cells(
    picked(printer, apiVersion, { apiVersion, kind, ...object }),
    now,
    schemaOf(),
  )
}

export function printerOfKind(apiVersion: string, kind: string): Printer {
  const slash = apiVersion.indexOf('/')
  return printerOf(slash < 0 ? '' : apiVersion.slice(0, slash), kind)
}

export function picked(
  printer: Printer,
  apiVersion: string,
  object: { readonly apiVersion: string; readonly kind: string },
): unknown {
  const known = schemaOf().findKind(apiVersion, object.kind)
  if (known === undefined) throw new Error(`no kind ${apiVersion} ${object.kind}`)
  const pattern = compilePattern(printer.fields, known.type, {
    root: object.kind,
    hasDefaults: true,
  })
  const bytes = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (bytes instanceof NotExact) throw new Error(bytes.reason)
  const envelope = readEnvelope(bytes, 0, bytes.length)
  if (envelope instanceof NotExact) throw new Error(envelope.reason)
  const fromProtobuf = pickFromProtobuf(pattern, bytes, envelope.rawStart, envelope.rawEnd)
  deepStrictEqual(pickFromJson(pattern, object), fromProtobuf)
  strictEqual(fromProtobuf instanceof NotExact, false)
  return fromProtobuf
}
