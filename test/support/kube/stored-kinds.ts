/** Stored objects for tests, and what the API serves of them. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { appendObject } from '../../../lib/codec/served/object-view.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'

const out = new ByteWriter()

/** The stored form of an object. */
export function protobuf(object: object): Uint8Array {
  const bytes = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (bytes instanceof NotExact) throw new Error(bytes.reason)
  return bytes
}

/** The object that is served of stored bytes, parsed; or why there is none. */
export function served(
  bytes: Uint8Array,
  apiVersion: string,
  kind: string,
  minor?: string,
): unknown {
  out.clear()
  const value = { bytes, start: 0, end: bytes.length }
  const options = { resourceVersion: '9', isItem: false }
  const problem = appendObject(
    out,
    value,
    { schema: schemaOf(minor), apiVersion, kind, custom: undefined },
    options,
  )
  return problem?.reason ?? JSON.parse(Buffer.from(out.copy()).toString())
}

export const metadata: Readonly<Record<string, string>> = { name: 'x', uid: 'u' }
export const servedMetadata: Readonly<Record<string, string>> = {
  ...metadata,
  resourceVersion: '9',
}
export const time = '2026-11-21T04:13:40Z'
