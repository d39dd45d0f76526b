/** The columns of a view: those that kube-apiserver prints, wide ones among them, the namespace,
 *  labels, annotations, and JSONPaths of the client's own. */

import {
  type ColumnKind,
  type CustomColumn,
  ownType,
  parseJsonPath,
  type TableColumn,
} from '@watchglass/codec'
import { badRequest } from '@watchglass/kube'

/** The place that a column's cells are read from. */
export type ColumnSource =
  | { readonly type: 'name' }
  | { readonly type: 'namespace' }
  /** A cell of the row that is printed. */
  | { readonly type: 'cell'; readonly index: number }
  | { readonly type: 'label'; readonly key: string }
  | { readonly type: 'path'; readonly declared: CustomColumn }

export interface ViewColumn {
  /** The name by which clients ask for it: `nominated-node`. */
  readonly id: string
  readonly title: string
  readonly kind: ColumnKind
  /** Above 0: wide, which is shown where it is asked for. */
  readonly priority: number
  readonly source: ColumnSource
}

/** Bounds of what a client may ask for: each column of its own costs a walk over the object. */
const columnsMax = 64
const ownColumnsMax = 16

const kinds: readonly string[] = ['text', 'number', 'quantity', 'time', 'duration']
const ownTypes: Readonly<Record<ColumnKind, string>> = {
  text: ownType,
  number: 'number',
  quantity: 'string',
  time: 'date',
  duration: 'string',
}

/** All columns that a question may name. */
export class ColumnCatalog {
  readonly #known = new Map<string, ViewColumn>()
  /** The columns of labels and annotations that were named. */
  readonly #metadata = new Map<string, ViewColumn | undefined>()
  readonly #printed: readonly ViewColumn[]
  readonly #isNamespaced: boolean

  constructor(printed: readonly TableColumn[], isNamespaced: boolean) {
    this.#isNamespaced = isNamespaced
    if (isNamespaced) this.#add(namespaceColumn)
    this.#printed = printed.map(({ name, kind, priority }, index) => {
      const id = this.#freeId(idOf(name))
      const source: ColumnSource = id === 'name' ? { type: 'name' } : { type: 'cell', index }
      return this.#add({ id, title: name, kind, priority, source })
    })
  }

  /** The columns that are shown: of the parameter, or kubectl's own. `namespace` is that of the
   *  path. */
  shown(text: string, namespace: string): readonly ViewColumn[] {
    const first = this.#isNamespaced && namespace === '' ? [namespaceColumn] : []
    if (text === '') return [...first, ...this.#printed.filter(({ priority }) => priority === 0)]
    const columns: ViewColumn[] = []
    let own = 0
    for (const part of columnTexts(text)) {
      if (part === 'wide') columns.push(...first, ...this.#printed)
      else if (part.includes(':')) {
        if (++own > ownColumnsMax) throw badRequest(`columns: more than ${ownColumnsMax} JSONPaths`)
        columns.push(this.#own(part))
      } else columns.push(this.find(part) ?? this.#unknown('columns', part))
    }
    const unique = [...new Set(columns)]
    if (unique.length > columnsMax) throw badRequest(`columns: more than ${columnsMax} columns`)
    return unique
  }

  /** The column of a name, in any case. */
  find(name: string): ViewColumn | undefined {
    const known = this.#known.get(name.toLowerCase())
    if (known !== undefined) return known
    if (!this.#metadata.has(name)) this.#metadata.set(name, metadataColumn(name))
    return this.#metadata.get(name)
  }

  /** The columns of a comma list; `parameter` is named in refusals. */
  named(parameter: string, text: string): readonly ViewColumn[] {
    return columnTexts(text).map(name => this.find(name) ?? this.#unknown(parameter, name))
  }

  /** The sentence about a name that is no column's. */
  problemOf(name: string): string {
    return `unknown column "${name}", known are ${[...this.#known.keys()].join(', ')}, labels.KEY and annotations.KEY`
  }

  #unknown(parameter: string, name: string): never {
    throw badRequest(`${parameter}: ${this.problemOf(name)}`)
  }

  /** `TITLE:JSONPATH` or `TITLE:KIND:JSONPATH`. */
  #own(text: string): ViewColumn {
    const [, title = '', given, path = ''] = /^([^:]*):(?:(\w+):)?(.*)$/s.exec(text) ?? []
    if (title === '') throw badRequest(`columns: "${text}" has no title before the colon`)
    const kind = given ?? 'text'
    if (!isKind(kind)) {
      throw badRequest(
        `columns: unknown kind "${kind}" in "${text}", known are ${kinds.join(', ')}`,
      )
    }
    const jsonPath = path.startsWith('{') && path.endsWith('}') ? path.slice(1, -1) : path
    if (!jsonPath.startsWith('.')) {
      throw badRequest(`columns: expected a JSONPath that begins with a dot in "${text}"`)
    }
    const parsed = parseJsonPath(`{${jsonPath}}`)
    if (typeof parsed === 'string') throw badRequest(`columns: "${jsonPath}": ${parsed}`)
    const id = idOf(title)
    const column = pathColumn({ id, title, kind }, jsonPath)
    if (this.#known.has(id)) throw badRequest(`columns: there is a column "${id}" already`)
    return this.#add(column)
  }

  #freeId(id: string): string {
    if (!this.#known.has(id)) return id
    for (let i = 2; ; i++) if (!this.#known.has(`${id}-${i}`)) return `${id}-${i}`
  }

  #add(column: ViewColumn): ViewColumn {
    this.#known.set(column.id, column)
    return column
  }
}

function isKind(text: string): text is ColumnKind {
  return kinds.includes(text)
}

const namespaceColumn: ViewColumn = {
  id: 'namespace',
  title: 'Namespace',
  kind: 'text',
  priority: 0,
  source: { type: 'namespace' },
}

function idOf(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-')
}

const labelPrefix = 'labels.'
const annotationPrefix = 'annotations.'
const keyPattern = /^[\w./-]{1,317}$/

function metadataColumn(name: string): ViewColumn | undefined {
  if (name.startsWith(labelPrefix)) {
    const key = name.slice(labelPrefix.length)
    if (!keyPattern.test(key)) return undefined
    return { id: name, title: name, kind: 'text', priority: 0, source: { type: 'label', key } }
  }
  if (!name.startsWith(annotationPrefix)) return undefined
  const key = name.slice(annotationPrefix.length)
  if (!keyPattern.test(key)) return undefined
  const column = { id: name, title: name, kind: 'text' } as const
  return pathColumn(column, `.metadata.annotations.${key.replaceAll('.', '\\.')}`)
}

function pathColumn(
  column: Pick<ViewColumn, 'id' | 'title' | 'kind'>,
  jsonPath: string,
): ViewColumn {
  const type = ownTypes[column.kind]
  const declared = { name: column.title, type, format: '', description: '', priority: 0, jsonPath }
  return { ...column, priority: 0, source: { type: 'path', declared } }
}

/** The parts of a comma list; commas in brackets and quotes belong to a part. */
export function columnTexts(text: string): string[] {
  const parts: string[] = []
  let [depth, quote, start] = [0, '', 0]
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (quote !== '') {
      if (char === '\\') i++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if (char === '[' || char === '(' || char === '{') depth++
    else if (char === ']' || char === ')' || char === '}') depth--
    else if (char === ',' && depth <= 0) {
      parts.push(text.slice(start, i).trim())
      start = i + 1
    }
  }
  parts.push(text.slice(start).trim())
  return parts
}
