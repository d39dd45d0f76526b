/** The steps of the API server on a custom resource by its structural schema: pruning and dropping
 *  nulls when it decodes an object, filling in defaults when the object comes from etcd. All change
 *  the tree in place.
 *
 *  The steps and their order are upstream's, where they are visible: nulls are dropped after
 *  pruning, and defaults are filled in last, so that a null that is not allowed becomes the
 *  default. */

import {
  atOnce,
  giveUp,
  GiveUp,
  isStepDue,
  noteEffort,
  NotExact,
  type Steps,
} from '@watchglass/base'
import { copyTree, JsonNumber, type JsonValue, treeBytesPerEffort } from '@watchglass/go'
import { normaliseObjectMeta } from './object-meta.ts'
import { type StructuralNode, typeAndObjectMeta, unspecified } from './schema.ts'

/** The place of a value, and the fields removed so far, as the strict decoder names it:
 *  `spec.list[0].name`. */
export interface PruneReport {
  readonly path: string
  readonly removed: string[]
}

/** Removes what the schema does not describe. */
export function prune(value: JsonValue, node: StructuralNode): void {
  atOnce(pruneInSteps(value, node))
}

/** `prune` in steps: what is still to be looked at is in a list, so that it gives way anywhere. */
export function* pruneInSteps(
  root: JsonValue,
  rootNode: StructuralNode,
  rootReport?: PruneReport,
): Steps<void> {
  const open: ToPrune[] = [{ value: root, node: rootNode, isPreserved: false, report: rootReport }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, node, isPreserved, report } = next
    const isFree = isPreserved || node.isPreserving
    if (value instanceof Map) {
      for (const [key, member] of value) {
        if (isStepDue()) yield
        if (node.isEmbedded && typeAndObjectMeta.includes(key)) continue
        const child = childOf(node, key)
        if (child !== undefined) {
          if (!isContainer(member)) continue
          const inner = report && memberIn(report, key)
          open.push({ value: member, node: child, isPreserved: false, report: inner })
        } else if (!isFree) {
          value.delete(key)
          if (report !== undefined) report.removed.push(memberIn(report, key).path)
        }
      }
    } else if (Array.isArray(value)) {
      if (node.items === undefined && isFree) continue
      for (const [i, item] of value.entries()) {
        if (isStepDue()) yield
        if (!isContainer(item)) continue
        const inner = report && { ...report, path: `${report.path}[${i}]` }
        const items = node.items ?? unspecified
        open.push({ value: item, node: items, isPreserved: isFree, report: inner })
      }
    }
  }
}

interface ToPrune {
  readonly value: JsonValue
  readonly node: StructuralNode
  readonly isPreserved: boolean
  readonly report: PruneReport | undefined
}

function memberIn({ path, removed }: PruneReport, key: string): PruneReport {
  return { path: path === '' ? key : `${path}.${key}`, removed }
}

function isContainer(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof JsonNumber)
}

/** Removes members that are null where the schema neither allows that nor has a default. */
export function dropNulls(value: JsonValue, node: StructuralNode): void {
  atOnce(dropNullsInSteps(value, node))
}

/** `dropNulls` in steps. */
export function* dropNullsInSteps(root: JsonValue, rootNode: StructuralNode): Steps<void> {
  const open: Described[] = [{ value: root, node: rootNode }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, node } = next
    if (value instanceof Map) {
      for (const [key, member] of value) {
        if (isStepDue()) yield
        const child = childOf(node, key)
        if (child === undefined) continue
        if (member === null && !child.isNullable && child.defaultValue === null) value.delete(key)
        else if (isContainer(member)) open.push({ value: member, node: child })
      }
    } else if (Array.isArray(value) && node.items !== undefined) {
      for (const item of value) {
        if (isStepDue()) yield
        if (isContainer(item)) open.push({ value: item, node: node.items })
      }
    }
  }
}

/** A value, and what its schema says of it. */
interface Described {
  readonly value: JsonValue
  readonly node: StructuralNode
}

/** The most bytes of defaults that are filled in, each counted as often as it is: etcd takes no
 *  object of more, so one that they make larger could never be written again. Without a bound 12 KB
 *  of empty items become 400 MB by a default of 100 KB. */
export const defaultsMaxBytes: number = 1.5 * 1024 * 1024

/** The characters around a value in the text of what it is in. */
const aroundBytes = 4

/** The defaults that a definition declares would make too much of an object. */
export class TooManyDefaults extends NotExact {
  constructor() {
    super(`the defaults of its definition make more than ${defaultsMaxBytes} bytes of it`)
  }
}

/** Fills in defaults: in the order in which upstream does, so that those inside a default that was
 *  just filled in apply, too. Beyond the bound some are filled in, and the rest is not. */
export function applyDefaults(value: JsonValue, node: StructuralNode): TooManyDefaults | undefined {
  return atOnce(defaultsInSteps(value, node))
}

/** `applyDefaults` in steps. */
export function* defaultsInSteps(
  value: JsonValue,
  node: StructuralNode,
): Steps<TooManyDefaults | undefined> {
  const defaults = new Defaults()
  try {
    yield* defaults.fillIn(value, node)
    return undefined
  } catch (error) {
    if (error instanceof GiveUp) return new TooManyDefaults()
    throw error
  } finally {
    noteEffort(defaults.bytes / treeBytesPerEffort)
  }
}

class Defaults {
  bytes = 0

  #copyOf({ defaultValue, defaultBytes }: StructuralNode, key: string = ''): JsonValue {
    this.bytes += defaultBytes + key.length + aroundBytes
    if (this.bytes > defaultsMaxBytes) giveUp('there are too many defaults')
    return copyTree(defaultValue)
  }

  *fillIn(root: JsonValue, rootNode: StructuralNode): Steps<void> {
    const open: Described[] = [{ value: root, node: rootNode }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { value, node } = next
      if (value instanceof Map) {
        for (const [key, property] of node.defaulted) {
          const member = value.get(key)
          if (member === undefined || (member === null && !property.isNullable)) {
            value.set(key, this.#copyOf(property, key))
          }
        }
        for (const [key, member] of value) {
          if (isStepDue()) yield
          const child = childOf(node, key)
          if (child === undefined) continue
          const isReplaced = member === null && !child.isNullable && !node.properties.has(key)
          const filled = isReplaced ? this.#copyOf(child) : member
          if (isReplaced) value.set(key, filled)
          if (isContainer(filled)) open.push({ value: filled, node: child })
        }
      } else if (Array.isArray(value) && node.items !== undefined) {
        for (const [i, item] of value.entries()) {
          if (isStepDue()) yield
          const isReplaced = item === null && !node.items.isNullable
          const filled = isReplaced ? this.#copyOf(node.items) : item
          if (isReplaced) value[i] = filled
          if (isContainer(filled)) open.push({ value: filled, node: node.items })
        }
      }
    }
  }
}

/** Gives the apiVersion, kind and metadata of embedded resources the form that Go's types have. */
export function coerceEmbedded(value: JsonValue, node: StructuralNode): NotExact | undefined {
  if (value instanceof Map) {
    if (node.isEmbedded) {
      for (const key of ['apiVersion', 'kind']) {
        if (value.has(key) && typeof value.get(key) !== 'string') value.delete(key)
      }
      const metadata = value.get('metadata')
      if (metadata !== undefined) {
        const problem = normaliseObjectMeta(value, { isRoot: false })
        if (problem !== undefined) return problem
      }
    }
    for (const [key, member] of value) {
      const child = childOf(node, key)
      const problem = child === undefined ? undefined : coerceEmbedded(member, child)
      if (problem !== undefined) return problem
    }
  } else if (Array.isArray(value) && node.items !== undefined) {
    for (const item of value) {
      const problem = coerceEmbedded(item, node.items)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

function childOf(node: StructuralNode, key: string): StructuralNode | undefined {
  return node.properties.get(key) ?? node.additional
}
