/** Custom resources for tests: definitions, objects, and what the API serves of them. */

import { strict as assert } from 'node:assert'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { type CustomDefinitionParts, CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import type { NotExact } from '../../../lib/base/not-exact.ts'
import { goJson } from './go-json.ts'

const out = new ByteWriter()

/** A definition with those schemas by version. */
export function kindOf(
  schemas: Readonly<Record<string, unknown>>,
  options: Partial<CustomDefinitionParts> = {},
): CustomKind {
  return new CustomKind({
    group: 'example.com',
    kind: 'Widget',
    versions: Object.entries(schemas).map(([name, schema]) => ({ name, schema })),
    preservesUnknownFields: false,
    conversion: 'none',
    ...options,
  })
}

/** The served form of a stored text, which lies between other bytes. */
export function viewText(
  kind: CustomKind,
  text: string | Buffer,
  version = 'v1',
): string | NotExact {
  const bytes = Buffer.concat([Buffer.from('xx'), Buffer.from(text), Buffer.from('"}')])
  out.clear()
  const value = { bytes, start: 2, end: bytes.length - 2 }
  const problem = kind.append(out, value, { version, resourceVersion: '77' })
  if (problem !== undefined) assert.equal(out.length, 0)
  return problem ?? Buffer.from(out.copy()).toString()
}

const metadata = {
  creationTimestamp: '2026-02-28T12:00:00Z',
  generation: 1,
  labels: { a: 'b' },
  name: 'w',
  uid: 'u',
}
/** A Widget with further members. */
export function objectWith(rest: object, version = 'v1'): TestObject {
  return { apiVersion: `example.com/${version}`, kind: 'Widget', metadata, ...rest }
}

export interface TestObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: object
}
/** The text that is served of an object that is left alone. */
export function served(object: TestObject, version = 'v1'): string {
  return goJson({
    ...object,
    apiVersion: `example.com/${version}`,
    metadata: { ...object.metadata, resourceVersion: '77' },
  })
}
