/** Tables of custom resources: the columns that a CustomResourceDefinition declares, read from
 *  stored JSON. Most columns are plain paths of names: these are all found in one pass that steps
 *  over everything else. */

import { JsonMembers } from '../../json/members.ts'
import { JsonNumber, parseTree, textFromTree } from '../../json/tree.ts'
import { NotExact } from '../../not-exact.ts'
import { goFloat } from '../../../go/float.ts'
import type { CustomColumn } from '../../output-kind.ts'
import { goParseInt } from '../../../go/text.ts'
import { millisecondsFromText, zeroTime } from '../../../go/time.ts'
import { since } from '../format.ts'
import { type Path, parseJsonPath } from '../json-path.ts'
import { evaluateJsonPath, type PathValue } from '../json-path-values.ts'
import type { Cell } from '../printer.ts'

/** The value that one column reads. */
interface Target {
  readonly type: string
  /** Actions of the path; of a single one, the steps after the names that the pass goes along. */
  readonly rest: readonly Path[]
}

/** Names on the way to values: a tree. */
interface PathNode {
  readonly names: string[]
  readonly children: PathNode[]
  /** The columns whose names end here. */
  readonly targets: number[]
}

/** Reads the cells of rows. Kept as long as the definition does not change. */
export class CustomPrinter {
  readonly #root: PathNode = { names: [], children: [], targets: [] }
  readonly #targets: Target[] = []
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  /** One cursor for each level of names. */
  readonly #cursors: JsonMembers[] = [new JsonMembers()]
  /** The columns that are shown: those before the first with a path that upstream cannot read. */
  readonly columns: readonly CustomColumn[]

  constructor(declared: readonly CustomColumn[]) {
    const name = parseJsonPath('{.metadata.name}') as readonly Path[]
    const paths = declared.map(({ jsonPath }) => parseJsonPath(`{${jsonPath}}`))
    const wrong = paths.findIndex(path => typeof path === 'string')
    this.columns = wrong < 0 ? declared : declared.slice(0, wrong)
    this.#add('string', name)
    for (const [i, { type }] of this.columns.entries()) this.#add(type, paths[i] as readonly Path[])
    this.#starts = new Int32Array(this.#targets.length)
    this.#ends = new Int32Array(this.#targets.length)
  }

  /** The name, and the value of each column. `now` is the wall clock in milliseconds. */
  cells(window: { bytes: Uint8Array; start: number; end: number }, now: number): Cell[] | NotExact {
    this.#ends.fill(0)
    const { bytes, start, end } = window
    for (const target of this.#root.targets) {
      this.#starts[target] = start
      this.#ends[target] = end
    }
    const [outermost] = this.#cursors as [JsonMembers]
    outermost.reset(bytes, start, end)
    if (!outermost.isObject || !this.#walk(this.#root, 0)) return new NotExact('value is not JSON')
    const cells: Cell[] = []
    for (let i = 0; i < this.#targets.length; i++) {
      const cell = this.#cell(i, bytes, now)
      if (cell instanceof NotExact) return cell
      cells.push(cell)
    }
    // A name is never null.
    cells[0] ??= ''
    return cells
  }

  #add(type: string, actions: readonly Path[]): void {
    let node = this.#root
    const [first = []] = actions
    let depth = 0
    for (const step of actions.length === 1 ? first : []) {
      if (step.type !== 'member') break
      node = childOf(node, step.name)
      depth++
    }
    node.targets.push(this.#targets.length)
    const isNamed = depth > 0 && depth === first.length
    this.#targets.push({ type, rest: isNamed ? [] : [first.slice(depth), ...actions.slice(1)] })
  }

  /** Walks what the cursor of this depth stands before. */
  #walk(node: PathNode, depth: number): boolean {
    const members = this.#cursors[depth] as JsonMembers
    while (members.nextName()) {
      const place = placeOf(node, members)
      const child = place < 0 ? undefined : node.children[place]
      if (!this.#take(child, members, depth + 1)) return false
      for (const target of child?.targets ?? []) {
        this.#starts[target] = members.start
        this.#ends[target] = members.end
      }
    }
    return !members.isMalformed
  }

  #take(child: PathNode | undefined, members: JsonMembers, depth: number): boolean {
    if (child === undefined || child.children.length === 0) return members.skip()
    const inner = (this.#cursors[depth] ??= new JsonMembers())
    inner.enter(members)
    return inner.isObject ? this.#walk(child, depth) && members.leave(inner) : members.skip()
  }

  #cell(i: number, bytes: Uint8Array, now: number): Cell | NotExact {
    const start = this.#starts[i] as number
    const end = this.#ends[i] as number
    const { type, rest } = this.#targets[i] as Target
    if (end === 0 && rest.length === 0) return null
    const tree = end === 0 ? undefined : parseTree(bytes, start, end)
    if (end > 0 && tree === undefined) return new NotExact('value is not JSON, or nested too deep')
    const values = tree === undefined ? [] : [tree]
    // A text in a path is found where there is nothing, too.
    const [found] = rest.length === 0 ? values : (evaluateJsonPath(rest, values) ?? [])
    return found === undefined ? null : cellFromValue(type, found, now)
  }
}

function childOf(node: PathNode, name: string): PathNode {
  const place = node.names.indexOf(name)
  if (place >= 0) return node.children[place] as PathNode
  const child: PathNode = { names: [], children: [], targets: [] }
  node.names.push(name)
  node.children.push(child)
  return child
}

function placeOf({ names }: PathNode, members: JsonMembers): number {
  for (let i = 0; i < names.length; i++) {
    if (members.isNamed(names[i] as string)) return i
  }
  return -1
}

/** A value in a column of a type: values of other types are shown as nothing, but for text, which
 *  shows all. */
function cellFromValue(type: string, value: PathValue, now: number): Cell {
  if (type === 'string') return textOf(value)
  if (type === 'date') return typeof value === 'string' ? dateCell(value, now) : null
  if (type === 'boolean') return typeof value === 'boolean' ? value : null
  if (!(value instanceof JsonNumber)) return null
  if (type === 'integer') return integerCell(value.source)
  return type === 'number' ? Number(value.source) : null
}

function textOf(value: PathValue): string {
  if (typeof value === 'string') return value
  if (value === null) return '<no value>'
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (!(value instanceof JsonNumber)) return textFromTree(value)
  const isFloat = goParseInt(value.source).error !== undefined
  return isFloat ? goFloat(Number(value.source)) : value.text
}

/** An integer that is too large is the least one to Go, on the machines that there are. */
function integerCell(text: string): Cell {
  const parsed = goParseInt(text)
  if (parsed.error === undefined) return parsed.value
  const number = Math.trunc(Number(text))
  return Math.abs(number) < 2 ** 63 ? BigInt(number) : -(2n ** 63n)
}

function dateCell(text: string, now: number): Cell {
  if (text === '' || text === 'null') return since(null, now)
  const time = millisecondsFromText(text)
  if (time === undefined) return '<invalid>'
  return since(time === zeroTime ? null : time, now)
}
