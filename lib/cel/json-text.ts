/** Values out of JSON texts, and JSON texts of values, for programs that have none of our trees.
 *  Texts and not JavaScript's objects, since these do not tell `1` from `1.0`, which are an int and
 *  a double to an expression. */

import { parseTree, textInOrder } from '@watchglass/go'
import { jsonOf } from './functions/json.ts'
import { type DataShape, freeValue, valueOf } from './schema/data.ts'
import { failure } from './values/errors.ts'
import type { Value } from './values/values.ts'

/** The value of a JSON text, read as the schema of `shape` describes it; without one, numbers are
 *  what they look like and objects are maps. Throws a `CelError` where the text is malformed or has
 *  another type than the schema says. One pass over the text; members become values when an
 *  expression asks for them. */
export function valueFromJson(text: string, shape?: DataShape): Value {
  const bytes = Buffer.from(text)
  const tree = parseTree(bytes, 0, bytes.length)
  if (tree === undefined) throw failure('the text is not JSON, or is nested too deeply')
  return shape === undefined ? freeValue(tree) : valueOf(tree, shape)
}

/** The JSON text of a value, members in their order; times, durations, bytes, and integers beyond
 *  2^53 are texts, as in protobuf's JSON. Throws a `CelError` where there is none: of NaN, and of
 *  what is larger than the largest body that an API server takes. */
export function jsonFromValue(value: Value): string {
  return textInOrder(jsonOf(value, { areTexts: true }))
}
