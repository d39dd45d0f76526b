/** Field paths, compiled against the wire schema into a tree of field numbers. The readers walk a
 *  message once, along that tree, and skip everything that is not on it. */

import { CacheError } from '@watchglass/base'
import type { MessageField, MessageType } from '../schema/schema.ts'

/** The message type of a name; undefined if there is none. The schema's own, but for tests. */
export type FindType = (name: string) => Pick<MessageType, 'fields'> | undefined

/** The kinds of slots, which decide how a value is read: */
export type SlotKind =
  | 'boolean'
  | 'varint'
  | 'float'
  | 'text'
  | 'bytes'
  | 'message'
  | 'list'
  | 'map'

/** One message on the way to a slot. */
export interface PathNode {
  /** By field number: 0 is skipped, otherwise 1 + the position in `branches`. */
  readonly branchOf: Int32Array
  readonly branches: readonly PathBranch[]
}

/** One field of such a message. */
export interface PathBranch {
  /** Slot of its window; -1 if it only leads further. */
  slot: number
  kind: SlotKind
  /** 0 varint, 1 eight bytes, 2 length-delimited. */
  wire: number
  /** Further fields inside it. */
  child: PathNode | undefined
  /** A list of which only the first element is entered (`[0]`). */
  first: boolean
}

/** Paths as a tree, and which slot each path has. Equal paths share a slot. */
export interface CompiledPaths {
  readonly root: PathNode
  readonly slots: readonly number[]
  /** By slot. */
  readonly kinds: readonly SlotKind[]
}

/** Field numbers are small: the largest of a message on a path must stay below this, as it sizes a
 *  table. */
const maxFieldNumber = 4095
/** The reader keeps a bit for each branch of a message in one number. */
const maxBranches = 30

interface Draft {
  readonly branches: Map<number, PathBranch & { draft: Draft | undefined }>
}

/** Compiles dotted JSON paths such as `status.containerStatuses` or `status.podIPs[0].ip` for
 *  messages of `type`. A path that the schema does not have is refused. */
export function compilePaths(
  findType: FindType,
  type: string,
  paths: readonly string[],
): CompiledPaths {
  const root: Draft = { branches: new Map() }
  const kinds: SlotKind[] = []
  const slots = paths.map(path => addPath({ findType, kinds, path }, root, type))
  return { root: nodeFromDraft(root), slots, kinds }
}

/** A tree whose only way leads through `fields`, message by message, to `inner`: for envelopes. */
export function wrapPaths(inner: CompiledPaths, fields: readonly number[]): CompiledPaths {
  let root = inner.root
  for (const number of [...fields].reverse()) {
    const branchOf = new Int32Array(number + 1)
    branchOf[number] = 1
    const branch = { slot: -1, kind: 'message', wire: 2, child: root, first: false } as const
    root = { branchOf, branches: [branch] }
  }
  return { ...inner, root }
}

interface PathContext {
  readonly findType: FindType
  readonly kinds: SlotKind[]
  readonly path: string
}

function addPath(context: PathContext, root: Draft, rootType: string): number {
  let draft = root
  let type = rootType
  const segments = context.path.split('.')
  for (const [depth, segment] of segments.entries()) {
    const name = segment.replace(/\[0\]$/, '')
    const isFirst = name !== segment
    const steps = findField(context.findType, type, name)
    const field = steps?.at(-1)
    if (steps === undefined || field === undefined) throw unknownPath(context.path, rootType)
    for (const step of steps.slice(0, -1)) draft = enter(draft, step.number, false)
    if (depth === segments.length - 1) return addSlot(context, draft, field)
    if (field.container !== (isFirst ? 'list' : 'single')) throw unknownPath(context.path, rootType)
    type = field.type
    draft = enter(draft, field.number, isFirst)
  }
  throw unknownPath(context.path, rootType)
}

/** The way to a JSON member: through inline messages to the field itself. */
function findField(findType: FindType, type: string, name: string): MessageField[] | undefined {
  for (const field of findType(type)?.fields ?? []) {
    if (field.isInline) {
      const rest = findField(findType, field.type, name)
      if (rest !== undefined) return [field, ...rest]
    } else if (field.jsonName === name) {
      return [field]
    }
  }
  return undefined
}

/** Specials whose value is one field of their message: its number, how it is read, its wire
 *  type. */
const unwrapped: Readonly<Record<string, readonly [number, SlotKind, number]>> = {
  quantity: [1, 'text', 2],
  time: [1, 'varint', 0],
  microtime: [1, 'varint', 0],
  fieldsv1: [1, 'bytes', 2],
  rawextension: [1, 'bytes', 2],
  json: [1, 'bytes', 2],
}

const scalars: Readonly<Record<string, readonly [SlotKind, number]>> = {
  string: ['text', 2],
  bool: ['boolean', 0],
  int32: ['varint', 0],
  int64: ['varint', 0],
  float64: ['float', 1],
  bytes: ['bytes', 2],
}

function addSlot(context: PathContext, draft: Draft, field: MessageField): number {
  const { number, type, container } = field
  const scalar = scalars[type]
  if (container !== 'single') {
    if (container === 'list' && scalar !== undefined && scalar[1] !== 2) {
      throw new CacheError('unsupported', `field path ${context.path} is a list of numbers`)
    }
    return addLeaf(context, draft, { number, kind: container, wire: 2 })
  }
  const inner = unwrapped[type]
  if (inner !== undefined) {
    const [innerNumber, kind, wire] = inner
    return addLeaf(context, enter(draft, number, false), { number: innerNumber, kind, wire })
  }
  const [kind, wire] = scalar ?? (['message', 2] as const)
  return addLeaf(context, draft, { number, kind, wire })
}

interface Leaf {
  readonly number: number
  readonly kind: SlotKind
  readonly wire: number
}

function addLeaf(context: PathContext, draft: Draft, { number, kind, wire }: Leaf): number {
  let branch = draft.branches.get(number)
  if (branch === undefined) {
    branch = { slot: -1, kind, wire, child: undefined, first: false, draft: undefined }
    draft.branches.set(number, branch)
  }
  if (branch.slot < 0) {
    branch.slot = context.kinds.length
    branch.kind = kind
    context.kinds.push(kind)
  }
  return branch.slot
}

function enter(draft: Draft, number: number, first: boolean): Draft {
  let branch = draft.branches.get(number)
  if (branch === undefined) {
    branch = { slot: -1, kind: 'message', wire: 2, child: undefined, first, draft: undefined }
    draft.branches.set(number, branch)
  }
  branch.first = first
  branch.draft ??= { branches: new Map() }
  return branch.draft
}

function nodeFromDraft(draft: Draft): PathNode {
  const numbers = [...draft.branches.keys()]
  const last = Math.max(0, ...numbers)
  if (last > maxFieldNumber) {
    throw new CacheError('unsupported', `field number ${last} is too large`)
  }
  if (numbers.length > maxBranches) {
    throw new CacheError('unsupported', `${numbers.length} fields of one message are too many`)
  }
  const branchOf = new Int32Array(last + 1)
  const branches = [...draft.branches].map(([number, branch], i) => {
    branchOf[number] = i + 1
    const { slot, kind, wire, first } = branch
    const child = branch.draft === undefined ? undefined : nodeFromDraft(branch.draft)
    return { slot, kind, wire, child, first }
  })
  return { branchOf, branches }
}

function unknownPath(path: string, type: string): CacheError {
  return new CacheError('unsupported', `${type} has no field path ${path}`)
}
