/** Values that may be missing: `a.?b.orValue(1)`. */

import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import {
  ArrayList,
  CelList,
  CelMap,
  Duration,
  isNumeric,
  itemsOf,
  none,
  numberOf,
  Optional,
  sizeOf,
  Timestamp,
  type Value,
} from '../values/values.ts'

function optionalIn(value: Value): Optional {
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

function withoutNone(list: Value): Value {
  if (!(list instanceof CelList)) throw noOverload()
  return new ArrayList(itemsOf(list).flatMap(item => optionalIn(item).value ?? []))
}

function endOf(list: Value, place: (size: number) => number): Value {
  if (!(list instanceof CelList)) throw noOverload()
  return list.size === 0 ? none : new Optional(list.at(place(list.size)))
}

/** The second version of cel-go's extension for optional values. */
export const optionalLists: Library = {
  signatures: {
    first: ['list_first: list(V).() optional(V)'],
    last: ['list_last: list(V).() optional(V)'],
    'optional.unwrap': ['optional_unwrap: (list(optional(V))) list(V)'],
    unwrapOpt: ['optional_unwrapOpt: list(optional(V)).() list(V)'],
  },
  implementations: {
    first: (list: Value) => endOf(list, () => 0),
    last: (list: Value) => endOf(list, size => size - 1),
    'optional.unwrap': withoutNone,
    unwrapOpt: withoutNone,
  },
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
