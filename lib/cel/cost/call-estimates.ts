/** The costs that calls may have: rows of Kubernetes' and cel-go's estimators. */

import { isInt } from '../values/numbers.ts'
import { exactly, plus, type Range, scaled, type Sized, times, unknownRange } from './ranges.ts'

export interface CallEstimate {
  readonly cost: Range
  /** That of the result. */
  readonly size?: Range
}

interface CallParts {
  readonly target: Sized | undefined
  readonly args: readonly Sized[]
}

type Estimate = (call: CallParts, overload: string) => CallEstimate | undefined

/** For each character of a text. */
export const textFactor = 0.1
/** For each character of a pattern. */
export const patternFactor = 0.25

const one: CallEstimate = { cost: exactly(1) }
const fixed: Estimate = () => one

const listBase = 10

/** A function that makes a list. */
function listMade(factor: number, size: Range): CallEstimate {
  return { cost: plus(scaled(size, factor), exactly(1 + listBase)), size }
}

/** The whole number that an argument is; otherwise what is given. */
function intOf(arg: Sized | undefined, otherwise: number): number {
  const expr = arg?.expr
  if (expr?.kind !== 'literal' || !isInt(expr.value)) return otherwise
  return Math.max(0, Number(expr.value))
}

const ofTarget =
  (factor: number, keepsSize = true): Estimate =>
  ({ target }) => {
    if (target === undefined) return undefined
    const cost = scaled(target.size, factor)
    return keepsSize ? { cost, size: target.size } : { cost }
  }

const ofFirst =
  (factor: number): Estimate =>
  ({ args: [arg] }) =>
    arg === undefined ? undefined : { cost: scaled(arg.size, factor) }

/** A function whose result has another size than its argument. */
const resized =
  (size: (size: Range) => Range): Estimate =>
  ({ args: [arg] }) =>
    arg === undefined ? undefined : { cost: scaled(arg.size, textFactor), size: size(arg.size) }

/** Looking at each item of a list, or at each character of a text. */
const traversal: Estimate = ({ target }) => {
  if (target === undefined) return undefined
  if (target.type.params.length === 0) return { cost: scaled(target.size, textFactor) }
  const item = target.item()
  const isText = item.type.kind === 'string' || item.type.kind === 'bytes'
  const each = isText ? plus(exactly(1), scaled(item.size, textFactor)) : exactly(1)
  return { cost: times(target.size, each) }
}

function matching(text: Range, pattern: Range): Range {
  return times(scaled(plus(text, exactly(1)), textFactor), scaled(pattern, patternFactor))
}

const find: Estimate = ({ target, args: [pattern] }) => {
  if (target === undefined || pattern === undefined) return undefined
  const { max } = target.size
  return { cost: matching(target.size, pattern.size), size: { min: 0, max } }
}

const join: Estimate = ({ target, args: [separator] }) => {
  if (target === undefined) return undefined
  let size = times(target.size, target.item().size)
  if (separator !== undefined) {
    const { min, max } = target.size
    const between = { min: Math.max(0, min - 1), max: Math.max(0, max - 1) }
    size = plus(size, times(separator.size, between))
  }
  return { cost: scaled(size, textFactor), size }
}

const split: Estimate = ({ target, args: [, count] }) => {
  if (target === undefined) return undefined
  const { max } = target.size
  return {
    cost: scaled(target.size, 2 * textFactor),
    size: { min: 0, max: count === undefined ? max : intOf(count, max) },
  }
}

const replace: Estimate = ({ target, args: [old, by] }) => {
  if (target === undefined || old === undefined || by === undefined) return undefined
  const { size } = target
  let [countMax, keptMax] = [0, 0]
  if (old.size.min === 0) [countMax, keptMax] = [size.max + 1, size.max]
  else if (by.size.max <= old.size.min) keptMax = size.max
  else countMax = Math.ceil(size.max / old.size.min)
  let [countMin, keptMin] = [0, 0]
  if (old.size.max === 0) [countMin, keptMin] = [size.min + 1, size.min]
  else if (old.size.max <= by.size.min) keptMin = size.min
  else countMin = Math.ceil(size.min / old.size.max)
  const made = times({ min: countMin, max: countMax }, by.size)
  return {
    cost: scaled(size, 2 * textFactor),
    size: plus(made, { min: keptMin, max: keptMax }),
  }
}

const addressSize: Range = { min: 4, max: 16 }

const containsIp: Estimate = ({ args: [other] }, overload) => {
  const cost = scaled(plus(addressSize, addressSize), textFactor)
  const isText = overload === 'cidr_contains_ip_string' && other !== undefined
  return { cost: isText ? plus(cost, scaled(other.size, textFactor)) : cost }
}

const containsCidr: Estimate = ({ args: [other] }, overload) => {
  const both = scaled(plus(addressSize, addressSize), textFactor)
  const cost = plus(plus(both, scaled(addressSize, textFactor)), exactly(1))
  const isText = overload === 'cidr_contains_cidr_string' && other !== undefined
  return { cost: isText ? plus(cost, scaled(other.size, textFactor)) : cost }
}

const selector: Estimate = ({ args: [arg] }) => {
  if (arg === undefined) return undefined
  const requirements = scaled(scaled(arg.size, 0.5), listBase + 40)
  return { cost: plus(plus(exactly(listBase), scaled(arg.size, textFactor)), requirements) }
}

/** The longest regular expression of a named format. */
const formatPatternMax = 128

const validate: Estimate = ({ args: [text] }) =>
  text === undefined
    ? undefined
    : { cost: scaled(scaled(text.size, textFactor), formatPatternMax * patternFactor) }

/** Equal values of libraries; others are compared below. */
const equality: Estimate = ({ args: [left, right] }) => {
  if (left === undefined || right === undefined || !left.type.isExactly(right.type)) {
    return undefined
  }
  switch (left.type.name) {
    case 'kubernetes.NamedFormat':
      return { cost: scaled({ min: 1, max: 64 }, textFactor) }
    case 'kubernetes.URL': {
      const max = right.hasSize ? right.size.max : 1
      return { cost: scaled({ min: 1, max }, textFactor) }
    }
    default:
      return /^(?:net\.|kubernetes\.)/.test(left.type.name) ? one : undefined
  }
}

const sets =
  (factor: number): Estimate =>
  ({ args: [a, b] }) =>
    a === undefined || b === undefined
      ? undefined
      : { cost: plus(scaled(times(a.size, b.size), factor), exactly(1)) }

const slice: Estimate = ({ target, args: [from, to] }) => {
  if (target === undefined) return undefined
  const [start, end] = [intOf(from, 0), intOf(to, target.size.max)]
  return listMade(1, exactly(Math.max(0, end - start)))
}

const flatten: Estimate = ({ target, args: [depth] }) =>
  target === undefined
    ? undefined
    : listMade(depth === undefined ? 1 : intOf(depth, Infinity), target.size)

const sort: Estimate = ({ target, args: [keys] }, overload) => {
  const node = keys ?? target
  if (node === undefined) return undefined
  const isText = /^list_(?:string|bytes)_/.test(overload)
  return listMade(isText ? 2 + textFactor : 2, times(node.size, node.size))
}

function rows(names: readonly string[], estimate: Estimate): Record<string, Estimate> {
  return Object.fromEntries(names.map(name => [name, estimate]))
}

/** By the name of the function. */
const byName: Readonly<Record<string, Estimate>> = {
  ...rows(
    [
      'serviceAccount',
      'path',
      'group',
      'resource',
      'subresource',
      'namespace',
      'name',
      'allowed',
      'reason',
      'error',
      'errored',
      'masked',
      'prefixLength',
      'family',
      'isUnspecified',
      'isLoopback',
      'isLinkLocalMulticast',
      'isLinkLocalUnicast',
      'isGlobalUnicast',
      'format.named',
      'sign',
      'asInteger',
      'isInteger',
      'asApproximateFloat',
      'isGreaterThan',
      'isLessThan',
      'compareTo',
      'add',
      'sub',
      'major',
      'minor',
      'patch',
      'getScheme',
      'getHostname',
      'getHost',
      'getPort',
      'getEscapedPath',
      'getQuery',
    ],
    fixed,
  ),
  check: () => ({ cost: exactly(350_000) }),
  ...rows(['fieldSelector', 'labelSelector'], selector),
  ...rows(['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'], traversal),
  ...rows(
    ['url', 'jsonpatch.escapeKey'],
    resized(size => size),
  ),
  ...rows(['lowerAscii', 'upperAscii', 'substring', 'trim'], ofTarget(textFactor)),
  replace,
  split,
  join,
  ...rows(['find', 'findAll'], find),
  ...rows(['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity'], ofFirst(textFactor)),
  ...rows(['semver', 'isSemver'], ofFirst(textFactor)),
  ip: (call, overload) => (overload === 'cidr_ip' ? one : ofFirst(textFactor)(call, overload)),
  'ip.isCanonical': ofFirst(2 * textFactor),
  containsIP: containsIp,
  containsCIDR: containsCidr,
  validate,
  '_==_': equality,
}

const comparesText: ReadonlySet<string> = new Set([
  'equals',
  'not_equals',
  ...['less', 'greater', 'less_equals', 'greater_equals'].flatMap(name => [
    `${name}_string`,
    `${name}_bytes`,
  ]),
])

const comparing: Estimate = ({ args: [left, right] }) => {
  const max = Math.min(left?.size.max ?? Infinity, right?.size.max ?? Infinity)
  return { cost: scaled({ min: max > 0 ? 1 : 0, max }, textFactor) }
}

const joining: Estimate = ({ args: [left, right] }, overload) => {
  const size = plus(left?.size ?? unknownRange, right?.size ?? unknownRange)
  return { cost: overload === 'add_list' ? exactly(1) : scaled(size, textFactor), size }
}

/** By the overload: they come before what is known of the name. */
const byOverload: Readonly<Record<string, Estimate>> = {
  list_slice: slice,
  ...rows(['list_flatten', 'list_flatten_int'], flatten),
  lists_range: ({ args: [count] }) => listMade(1, exactly(intOf(count, Infinity))),
  list_reverse: ({ target }) => (target === undefined ? undefined : listMade(1, target.size)),
  list_distinct: ({ target }) =>
    target === undefined ? undefined : listMade(2, times(target.size, target.size)),
  ...rows(['list_sets_contains_list', 'list_sets_intersects_list'], sets(1)),
  list_sets_equivalent_list: sets(2),
}

const standard: Readonly<Record<string, Estimate>> = {
  string_format: ofTarget(textFactor, false),
  string_to_bytes: resized(({ min, max }) => ({ min, max: max * 4 })),
  bytes_to_string: resized(({ min, max }) => ({ min: Math.floor(min / 4), max })),
  strings_quote: resized(({ min, max }) => ({ min: min + 2, max: max * 2 + 2 })),
  ...rows(['starts_with_string', 'ends_with_string'], ofFirst(textFactor)),
  in_list: ({ args: [, list] }) =>
    list === undefined ? undefined : { cost: scaled(list.size, 1) },
  matches_string: ({ target, args: [pattern] }) =>
    target === undefined || pattern === undefined
      ? undefined
      : { cost: matching(target.size, pattern.size) },
  contains_string: ({ target, args: [part] }) =>
    target === undefined || part === undefined
      ? undefined
      : { cost: times(scaled(target.size, textFactor), scaled(part.size, textFactor)) },
  ...rows(['add_string', 'add_bytes', 'add_list'], joining),
}

/** The cost of a call without that of its arguments. */
export function estimateOfCall(name: string, overload: string, call: CallParts): CallEstimate {
  const own = Object.hasOwn(byOverload, overload) ? byOverload[overload] : undefined
  const sorts = /_sort(?:ByAssociatedKeys)?$/.test(overload) ? sort : undefined
  const library = Object.hasOwn(byName, name) ? byName[name] : undefined
  const general = Object.hasOwn(standard, overload)
    ? standard[overload]
    : comparesText.has(overload)
      ? comparing
      : undefined
  return (
    (own ?? sorts)?.(call, overload) ??
    library?.(call, overload) ??
    general?.(call, overload) ??
    one
  )
}
