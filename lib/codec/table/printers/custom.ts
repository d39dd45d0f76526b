/** Tables of custom resources: the columns that a CustomResourceDefinition declares, read from
 *  stored JSON. Most columns are plain paths of names: these are all found in one pass that steps
 *  over everything else. */

import { JsonMembers } from '../../json/members.ts'
import { JsonNumber, type JsonValue, parseTree } from '../../json/tree.ts'
import { NotExact } from '../../not-exact.ts'
import { goFloat } from '../../../go/float.ts'
import type { CustomColumn } from '../../output-kind.ts'
import { goParseInt } from '../../../go/text.ts'
import { millisecondsFromText, zeroTime } from '../../../go/time.ts'
import { since } from '../format.ts'
import { type Step, evaluateJsonPath, parseJsonPath } from '../json-path.ts'
import type { Cell } from '../printer.ts'

/** The value that one column reads. */
interface Target {
  readonly type: string
  /** Steps after the names that the pass goes along. */
  readonly rest: readonly Step[]
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
  readonly #unknownPath: string | undefined

  constructor(columns: readonly CustomColumn[]) {
    this.#add('string', [
      { type: 'member', name: 'metadata' },
      { type: 'member', name: 'name' },
    ])
    for (const { type, jsonPath } of columns) {
      const steps = parseJsonPath(jsonPath)
      if (steps === undefined) this.#unknownPath = jsonPath
      else this.#add(type, steps)
    }
    this.#starts = new Int32Array(this.#targets.length)
    this.#ends = new Int32Array(this.#targets.length)
  }

  /** The name, and the value of each column. `now` is the wall clock in milliseconds. */
  cells(window: { bytes: Uint8Array; start: number; end: number }, now: number): Cell[] | NotExact {
    if (this.#unknownPath !== undefined) {
      return new NotExact('a column has a path that we cannot read')
    }
    this.#ends.fill(0)
    const { bytes, start, end } = window
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

  #add(type: string, steps: readonly Step[]): void {
    let node = this.#root
    let depth = 0
    for (const step of steps) {
      if (step.type !== 'member') break
      node = childOf(node, step.name)
      depth++
    }
    node.targets.push(this.#targets.length)
    this.#targets.push({ type, rest: steps.slice(depth) })
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
    if (end === 0) return null
    const tree = parseTree(bytes, start, end)
    if (tree === undefined) return new NotExact('value is not JSON, or nested too deep')
    if (rest.length === 0) {
      const isContainer = tree instanceof Map || Array.isArray(tree)
      const text = isContainer ? textFromUtf8(bytes, start, end) : undefined
      return cellFromTree(type, tree, { text, now })
    }
    const [found] = evaluateJsonPath(rest, [tree]) ?? []
    return found === undefined ? null : cellFromTree(type, found, { text: undefined, now })
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
 *  shows all. `text` is the value's JSON, where it is known. */
function cellFromTree(
  type: string,
  tree: JsonValue,
  { text, now }: { readonly text: string | undefined; readonly now: number },
): Cell | NotExact {
  if (type === 'string') return textCell(tree, text)
  if (type === 'date') return typeof tree === 'string' ? dateCell(tree, now) : null
  switch (type) {
    case 'integer':
      return tree instanceof JsonNumber ? integerCell(tree.source) : null
    case 'number':
      return tree instanceof JsonNumber ? Number(tree.source) : null
    case 'boolean':
      return typeof tree === 'boolean' ? tree : null
    default:
      return null
  }
}

function textCell(tree: JsonValue, text: string | undefined): Cell | NotExact {
  if (typeof tree === 'string') return tree
  if (tree === null) return '<no value>'
  if (typeof tree === 'boolean') return String(tree)
  if (tree instanceof JsonNumber) {
    const isFloat = goParseInt(tree.source).error !== undefined
    return isFloat ? goFloat(Number(tree.source)) : tree.source
  }
  // An object or a list stands there as its JSON, which is compact as it is stored.
  return text ?? new NotExact('a column shows an object inside a list')
}

function textFromUtf8(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
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
