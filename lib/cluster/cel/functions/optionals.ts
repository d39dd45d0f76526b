/** Values that may be missing: `a.?b.orValue(1)`. */

import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import { isNumeric, none, numberOf, Optional, sizeOf, type Value } from '../values/values.ts'
import { CelList, CelMap, Duration, Timestamp } from '../values/values.ts'

export function optionalIn(value: Value): Optional {
  if (!(value instanceof Optional)) throw noOverload()
  return value
}

/** True for the value that a field has when nobody sets it. */
function isZero(value: Value): boolean {
  if (value === null || value === false || value === '') return true
  if (isNumeric(value)) return Number(numberOf(value)) === 0
  if (value instanceof CelList || value instanceof CelMap || value instanceof Uint8Array) {
    return sizeOf(value) === 0
  }
  if (value instanceof Duration) return value.nanos === 0n
  if (value instanceof Timestamp) return value.seconds === 0 && value.nanos === 0
  return value instanceof Optional && value.value === undefined
}

export const optionals: Library = {
  signatures: {
    'optional.of': ['optional_of: (V) optional(V)'],
    'optional.ofNonZeroValue': ['optional_ofNonZeroValue: (V) optional(V)'],
    'optional.none': ['optional_none: () optional(V)'],
    value: ['optional_value: optional(V).() V'],
    hasValue: ['optional_hasValue: optional(V).() bool'],
    or: ['optional_or_optional: optional(V).(optional(V)) optional(V)'],
    orValue: ['optional_orValue_value: optional(V).(V) V'],
    '_?._': ['select_optional_field: (dyn, string) optional(V)'],
    '_[?_]': [
      'list_optindex_optional_int: (list(V), int) optional(V)',
      'optional_list_optindex_optional_int: (optional(list(V)), int) optional(V)',
      'map_optindex_optional_value: (map(K, V), K) optional(V)',
      'optional_map_optindex_optional_value: (optional(map(K, V)), K) optional(V)',
    ],
    '_[_]': [
      'optional_list_index_int: (optional(list(V)), int) optional(V)',
      'optional_map_index_value: (optional(map(K, V)), K) optional(V)',
    ],
  },
  implementations: {
    'optional.of': (value: Value) => new Optional(value),
    'optional.ofNonZeroValue': (value: Value) => (isZero(value) ? none : new Optional(value)),
    'optional.none': () => none,
    value: (value: Value) => {
      const found = optionalIn(value).value
      if (found === undefined) throw failure('optional.none() dereference')
      return found
    },
    hasValue: (value: Value) => optionalIn(value).value !== undefined,
  },
}
