/** Objects stored as they are given, without the defaults that a kube-apiserver would have filled
 *  in. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { type ViewOptions, appendView } from '../../../lib/codec/served/view.ts'

export interface Stored {
  readonly apiVersion: string
  readonly kind: string
  readonly [member: string]: unknown
}

/** The view of such an object, or why there is none. */
export function viewText(object: Stored, options: Partial<ViewOptions> = {}): string {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  const out = new ByteWriter()
  const stored = { bytes: value, start: 0, end: value.length }
  const refused = appendView(out, stored, { schema: schemaOf(), resourceVersion: '7', ...options })
  if (refused === undefined) return Buffer.from(out.copy()).toString()
  if (out.length > 0) throw new Error('something was appended all the same')
  return refused.reason
}
