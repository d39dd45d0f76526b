/** Shard selectors (KEP-5866): `shardRange(object.metadata.uid, '0x0000000000000000',
 *  '0x8000000000000000')`, several joined with `||`. An object is selected if the hash of the field
 *  is in one of the ranges. What is wrong with one is said in kube-apiserver's words, as a plain
 *  500. */

import { CacheError } from '@watchglass/base'
import { goQuote } from '@watchglass/go'
import { plainError } from '../status.ts'
import { type Expression, expressionKinds, parseExpression } from './expression.ts'
import { compareHashes, type ShardHash } from './shard-hash.ts'

/** The field of an object that is hashed. */
export type ShardField = 'uid' | 'namespace'

/** Hashes from the start up to the end, which is not one of them. The high half of an end may be
 *  2 to the power of 32. */
export interface ShardRange {
  readonly start: ShardHash
  readonly end: ShardHash
}

export class ShardSelector {
  readonly field: ShardField
  /** In order, and apart from each other, however they were written. */
  readonly ranges: readonly ShardRange[]
  /** As answers repeat it. */
  readonly text: string

  constructor(field: ShardField, ranges: readonly ShardRange[], text: string) {
    this.field = field
    this.ranges = joined(ranges)
    this.text = text
  }

  /** Whether a hash is in one of the ranges. O(log ranges): a client may write hundreds. */
  has(high: number, low: number): boolean {
    let [from, to] = [0, this.ranges.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const { end } = this.ranges[middle]!
      if (end.high > high || (end.high === high && end.low > low)) to = middle
      else from = middle + 1
    }
    const found = this.ranges[from]
    if (found === undefined) return false
    const { start } = found
    return start.high < high || (start.high === high && start.low <= low)
  }
}

function joined(ranges: readonly ShardRange[]): ShardRange[] {
  const apart: ShardRange[] = []
  for (const range of ranges.toSorted((a, b) => compareHashes(a.start, b.start))) {
    const last = apart.at(-1)
    if (last === undefined || compareHashes(last.end, range.start) < 0) apart.push(range)
    else if (compareHashes(last.end, range.end) < 0) {
      apart[apart.length - 1] = { start: last.start, end: range.end }
    }
  }
  return apart
}

const fields: ReadonlyMap<string, ShardField> = new Map([
  ['object.metadata.uid', 'uid'],
  ['object.metadata.namespace', 'namespace'],
])

/** Blanks as Go trims them. */
const blank = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

/** O(length), which a pattern for the end of a text is not: it begins at each blank anew. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && blank.test(text.charAt(start))) start++
  while (end > start && blank.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

/** Parses a selector that is not empty; refuses a malformed one. O(length). */
export function parseShardSelector(text: string): ShardSelector {
  try {
    return selectorOf(trimmed(text))
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    throw plainError(`invalid shard selector: ${error.message}`)
  }
}

function selectorOf(text: string): ShardSelector {
  if (text === '') {
    throw wrong('empty shard selector is not allowed; omit the parameter for unfiltered lists')
  }
  const calls = rangesIn(parsed(text))
  const [first] = calls
  const other = calls.find(({ path }) => path !== first?.path)
  if (first !== undefined && other !== undefined) {
    const both = `${goQuote(first.path)} and ${goQuote(other.path)}`
    throw wrong(`all shard ranges must use the same field, got ${both}`)
  }
  const field = fields.get(first?.path ?? '') ?? 'uid'
  const canonical = calls.map(({ path, from, to }) => `shardRange(${path}, '${from}', '${to}')`)
  const ranges = calls.map(({ from, to }) => ({ start: bound(from), end: bound(to) }))
  return new ShardSelector(field, ranges, canonical.join(' || '))
}

function parsed(text: string): Expression {
  try {
    return parseExpression(text)
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    throw wrong(`CEL parse error: ${error.message}`)
  }
}

interface RangeCall {
  readonly path: string
  readonly from: string
  readonly to: string
}

/** The ranges from left to right. A long row of `||` leans to the left, so it is taken apart
 *  without going deep. */
function rangesIn(expression: Expression): RangeCall[] {
  const operands: Expression[] = []
  const open: Expression[] = [expression]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (one.type === 'call' && one.name === '_||_') open.push(...one.args.toReversed())
    else operands.push(one)
  }
  return operands.map(rangeOf)
}

function rangeOf(expression: Expression): RangeCall {
  if (expression.type !== 'call') {
    const kind = expressionKinds[expression.type]
    throw wrong(`unexpected expression kind ${kind}; expected shardRange() call or || operator`)
  }
  const { name, args } = expression
  if (name !== 'shardRange') {
    throw wrong(`unsupported function ${goQuote(name)}; only shardRange() and || are allowed`)
  }
  const [field, from, to] = args
  if (field === undefined || from === undefined || to === undefined || args.length !== 3) {
    throw wrong(`shardRange() requires exactly 3 arguments, got ${args.length}`)
  }
  const path = pathOf(field)
  if (!fields.has(path)) {
    const supported = [...fields.keys()].join(', ')
    throw wrong(`unsupported field path ${goQuote(path)}; supported: ${supported}`)
  }
  const range = { path, from: hexOf(from, 'hexStart'), to: hexOf(to, 'hexEnd') }
  if (!isBefore(range.from, range.to)) {
    throw wrong(`shard range start ${range.from} must be less than end ${range.to}`)
  }
  return range
}

function pathOf(expression: Expression): string {
  const names: string[] = []
  let one = expression
  for (; one.type === 'select'; one = one.of) names.push(one.name)
  if (one.type === 'identifier') return [one.name, ...names.toReversed()].join('.')
  const kind = expressionKinds[one.type]
  throw wrong(
    `shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind ${kind}`,
  )
}

const digitsMax = 17
const aboveAll = '0x10000000000000000'

function hexOf(expression: Expression, name: string): string {
  if (expression.type !== 'literal') {
    const kind = expressionKinds[expression.type]
    throw wrong(`${name} must be a string literal (e.g. '0xff'), got expression kind ${kind}`)
  }
  const { goType, text } = expression
  if (goType !== 'string') throw wrong(`${name} must be a string literal, got ${goType}`)
  if (!text.startsWith('0x')) throw wrong(`${name} must have '0x' prefix, got ${goQuote(text)}`)
  const digits = text.slice(2)
  if (digits === '') throw wrong(`${name}: hex value is required after '0x'`)
  const { length } = Buffer.from(digits)
  if (length > digitsMax) {
    const long = `${length} chars, max ${digitsMax}`
    throw wrong(`${name}: hex value too long (${long}): ${goQuote(digits)}`)
  }
  const bad = Array.from(digits).find(digit => !/^[0-9a-f]$/.test(digit))
  if (bad !== undefined) {
    throw wrong(`${name}: invalid hex character ${goQuote(bad)} in ${goQuote(text)}`)
  }
  if (length === digitsMax && text !== aboveAll) {
    throw wrong(`${name}: 17-digit hex value must be '${aboveAll}' (2^64), got ${goQuote(text)}`)
  }
  if (length < digitsMax - 1) {
    const meant = `"0x${digits.padStart(16, '0')}"`
    throw wrong(
      `${name} must be a 0x-prefixed 16-digit hex value, got ${goQuote(text)} (did you mean ${meant}?)`,
    )
  }
  return text
}

function isBefore(from: string, to: string): boolean {
  return from.length === to.length ? from < to : from.length < to.length
}

function bound(hex: string): ShardHash {
  return { high: parseInt(hex.slice(2, -8), 16), low: parseInt(hex.slice(-8), 16) }
}

function wrong(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
