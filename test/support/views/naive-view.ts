/** The naive program: it has all objects as plain values, filters and sorts them with JavaScript,
 *  and takes the page. It shares nothing with what is tested, the grammar neither: a random
 *  question is made as a value, of which the text is written. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { cellsOf, cpuAmounts, type ModelPod, ownColumns } from './model-pod.ts'

type Kind = 'text' | 'number' | 'quantity' | 'time'

const kinds: Readonly<Record<string, Kind>> = {
  name: 'text',
  namespace: 'text',
  ready: 'text',
  status: 'text',
  restarts: 'number',
  age: 'time',
  ip: 'text',
  node: 'text',
  'labels.app': 'text',
  'labels.tier': 'text',
  'annotations.example.com/note': 'text',
  cpu: 'quantity',
  prio: 'text',
}
const names = Object.keys(kinds)

const values: Readonly<Record<Kind, readonly string[]>> = {
  text: [
    'a',
    'b',
    'Running',
    'CrashLoopBackOff',
    'node-1',
    '<none>',
    '1/1',
    'p1',
    '5',
    '-3',
    'é',
    'web',
  ],
  number: ['0', '1', '3', '5', '5.5', '10', '1e1'],
  quantity: ['100m', '1', '1500m', '2', '1Ki', '0.1'],
  time: ['0', '59s', '1m', '1h', '60m', '1h1s', '1d', '25h', '100d'],
}
const operators = ['=', '==', '!=', '<', '<=', '>', '>=', '~', 'in', 'exists'] as const

/** A condition as a value. */
export type NaiveCondition =
  | { readonly type: 'and' | 'or'; readonly parts: readonly NaiveCondition[] }
  | { readonly type: 'not'; readonly part: NaiveCondition }
  | {
      readonly type: (typeof operators)[number]
      readonly column: string
      readonly values: readonly string[]
    }

export interface NaiveQuestion {
  readonly namespace: string
  readonly where: NaiveCondition | undefined
  readonly search: string
  readonly sort: readonly { readonly column: string; readonly isDown: boolean }[]
  readonly columns: readonly string[] | undefined
  readonly labelSelector: string
  readonly countBy: readonly string[]
  readonly pageSize: number
  readonly page: number
}

export function randomQuestion(random: Random): NaiveQuestion {
  const some = (share: number): boolean => random.next() < share
  const countBy = some(0.2)
    ? [randomItem(random, ['status', 'node', 'labels.app', 'restarts', 'prio'])]
    : []
  const isOfTwo = countBy.length > 0 && some(0.5)
  if (isOfTwo) countBy.push(randomItem(random, ['namespace', 'ready', 'cpu']))
  const sort =
    some(0.75) && countBy.length === 0 ? [...Array(1 + randomInt(random, 0, 1)).keys()] : []
  return {
    namespace: some(0.3) ? randomItem(random, ['one', 'two']) : '',
    where: some(0.6) ? randomCondition(random, 0) : undefined,
    search: some(0.2)
      ? randomItem(random, ['a', 'node-1', 'RUN', '2026', '10.0.0.1', 'é', 'p1'])
      : '',
    sort: sort.map(() => ({ column: randomItem(random, names), isDown: some(0.5) })),
    columns: some(0.5) ? names.filter(() => some(0.5)) : undefined,
    labelSelector: some(0.2) ? randomItem(random, ['app=a', 'app!=a', 'tier', 'app in (a,b)']) : '',
    countBy,
    pageSize: randomItem(random, [1, 3, 10, 50, 1000]),
    page: some(0.5) ? 1 : 1 + randomInt(random, 0, 4),
  }
}

function randomCondition(random: Random, depth: number): NaiveCondition {
  const kind = randomInt(random, 0, depth > 2 ? 3 : 7)
  if (kind >= 6) {
    const type = kind === 6 ? 'and' : 'or'
    const parts = Array.from({ length: 2 + randomInt(random, 0, 1) }, () =>
      randomCondition(random, depth + 1),
    )
    return { type, parts }
  }
  if (kind === 5) return { type: 'not', part: randomCondition(random, depth + 1) }
  const column = randomItem(random, names)
  const type = randomItem(random, operators)
  const count = type === 'in' ? 1 + randomInt(random, 0, 2) : 1
  const known = values[kinds[column] as Kind]
  return { type, column, values: Array.from({ length: count }, () => randomItem(random, known)) }
}

/** The parameters of a question. */
export function queryOf(question: NaiveQuestion, random: Random): Record<string, string> {
  const { where, search, sort, columns, labelSelector, countBy } = question
  const own = columns === undefined ? ['wide', ownColumns] : columnsText(columns)
  const query: Record<string, string> = { columns: own.join(',') }
  if (where !== undefined) query['where'] = textOf(where, random)
  if (search !== '') query['search'] = search
  if (labelSelector !== '') query['labelSelector'] = labelSelector
  if (sort.length > 0) {
    query['sort'] = sort.map(({ column, isDown }) => `${isDown ? '-' : ''}${column}`).join(',')
  }
  if (countBy.length > 0) return { ...query, countBy: countBy.join(',') }
  return { ...query, pageSize: String(question.pageSize), page: String(question.page) }
}

/** Own columns are declared in any case, so that conditions may name them. */
function columnsText(columns: readonly string[]): string[] {
  return [...columns.filter(name => name !== 'cpu' && name !== 'prio'), ownColumns]
}

function textOf(condition: NaiveCondition, random: Random): string {
  const pick = (...texts: readonly string[]): string => randomItem(random, texts)
  if ('parts' in condition) {
    const sign = condition.type === 'and' ? pick(' and ', '&&', ' AND ') : pick(' or ', ' || ')
    return `(${condition.parts.map(part => textOf(part, random)).join(sign)})`
  }
  if ('part' in condition) return `${pick('not ', '!', 'NOT ')}${textOf(condition.part, random)}`
  const { type, column } = condition
  const texts = condition.values.map(value => valueText(value, random))
  if (type === 'exists') return `exists(${column})`
  if (type === 'in') return `${column} in (${texts.join(', ')})`
  const space = pick('', ' ')
  return `${column}${space}${type}${space}${texts[0]}`
}

function valueText(value: string, random: Random): string {
  if (/[<>]/.test(value)) return `"${value}"`
  return randomItem(random, [value, `"${value}"`, `'${value}'`])
}

type Cells = ReturnType<typeof cellsOf>

/** The rows of a question in their order. */
export function naiveRows(
  pods: readonly ModelPod[],
  question: NaiveQuestion,
  nowMs: number,
): readonly ModelPod[] {
  const { where, search, sort, namespace, labelSelector } = question
  const rows = pods
    .filter(pod => namespace === '' || pod.namespace === namespace)
    .filter(pod => isLabelled(pod, labelSelector))
    .map(pod => ({ pod, cells: cellsOf(pod) }))
    .filter(({ cells }) => where === undefined || meets(where, cells, nowMs))
    .filter(({ cells }) => isFound(cells, shownColumns(question), search))
  rows.sort((a, b) => {
    for (const { column, isDown } of sort) {
      const order = compareCells(kinds[column] as Kind, a.cells[column]!, b.cells[column]!, isDown)
      if (order !== 0) return order
    }
    const [left, right] = [a.pod, b.pod].map(pod => Buffer.from(`${pod.namespace}/${pod.name}`))
    return Buffer.compare(left!, right!)
  })
  return rows.map(({ pod }) => pod)
}

/** The ids of the columns that are shown. */
export function shownColumns({ columns, namespace }: NaiveQuestion): readonly string[] {
  const own = ['cpu', 'prio']
  if (columns !== undefined) return [...columns.filter(name => !own.includes(name)), ...own]
  const wide = [
    'name',
    'ready',
    'status',
    'restarts',
    'age',
    'ip',
    'node',
    'nominated-node',
    'readiness-gates',
  ]
  return [...(namespace === '' ? ['namespace'] : []), ...wide, ...own]
}

export function naiveGroups(
  rows: readonly ModelPod[],
  countBy: readonly string[],
): { values: string[]; count: number }[] {
  const groups = new Map<string, { values: string[]; count: number }>()
  for (const pod of rows) {
    const cells = cellsOf(pod)
    const texts = countBy.map(name => String(cells[name] ?? ''))
    const group = groups.get(texts.join('\0')) ?? { values: texts, count: 0 }
    group.count++
    groups.set(texts.join('\0'), group)
  }
  return [...groups.values()].sort(
    (a, b) => b.count - a.count || (a.values.join('\0') < b.values.join('\0') ? -1 : 1),
  )
}

function isLabelled({ labels }: ModelPod, selector: string): boolean {
  switch (selector) {
    case 'app=a':
      return labels['app'] === 'a'
    case 'app!=a':
      return labels['app'] !== 'a'
    case 'tier':
      return labels['tier'] !== undefined
    case 'app in (a,b)':
      return labels['app'] === 'a' || labels['app'] === 'b'
    default:
      return true
  }
}

function isFound(cells: Cells, columns: readonly string[], search: string): boolean {
  const texts = ['name', 'namespace', ...columns].map(name => String(cells[name] ?? ''))
  return texts.some(text => text.toLowerCase().includes(search.toLowerCase()))
}

function meets(condition: NaiveCondition, cells: Cells, nowMs: number): boolean {
  if ('part' in condition) return !meets(condition.part, cells, nowMs)
  if ('column' in condition) return meetsOne(condition, cells[condition.column]!, nowMs)
  const { type, parts } = condition
  return type === 'and'
    ? parts.every(part => meets(part, cells, nowMs))
    : parts.some(part => meets(part, cells, nowMs))
}

function meetsOne(
  { type, column, values: wanted }: Extract<NaiveCondition, { column: string }>,
  cell: string | number | null,
  nowMs: number,
): boolean {
  const kind = kinds[column] as Kind
  if (type === 'exists') return cell !== null && cell !== '<none>'
  const has = (text: string): boolean => text.toLowerCase().includes(wanted[0]!.toLowerCase())
  if (type === '~') return has(String(cell ?? ''))
  const orders = wanted.map(value => order(kind, cell, value, nowMs))
  if (type === 'in') return orders.includes(0)
  const [first] = orders
  if (type === '!=') return first !== 0
  if (first === undefined) return false
  if (type === '=' || type === '==') return first === 0
  if (type === '<') return first < 0
  if (type === '<=') return first <= 0
  return type === '>' ? first > 0 : first >= 0
}

const seconds: Readonly<Record<string, number>> = {
  '0': 0,
  '59s': 59,
  '1m': 60,
  '1h': 3600,
  '60m': 3600,
  '1h1s': 3601,
  '1d': 86_400,
  '25h': 90_000,
  '100d': 8_640_000,
}

function order(
  kind: Kind,
  cell: string | number | null,
  value: string,
  nowMs: number,
): number | undefined {
  if (cell === null) return undefined
  if (kind === 'time') {
    return Math.floor((nowMs - Date.parse(String(cell))) / 1000) - seconds[value]!
  }
  if (kind === 'quantity') return cpuAmounts[cell]! - (cpuAmounts[value] ?? 0.1)
  if (typeof cell === 'number') {
    return Number.isNaN(Number(value)) ? undefined : cell - Number(value)
  }
  return Buffer.compare(Buffer.from(cell), Buffer.from(value))
}

/** Cells without a value come last, whichever the direction. */
function compareCells(
  kind: Kind,
  a: string | number | null,
  b: string | number | null,
  isDown: boolean,
): number {
  const [left, right] = [sortValue(kind, a), sortValue(kind, b)]
  if (left === undefined || right === undefined) {
    return Number(left === undefined) - Number(right === undefined)
  }
  const direction = isDown ? -1 : 1
  if (typeof left === 'number' && typeof right === 'number') return direction * (left - right)
  if (typeof left === 'number') return -direction
  if (typeof right === 'number') return direction
  return direction * Buffer.compare(Buffer.from(left), Buffer.from(right))
}

function sortValue(kind: Kind, cell: string | number | null): string | number | undefined {
  if (cell === null || cell === '<none>') return undefined
  if (kind === 'quantity') return cpuAmounts[cell]
  if (kind === 'time') return -Date.parse(String(cell))
  return cell
}
