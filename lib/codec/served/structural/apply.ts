/** The steps of the API server on a custom resource by its structural schema: pruning and dropping
 *  nulls when it decodes an object, filling in defaults when the object comes from etcd. All change
 *  the tree in place.
 *
 *  The steps and their order are upstream's, where they are visible: nulls are dropped after
 *  pruning, and defaults are filled in last, so that a null that is not allowed becomes the
 *  default. */

import { giveUp, GiveUp, noteEffort, NotExact } from '@watchglass/base'
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
export function prune(
  value: JsonValue,
  node: StructuralNode,
  isPreserved = false,
  report?: PruneReport,
): void {
  const isFree = isPreserved || node.isPreserving
  if (value instanceof Map) {
    for (const [key, member] of value) {
      if (node.isEmbedded && typeAndObjectMeta.includes(key)) continue
      const child = childOf(node, key)
      if (child !== undefined) {
        if (isContainer(member)) prune(member, child, false, report && memberIn(report, key))
      } else if (!isFree) {
        value.delete(key)
        if (report !== undefined) report.removed.push(memberIn(report, key).path)
      }
    }
  } else if (Array.isArray(value)) {
    if (node.items === undefined && isFree) return
    for (const [i, item] of value.entries()) {
      if (!isContainer(item)) continue
      const inner = report && { ...report, path: `${report.path}[${i}]` }
      prune(item, node.items ?? unspecified, isFree, inner)
    }
  }
}

function memberIn({ path, removed }: PruneReport, key: string): PruneReport {
  return { path: path === '' ? key : `${path}.${key}`, removed }
}

function isContainer(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof JsonNumber)
}

/** Removes members that are null where the schema neither allows that nor has a default. */
export function dropNulls(value: JsonValue, node: StructuralNode): void {
  if (value instanceof Map) {
    for (const [key, member] of value) {
      const child = childOf(node, key)
      if (child === undefined) continue
      if (member === null && !child.isNullable && child.defaultValue === null) value.delete(key)
      else dropNulls(member, child)
    }
  } else if (Array.isArray(value) && node.items !== undefined) {
    for (const item of value) dropNulls(item, node.items)
  }
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
  const defaults = new Defaults()
  try {
    defaults.fillIn(value, node)
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

  fillIn(value: JsonValue, node: StructuralNode): void {
    if (value instanceof Map) {
      for (const [key, property] of node.defaulted) {
        const member = value.get(key)
        if (member === undefined || (member === null && !property.isNullable)) {
          value.set(key, this.#copyOf(property, key))
        }
      }
      for (const [key, member] of value) {
        const child = childOf(node, key)
        if (child === undefined) continue
        const isReplaced = member === null && !child.isNullable && !node.properties.has(key)
        if (isReplaced) value.set(key, this.#copyOf(child))
        this.fillIn(value.get(key) ?? null, child)
      }
    } else if (Array.isArray(value) && node.items !== undefined) {
      for (const [i, item] of value.entries()) {
        if (item === null && !node.items.isNullable) value[i] = this.#copyOf(node.items)
        this.fillIn(value[i] ?? null, node.items)
      }
    }
  }

  #copyOf({ defaultValue, defaultBytes }: StructuralNode, key: string = ''): JsonValue {
    this.bytes += defaultBytes + key.length + aroundBytes
    if (this.bytes > defaultsMaxBytes) giveUp('there are too many defaults')
    return copyTree(defaultValue)
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
