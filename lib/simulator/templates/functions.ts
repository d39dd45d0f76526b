/** The functions of templates: those of Go, and those of sprig that lifecycles use. Times, chance
 *  and names come from whoever renders. */

import { createHash } from 'node:crypto'
import { yamlFromJson } from '@watchglass/codec'
import { NotExact } from '@watchglass/base'
import { TemplateProblem } from './problem.ts'
import {
  areEqual,
  fieldOf,
  isLess,
  isTrue,
  itemAt,
  kindOf,
  listOf,
  mapOf,
  numberOf,
  textOf,
  type TemplateValue,
} from './values.ts'

export type TemplateFunction = (...args: readonly TemplateValue[]) => TemplateValue

/** Texts and lists that a function makes are no longer. */
const sizeMax = 100_000

/** JSON as Go writes it. */
function jsonOf(value: TemplateValue): string {
  return JSON.stringify(value ?? null).replace(
    /[<>&\u2028\u2029]/g,
    one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function yamlOf(value: TemplateValue, indent: TemplateValue = 0): string {
  const yaml = yamlFromJson(Buffer.from(JSON.stringify(value ?? null)))
  if (yaml instanceof NotExact) throw new TemplateProblem(`YAML: ${yaml.reason}`)
  const text = Buffer.from(yaml).toString()
  const spaces = ' '.repeat(Math.min(numberOf(indent), 100) * 2)
  return spaces === '' ? text : `\n${text}`.replaceAll('\n', `\n${spaces}`)
}

function quoted(value: TemplateValue): string {
  const json = jsonOf(value)
  return json.startsWith('"') ? json : JSON.stringify(json)
}

/** Go's Printf, with the verbs that texts of objects need. */
function printf(format: TemplateValue, ...args: readonly TemplateValue[]): string {
  let next = 0
  return textOf(format).replace(
    /%([-+0 ]*)(\d*)(?:\.(\d+))?([vsdqtxXf%])/g,
    (...match: readonly string[]) => {
      const [, flags = '', width = '', precision, verb = ''] = match
      if (verb === '%') return '%'
      if (next >= args.length) return `%!${verb}(MISSING)`
      const text = verbText(verb, args[next++], precision)
      const size = Math.min(Number(width), 1_000)
      if (flags.includes('-')) return text.padEnd(size)
      return text.padStart(size, flags.includes('0') ? '0' : ' ')
    },
  )
}

function verbText(verb: string, value: TemplateValue, precision: string | undefined): string {
  switch (verb) {
    case 'd':
      return String(Math.trunc(numberOf(value)))
    case 'q':
      return JSON.stringify(textOf(value))
    case 'x':
    case 'X': {
      const hex = Math.trunc(numberOf(value)).toString(16)
      return verb === 'x' ? hex : hex.toUpperCase()
    }
    case 'f':
      return numberOf(value).toFixed(Math.min(Number(precision ?? 6), 50))
    default:
      return textOf(value)
  }
}

function slice(of: TemplateValue, from: TemplateValue = 0, to?: TemplateValue): TemplateValue {
  const [start, end] = [numberOf(from), to === undefined ? undefined : numberOf(to)]
  const whole = Array.isArray(of) ? of : textOf(of)
  if (start > whole.length || (end !== undefined && end > whole.length)) {
    throw new TemplateProblem('index out of range')
  }
  return whole.slice(start, end)
}

function lengthOf(of: TemplateValue): number {
  if (typeof of === 'string') return Buffer.byteLength(of)
  if (Array.isArray(of)) return of.length
  if (kindOf(of) === 'map') return Object.keys(mapOf(of)).length
  throw new TemplateProblem(`len of type ${kindOf(of)}`)
}

function numbers(args: readonly TemplateValue[], of: (a: number, b: number) => number): number {
  return args.map(numberOf).reduce(of)
}

function dividedBy(value: TemplateValue): number {
  const by = numberOf(value)
  if (by === 0) throw new TemplateProblem('integer divide by zero')
  return by
}

/** Whatever its keys are: assigned one by one, `__proto__` would be no member. */
function dict(...pairs: readonly TemplateValue[]): TemplateValue {
  const members: [name: string, value: TemplateValue][] = []
  for (let i = 0; i < pairs.length; i += 2) members.push([textOf(pairs[i]), pairs[i + 1] ?? ''])
  return Object.fromEntries(members)
}

function merged(...maps: readonly TemplateValue[]): TemplateValue {
  return Object.fromEntries(maps.toReversed().flatMap(one => Object.entries(mapOf(one))))
}

function bounded<T extends string | readonly TemplateValue[]>(made: T): T {
  checkLength(made.length)
  return made
}

/** Fails before what is too long is made. */
function checkLength(length: number): void {
  if (length <= sizeMax) return
  throw new TemplateProblem(`more than ${String(sizeMax)} in one value`)
}

function countOf(part: string, text: string): number {
  return text.split(part).length - 1
}

function repeat(count: TemplateValue, text: TemplateValue): string {
  const times = Math.max(0, numberOf(count))
  if (times * textOf(text).length > sizeMax) throw new TemplateProblem('repeat: too long')
  return textOf(text).repeat(times)
}

function until(count: TemplateValue): TemplateValue {
  return Array.from({ length: Math.min(Math.max(0, numberOf(count)), sizeMax) }, (_, i) => i)
}

function indented(spaces: TemplateValue, text: TemplateValue): string {
  const space = ' '.repeat(Math.min(Math.max(0, numberOf(spaces)), 1_000))
  const whole = textOf(text)
  checkLength(whole.length + (1 + countOf('\n', whole)) * space.length)
  return space + whole.replaceAll('\n', `\n${space}`)
}

function titled(text: TemplateValue): string {
  return textOf(text).replace(/\b[a-z]/g, one => one.toUpperCase())
}

function trimmedBy(part: TemplateValue, text: TemplateValue, isStart: boolean): string {
  const [cut, whole] = [textOf(part), textOf(text)]
  if (isStart) return whole.startsWith(cut) ? whole.slice(cut.length) : whole
  return cut !== '' && whole.endsWith(cut) ? whole.slice(0, -cut.length) : whole
}

function base64(text: TemplateValue): string {
  return Buffer.from(textOf(text)).toString('base64')
}

function sha256(text: TemplateValue): string {
  return createHash('sha256').update(textOf(text)).digest('hex')
}

function joined(by: TemplateValue, of: TemplateValue): string {
  const items = (Array.isArray(of) ? (of as readonly TemplateValue[]) : [of]).map(textOf)
  const between = textOf(by)
  checkLength(items.reduce((sum, { length }) => sum + length + between.length, 0))
  return items.join(between)
}

function replaced(part: TemplateValue, by: TemplateValue, text: TemplateValue): string {
  const [from, to, whole] = [textOf(part), textOf(by), textOf(text)]
  checkLength(whole.length + countOf(from, whole) * to.length)
  return whole.replaceAll(from, () => to)
}

/** Functions that every template has. `and` and `or` are the language's own. */
export const plainFunctions: ReadonlyMap<string, TemplateFunction> = new Map<
  string,
  TemplateFunction
>([
  // Go's
  ['not', value => !isTrue(value)],
  ['eq', (first, ...others) => others.some(one => areEqual(first, one))],
  ['ne', (a, b) => !areEqual(a, b)],
  ['lt', isLess],
  ['le', (a, b) => !isLess(b, a)],
  ['gt', (a, b) => isLess(b, a)],
  ['ge', (a, b) => !isLess(a, b)],
  ['index', (of, ...keys) => keys.reduce(itemAt, of)],
  ['slice', slice],
  ['len', lengthOf],
  ['print', (...args) => args.map(textOf).join('')],
  ['printf', printf],
  ['println', (...args) => `${args.map(textOf).join(' ')}\n`],
  // kwok's
  ['Quote', quoted],
  ['YAML', yamlOf],
  // sprig's
  ['dict', dict],
  ['list', (...items) => items],
  ['default', (otherwise, value) => (isTrue(value) ? value : otherwise)],
  ['coalesce', (...args) => args.find(isTrue)],
  ['empty', value => !isTrue(value)],
  ['ternary', (yes, no, test) => (isTrue(test) ? yes : no)],
  ['hasKey', (of, key) => Object.hasOwn(mapOf(of), textOf(key))],
  ['get', (of, key) => fieldOf(mapOf(of), textOf(key)) ?? ''],
  ['set', (of, key, value) => ({ ...mapOf(of), [textOf(key)]: value })],
  ['merge', merged],
  ['keys', of => Object.keys(mapOf(of)).toSorted()],
  ['values', of => Object.values(mapOf(of))],
  ['first', of => listOf(of)[0]],
  ['last', of => listOf(of).at(-1)],
  ['rest', of => listOf(of).slice(1)],
  ['append', (of, item) => bounded([...listOf(of), item])],
  ['concat', (...lists) => bounded(lists.flatMap(listOf))],
  ['has', (item, of) => listOf(of).some(one => jsonOf(one) === jsonOf(item))],
  ['uniq', of => [...new Map(listOf(of).map(one => [jsonOf(one), one])).values()]],
  ['until', until],
  ['add', (...args) => numbers(args, (a, b) => a + b)],
  ['add1', value => numberOf(value) + 1],
  ['sub', (a, b) => numberOf(a) - numberOf(b)],
  ['mul', (...args) => numbers(args, (a, b) => a * b)],
  ['div', (a, b) => Math.trunc(numberOf(a) / dividedBy(b))],
  ['mod', (a, b) => numberOf(a) % dividedBy(b)],
  ['max', (...args) => numbers(args, Math.max)],
  ['min', (...args) => numbers(args, Math.min)],
  ['int', value => Math.trunc(numberOf(value))],
  ['int64', value => Math.trunc(numberOf(value))],
  ['float64', numberOf],
  ['toString', textOf],
  ['toJson', jsonOf],
  ['quote', (...args) => args.map(one => JSON.stringify(textOf(one))).join(' ')],
  ['squote', (...args) => args.map(one => `'${textOf(one)}'`).join(' ')],
  ['upper', text => textOf(text).toUpperCase()],
  ['lower', text => textOf(text).toLowerCase()],
  ['title', titled],
  ['trim', text => textOf(text).trim()],
  ['trimPrefix', (part, text) => trimmedBy(part, text, true)],
  ['trimSuffix', (part, text) => trimmedBy(part, text, false)],
  ['trunc', (size, text) => textOf(text).slice(0, numberOf(size))],
  ['contains', (part, text) => textOf(text).includes(textOf(part))],
  ['hasPrefix', (part, text) => textOf(text).startsWith(textOf(part))],
  ['hasSuffix', (part, text) => textOf(text).endsWith(textOf(part))],
  ['replace', replaced],
  ['repeat', repeat],
  ['indent', indented],
  ['nindent', (spaces, text) => `\n${indented(spaces, text)}`],
  ['join', joined],
  ['splitList', (by, text) => textOf(text).split(textOf(by))],
  ['b64enc', base64],
  ['b64dec', text => Buffer.from(textOf(text), 'base64').toString()],
  ['sha256sum', sha256],
  ['kindIs', (kind, value) => kindOf(value) === textOf(kind)],
])
