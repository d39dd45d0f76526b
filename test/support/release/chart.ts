/** The chart's templates as `helm template` renders them, as far as they go: values, `if`, `range`,
 *  named templates and a few functions. What is not known here is an error, so that templates stay
 *  as simple as their test. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments, stringify } from 'yaml'

type Values = Readonly<Record<string, unknown>>

/** The place in a template, and what it makes. */
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly expression: string }
  | Block

interface Block {
  readonly kind: 'if' | 'range' | 'define'
  readonly expression: string
  readonly body: Node[]
  readonly otherwise: Node[]
}

interface Scope {
  readonly dot: unknown
  /** The value that a template began with: `$`. */
  readonly root: unknown
  readonly templates: ReadonlyMap<string, Node[]>
}

export interface Release {
  readonly name: string
  readonly namespace: string
  /** Values beside those of values.yaml, as `mode` or `autoscaling.enabled`. */
  readonly set?: Readonly<Record<string, unknown>>
}

/** The objects that a release makes. */
export function renderChart(folder: string, release: Release): Values[] {
  const values = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values
  for (const [path, value] of Object.entries(release.set ?? {})) set(values, path, value)
  const dot = { Values: values, Release: { Name: release.name, Namespace: release.namespace } }
  const templates = new Map<string, Node[]>()
  const files = readdirSync(join(folder, 'templates')).toSorted()
  const parsed = files.map(file => ({
    file,
    nodes: parseTemplate(readFileSync(join(folder, 'templates', file), 'utf8')),
  }))
  for (const { nodes } of parsed) {
    for (const node of nodes) {
      if (node.kind === 'define') templates.set(String(literal(node.expression)), node.body)
    }
  }
  return parsed
    .filter(({ file }) => file.endsWith('.yaml'))
    .flatMap(({ file, nodes }) =>
      parseAllDocuments(render(nodes, { dot, root: dot, templates })).map(document => {
        if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join('; ')}`)
        return document.toJS() as Values | null
      }),
    )
    .filter(object => object !== null)
}

function set(values: Values, path: string, value: unknown): void {
  const names = path.split('.')
  const last = names.pop()!
  const parent = names.reduce((at, name) => at[name] as Values, values)
  if (!(last in parent)) throw new Error(`values.yaml has no ${path}`)
  ;(parent as Record<string, unknown>)[last] = value
}

function parseTemplate(text: string): Node[] {
  const root: Node[] = []
  const open: { readonly nodes: Node[]; readonly block: Block }[] = []
  let nodes = root
  let at = 0
  const addText = (piece: string): void => void nodes.push({ kind: 'text', text: piece })
  let trimsNext = false
  for (const match of text.matchAll(/\{\{(-?)\s*(.*?)\s*(-?)\}\}/g)) {
    const [whole, before, action = '', after] = match
    let piece = text.slice(at, match.index)
    if (trimsNext) piece = piece.trimStart()
    addText(before === '-' ? piece.trimEnd() : piece)
    at = match.index + whole.length
    trimsNext = after === '-'
    const [, keyword, expression = ''] = /^(if|range|define|else|end)\b\s*(.*)$/.exec(action) ?? []
    if (keyword === undefined) {
      nodes.push({ kind: 'value', expression: action })
    } else if (keyword === 'else') {
      const block = open.at(-1)?.block
      if (block === undefined || expression !== '') throw new Error(`{{ ${action} }}`)
      nodes = block.otherwise
    } else if (keyword === 'end') {
      const outer = open.pop()
      if (outer === undefined) throw new Error('an end too many')
      nodes = outer.nodes
    } else {
      const block: Block = { kind: keyword as Block['kind'], expression, body: [], otherwise: [] }
      nodes.push(block)
      open.push({ nodes, block })
      nodes = block.body
    }
  }
  if (open.length > 0) throw new Error('an end is missing')
  const rest = text.slice(at)
  addText(trimsNext ? rest.trimStart() : rest)
  return root
}

function render(nodes: readonly Node[], scope: Scope): string {
  return nodes
    .map(node => {
      if (node.kind === 'text') return node.text
      if (node.kind === 'define') return ''
      const value = evaluate(node.expression, scope)
      if (node.kind === 'value') return String(value)
      if (node.kind === 'if') return render(isTrue(value) ? node.body : node.otherwise, scope)
      return (value as unknown[]).map(dot => render(node.body, { ...scope, dot })).join('')
    })
    .join('')
}

const isTrue = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : Boolean(value)

/** A pipeline: the value of each call is the last argument of the next one. */
function evaluate(expression: string, scope: Scope): unknown {
  let piped: unknown[] = []
  for (const call of expression.split(' | ')) {
    const words = call.match(/"[^"]*"|\((?:[^()]|\([^)]*\))*\)|\S+/g) ?? []
    const [first = '', ...rest] = words
    const isCall = rest.length > 0 || piped.length > 0 || !/^[.$"(\d]/.test(first)
    const values = [...rest.map(word => argument(word, scope)), ...piped]
    piped = [isCall ? apply(first, values, scope) : argument(first, scope)]
  }
  return piped[0]
}

function argument(word: string, scope: Scope): unknown {
  if (word.startsWith('(')) return evaluate(word.slice(1, -1), scope)
  if (word === '$') return scope.root
  if (!/^\$?\./.test(word)) return literal(word)
  let at = word.startsWith('$') ? scope.root : scope.dot
  for (const name of word.split('.').filter(name => name !== '' && name !== '$')) {
    at = (at as Values)[name]
    if (at === undefined) throw new Error(`${word} is not set`)
  }
  return at
}

function literal(word: string): unknown {
  return JSON.parse(word)
}

function apply(name: string, values: readonly unknown[], scope: Scope): unknown {
  const [first, second] = values
  switch (name) {
    case 'and':
      return values.find(value => !isTrue(value)) ?? values.at(-1)
    case 'eq':
      return first === second
    case 'include':
      return render(scope.templates.get(String(first))!, { ...scope, dot: second, root: second })
    case 'ne':
      return first !== second
    case 'nindent': {
      const indent = ' '.repeat(Number(first))
      return `\n${String(second).replaceAll(/^/gm, indent)}`
    }
    case 'not':
      return !isTrue(first)
    case 'or':
      return values.find(isTrue) ?? values.at(-1)
    case 'printf':
      return values
        .slice(1)
        .reduce<string>((text, one) => text.replace('%s', String(one)), `${String(first)}`)
    case 'quote':
      return JSON.stringify(String(first))
    case 'toYaml':
      return stringify(first, { sortMapEntries: true }).trimEnd()
    default:
      throw new Error(`the function ${name} is not known to test/support/release/chart.ts`)
  }
}
