/** The cost of calls while they run, as Kubernetes counts it. */

import { NamedFormat } from '../functions/formats.ts'
import { isInt } from '../values/numbers.ts'
import { CelList, CelMap, itemsOf, Opaque, sizeOf, type Value } from '../values/values.ts'
import { patternFactor, textFactor } from './call-estimates.ts'

/** The cost of a call with these arguments. */
export type CallCost = (args: readonly Value[]) => number

const text = (value: Value | undefined, factor = textFactor): number =>
  value === undefined ? 0 : Math.ceil(sizeOf(value) * factor)

const ofFirst =
  (factor = textFactor): CallCost =>
  ([arg]) =>
    text(arg, factor)

const pattern: CallCost = ([subject, source]) =>
  Math.ceil(((subject === undefined ? 0 : sizeOf(subject)) + 1) * textFactor) *
  text(source, patternFactor)

/** The cost of looking at all of a value. */
function traversal(value: Value | undefined): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * textFactor)
  if (value instanceof Uint8Array) return Math.floor(value.length * textFactor)
  if (value instanceof CelList) {
    return itemsOf(value).reduce((sum: number, item) => sum + traversal(item), 0)
  }
  if (value instanceof CelMap) {
    return value
      .keys()
      .reduce((sum: number, key) => sum + traversal(key) + traversal(value.get(key) ?? null), 0)
  }
  return 1
}

const smaller: CallCost = ([a, b]) => {
  if (a instanceof Opaque) return 1
  return Math.ceil(Math.min(sizeOf(a ?? null), sizeOf(b ?? null)) * textFactor)
}

const joined: CallCost = ([a, b]) => Math.ceil((sizeOf(a ?? null) + sizeOf(b ?? null)) * textFactor)

const products =
  (factor: number): CallCost =>
  ([a, b]) =>
    1 + sizeOf(a ?? null) * sizeOf(b ?? null) * factor

const listBase = 11

/** Each item is compared with each other. */
const selfCompared: CallCost = args => {
  const list = args.at(-1)
  if (!(list instanceof CelList) || list.size === 0) return listBase
  const first = list.at(0)
  const isText = typeof first === 'string' || first instanceof Uint8Array
  return listBase + Math.floor(list.size * list.size * (isText ? 2 + textFactor : 2))
}

const ofList =
  (factor: (args: readonly Value[]) => number): CallCost =>
  args =>
    listBase + Math.floor(sizeOf(args[0] ?? null) * factor(args))

const containsIp: CallCost = ([cidr, other]) =>
  text(cidr, 2 * textFactor) + (typeof other === 'string' ? text(other) : 0)

const containsCidr: CallCost = ([cidr, other]) =>
  text(cidr, 2 * textFactor) + text(cidr) + 1 + (typeof other === 'string' ? text(other) : 0)

const validate: CallCost = ([format, subject]) =>
  format instanceof NamedFormat
    ? Math.ceil((1 + sizeOf(subject ?? '')) * textFactor) *
      Math.ceil(format.patternSize * patternFactor)
    : 1

const selector: CallCost = ([, source]) =>
  10 + text(source) + Math.ceil(Math.ceil(sizeOf(source ?? '') * 0.5) * 50)

function rows(names: readonly string[], cost: CallCost): Record<string, CallCost> {
  return Object.fromEntries(names.map(name => [name, cost]))
}

/** By the name of the function. */
const byName: Readonly<Record<string, CallCost>> = {
  check: () => 350_000,
  ...rows(['fieldSelector', 'labelSelector'], selector),
  ...rows(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], ([of]) => traversal(of)),
  ...rows(['url', 'lowerAscii', 'upperAscii', 'substring', 'trim'], ofFirst()),
  ...rows(['replace', 'split'], ofFirst(2 * textFactor)),
  ...rows(['find', 'findAll'], pattern),
  ...rows(['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'], ofFirst()),
  ip: ([of]) => (typeof of === 'string' ? text(of) : 1),
  'ip.isCanonical': ofFirst(2 * textFactor),
  containsIP: containsIp,
  containsCIDR: containsCidr,
  validate,
}

const comparisons = ['less', 'greater', 'less_equals', 'greater_equals'].flatMap(name => [
  `${name}_string`,
  `${name}_bytes`,
])

const byOverload: Readonly<Record<string, CallCost>> = {
  ...rows(
    [
      'starts_with_string',
      'ends_with_string',
      'string_to_bytes',
      'bytes_to_string',
      'strings_quote',
      'string_format',
    ],
    ofFirst(),
  ),
  in_list: ([, list]) => sizeOf(list ?? null),
  ...rows([...comparisons, 'equals', 'not_equals'], smaller),
  ...rows(['add_string', 'add_bytes'], joined),
  matches_string: pattern,
  contains_string: ([subject, part]) => text(subject) * text(part),
  ...rows(['list_sets_contains_list', 'list_sets_intersects_list'], products(1)),
  list_sets_equivalent_list: products(2),
  list_slice: ([, from, to]) => listBase + Math.max(0, intOf(to) - intOf(from)),
  ...rows(
    ['list_flatten', 'list_flatten_int'],
    ofList(([, depth]) => intOf(depth ?? 1)),
  ),
  lists_range: ([count]) => listBase + Math.max(0, intOf(count)),
  list_reverse: ofList(() => 1),
  list_distinct: selfCompared,
}

function intOf(value: Value | undefined): number {
  return value !== undefined && isInt(value) ? Number(value) : 0
}

/** The cost of a call; undefined: 1 whatever the arguments are. */
export function costOfCall(name: string, overload: string): CallCost | undefined {
  if (/_sort(?:ByAssociatedKeys)?$/.test(overload)) return selfCompared
  if (Object.hasOwn(byOverload, overload)) return byOverload[overload]
  return Object.hasOwn(byName, name) ? byName[name] : undefined
}

/** The cost of a text that was made of a list. */
export function costOfJoined(result: Value): number {
  return text(result, 2 * textFactor)
}
