/** Functions of lists: those of Kubernetes, and cel-go's extensions for lists and sets. */

import type { Library } from '../declarations.ts'
import { CostExceeded, failure, noOverload } from '../values/errors.ts'
import { isInt, noOperator } from '../values/numbers.ts'
import { compare, hasOrder, haveOneType } from '../values/order.ts'
import {
  areEqual,
  ArrayList,
  CelList,
  CelMap,
  Double,
  Duration,
  EntryMap,
  itemsOf,
  typeName,
  Uint,
  type Value,
} from '../values/values.ts'
import { spendWork } from '../values/work.ts'
import { add, isIn, shown } from './standard.ts'

const comparable = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes']
const summable = ['int', 'uint', 'double', 'duration']

function listIn(value: Value | undefined): readonly Value[] {
  if (!(value instanceof CelList)) throw noOverload()
  return itemsOf(value)
}

function intIn(value: Value | undefined): number {
  if (value === undefined || !isInt(value)) throw noOverload()
  return Number(value)
}

function isSorted(list: Value): Value {
  const items = listIn(list)
  return items.every((item, i) => i === 0 || compare(items[i - 1] as Value, item) <= 0)
}

/** The sum of no values is the zero of the type, which the list has none of. */
function sum(list: Value): Value {
  const items = listIn(list)
  const [first] = items
  if (first === undefined) return 0
  return items.slice(1).reduce(add, first)
}

/** The zero of each overload of sum. */
export const zeros: Readonly<Record<string, Value>> = {
  list_int_sum_int: 0,
  list_uint_sum_uint: new Uint(0n),
  list_double_sum_double: new Double(0),
  list_duration_sum_duration: new Duration(0n),
}

function extreme(name: string, sign: number): (list: Value) => Value {
  return list => {
    const items = listIn(list)
    let best = items[0]
    if (best === undefined) throw failure(`${name} called on empty list`)
    for (const item of items) if (compare(best, item) * sign < 0) best = item
    return best
  }
}

function slice(list: Value, from: Value, to: Value): Value {
  const [items, start, end] = [listIn(list), intIn(from), intIn(to)]
  const call = `cannot slice(${start}, ${end})`
  if (start < 0 || end < 0) throw failure(`${call}, negative indexes not supported`)
  if (start > end) {
    throw failure(`${call}, start index must be less than or equal to end index`)
  }
  if (items.length < end) throw failure(`${call}, list is length ${items.length}`)
  return new ArrayList(items.slice(start, end))
}

function flatten(list: Value, levels: Value = 1): Value {
  if (!(list instanceof CelList)) {
    const type = list instanceof CelMap ? 'map(dyn, dyn)' : typeName(list)
    throw failure(`no such overload: ${type}.flatten()`)
  }
  const depth = intIn(levels)
  if (depth < 0) throw failure('level must be non-negative')
  const flat: Value[] = []
  const walk = (items: readonly Value[], left: number): void => {
    for (const item of items) {
      if (left > 0 && item instanceof CelList) walk(itemsOf(item), left - 1)
      else flat.push(item)
    }
  }
  walk(listIn(list), depth)
  return new ArrayList(flat)
}

function sortedBy(list: Value, by: Value): Value {
  const [items, keys] = [listIn(list), listIn(by)]
  if (items.length !== keys.length) {
    throw failure(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${items.length} and ${keys.length} elements respectively`,
    )
  }
  const [first] = keys
  if (first === undefined) return list
  if (!hasOrder(first)) throw failure('list elements must be comparable')
  if (!keys.every(key => haveOneType(key, first))) {
    throw failure('list elements must have the same type')
  }
  const order = keys.map((_, i) => i)
  order.sort((a, b) => compare(keys[a] as Value, keys[b] as Value))
  return new ArrayList(order.map(i => items[i] as Value))
}

/** Longer ranges cost more than a call may. */
const rangeMax = 1_000_000

function range(count: Value): Value {
  const length = intIn(count)
  if (length > rangeMax) throw new CostExceeded()
  return new ArrayList(Array.from({ length: Math.max(0, length) }, (_, i) => i))
}

function distinct(list: Value): Value {
  const found: Value[] = []
  const plain = new Set<Value>()
  for (const item of listIn(list)) {
    if (typeof item === 'string' || isInt(item) || typeof item === 'boolean') {
      if (plain.has(item)) continue
      plain.add(item)
    }
    if (!found.some(other => areEqual(other, item))) found.push(item)
  }
  return new ArrayList(found)
}

function contains(list: Value, part: Value): boolean {
  return listIn(part).every(item => isIn(item, list))
}

/** Adds an entry, or all entries of a map, to a map. */
function insert(map: Value, key: Value, value?: Value): Value {
  if (!(map instanceof CelMap)) throw noOverload()
  const made = new EntryMap()
  for (const known of map.keys()) made.add(known, map.get(known) ?? null)
  insertInto(made, key, value)
  return made
}

const insertWork = 4

/** Adds an entry, or all entries of a map, to a map that nobody else has. */
export function insertInto(map: EntryMap, key: Value, value: Value | undefined): void {
  const entries: (readonly [Value, Value])[] = []
  if (value !== undefined) entries.push([key, value])
  else if (key instanceof CelMap) {
    for (const name of key.keys()) entries.push([name, key.get(name) ?? null])
  } else throw noOverload()
  spendWork(entries.length * insertWork)
  for (const [name, member] of entries) {
    if (!map.add(name, member)) {
      throw failure(`insert failed: key ${shown(name)} already exists`)
    }
  }
}

export const listFunctions: Library = {
  signatures: {
    isSorted: comparable.map(type => `list_${type}_is_sorted_bool: list(${type}).() bool`),
    sum: summable.map(type => `list_${type}_sum_${type}: list(${type}).() ${type}`),
    max: comparable.map(type => `list_${type}_max_${type}: list(${type}).() ${type}`),
    min: comparable.map(type => `list_${type}_min_${type}: list(${type}).() ${type}`),
    indexOf: ['list_a_index_of_int: list(A).(A) int'],
    lastIndexOf: ['list_a_last_index_of_int: list(A).(A) int'],
  },
  implementations: { isSorted, sum, max: extreme('max', 1), min: extreme('min', -1) },
}

const typeNames: Readonly<Record<string, string>> = {
  duration: 'google.protobuf.Duration',
  timestamp: 'google.protobuf.Timestamp',
}

export const listExtensions: Library = {
  signatures: {
    slice: ['list_slice: list(T).(int, int) list(T)'],
    flatten: [
      'list_flatten: list(list(T)).() list(T)',
      'list_flatten_int: list(dyn).(int) list(dyn)',
    ],
    sort: comparable.map(
      type => `list_${typeNames[type] ?? type}_sort: list(${type}).() list(${type})`,
    ),
    '@sortByAssociatedKeys': comparable.map(
      type =>
        `list_${typeNames[type] ?? type}_sortByAssociatedKeys: list(T).(list(${type})) list(T)`,
    ),
    'lists.range': ['lists_range: (int) list(int)'],
    reverse: ['list_reverse: list(T).() list(T)'],
    distinct: ['list_distinct: list(T).() list(T)'],
  },
  implementations: {
    slice,
    flatten,
    sort: (list: Value) => {
      if (!(list instanceof CelList)) throw noOperator('sort', list, [])
      return sortedBy(list, list)
    },
    '@sortByAssociatedKeys': sortedBy,
    'lists.range': range,
    reverse: (value: Value) =>
      typeof value === 'string'
        ? Array.from(value).reverse().join('')
        : new ArrayList(listIn(value).toReversed()),
    distinct,
  },
}

export const sets: Library = {
  signatures: {
    'sets.contains': ['list_sets_contains_list: (list(T), list(T)) bool'],
    'sets.equivalent': ['list_sets_equivalent_list: (list(T), list(T)) bool'],
    'sets.intersects': ['list_sets_intersects_list: (list(T), list(T)) bool'],
  },
  implementations: {
    'sets.contains': contains,
    'sets.equivalent': (a: Value, b: Value) => contains(a, b) && contains(b, a),
    'sets.intersects': (a: Value, b: Value) => listIn(a).some(item => isIn(item, b)),
  },
}

export const twoVariables: Library = {
  signatures: {
    'cel.@mapInsert': [
      '@mapInsert_map_map: (map(K, V), map(K, V)) map(K, V)',
      '@mapInsert_map_key_value: (map(K, V), K, V) map(K, V)',
    ],
  },
  implementations: { 'cel.@mapInsert': insert },
}
