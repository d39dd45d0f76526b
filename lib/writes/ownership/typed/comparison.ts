/** The changes between two objects of one type, as sets of fields. */

import { isStepDue, type Steps } from '@watchglass/base'
import type { JsonValue } from '@watchglass/go'
import { FieldSet } from '../sets/field-set.ts'
import { type PathElement, memberElement } from '../sets/path-element.ts'
import { areEqual } from '../sets/values.ts'
import {
  type FieldType,
  type FieldListType,
  type FieldMapType,
  deduced,
  formOf,
  itemElement,
  memberType,
  typeFor,
} from '../types/field-type.ts'

/** The differences of two values; no field is in two of the sets. */
export interface FieldComparison {
  readonly removed: FieldSet
  readonly modified: FieldSet
  readonly added: FieldSet
}

type Side = JsonValue | undefined

/** Compares in steps. Both values have been checked against the type. */
export function* compareFields(
  type: FieldType,
  before: JsonValue,
  after: JsonValue,
): Steps<FieldComparison> {
  const comparison = {
    removed: new FieldSet(),
    modified: new FieldSet(),
    added: new FieldSet(),
  }
  const rest = new Comparer(comparison).compare(type, before, after)
  if (rest !== undefined) yield* rest
  return comparison
}

/** The rest of a comparison when some fields do not count. */
export function mapComparison(
  { removed, modified, added }: FieldComparison,
  change: (set: FieldSet) => FieldSet,
): FieldComparison {
  return { removed: change(removed), modified: change(modified), added: change(added) }
}

/** Whether two types of one value handle it in the same form. */
function sameForm(a: FieldType, b: FieldType): boolean {
  return a.map === b.map && a.list === b.list && a.scalar === b.scalar
}

/** The types of both sides. */
interface Types {
  readonly left: FieldType
  readonly right: FieldType
}

class Comparer {
  readonly #comparison: FieldComparison
  /** Path of the values that are compared. */
  readonly #path: PathElement[] = []

  constructor(comparison: FieldComparison) {
    this.#comparison = comparison
  }

  /** Compares scalars at once; of what has values inside, the steps are returned. Absent sides are
   *  undefined; one of them is there. */
  compare(type: FieldType, before: Side, after: Side): Steps<void> | undefined {
    if (before === after) return undefined
    const left = typeFor(type, before)
    const right = typeFor(type, after)
    const isScalar =
      (before === undefined || formOf(left) === 'scalar') &&
      (after === undefined || formOf(right) === 'scalar')
    if (!isScalar) return this.#inside({ left, right }, before, after)
    this.#whole(before, after)
    return undefined
  }

  *#inside({ left, right }: Types, before: Side, after: Side): Steps<void> {
    let isLeaf: boolean
    if (after === undefined) isLeaf = yield* this.#inForm(left, before, after)
    else if (before === undefined || sameForm(left, right)) {
      isLeaf = yield* this.#inForm(right, before, after)
    } else {
      yield* this.#inForm(left, before, after)
      isLeaf = yield* this.#inForm(right, before, after)
    }
    if (isLeaf) return
    if (before === undefined) this.#comparison.added.insert(this.#path)
    else if (after === undefined) this.#comparison.removed.insert(this.#path)
  }

  /** Whether the value was compared as a whole. */
  *#inForm(type: FieldType, before: Side, after: Side): Steps<boolean> {
    switch (formOf(type)) {
      case 'map': {
        const isEmpty = sizeOfMap(before) === 0 && sizeOfMap(after) === 0
        if (type.map?.isAtomic === true || isEmpty) return this.#whole(before, after)
        yield* this.#members(type.map as FieldMapType, before, after)
        return false
      }
      case 'list': {
        const isEmpty = sizeOfList(before) === 0 && sizeOfList(after) === 0
        if (type.list?.isAtomic === true || isEmpty) return this.#whole(before, after)
        yield* this.#items(type.list as FieldListType, before, after)
        return false
      }
      case 'scalar':
        return this.#whole(before, after)
      case undefined:
        return false
    }
  }

  #whole(before: Side, after: Side): true {
    const { removed, modified, added } = this.#comparison
    if (before === undefined) added.insert(this.#path)
    else if (after === undefined) removed.insert(this.#path)
    else if (!areEqual(before, after)) modified.insert(this.#path)
    return true
  }

  *#members(map: FieldMapType, before: Side, after: Side): Steps<void> {
    const left = before instanceof Map ? before : new Map<string, JsonValue>()
    const right = after instanceof Map ? after : new Map<string, JsonValue>()
    for (const name of new Set([...left.keys(), ...right.keys()])) {
      if (isStepDue()) yield
      const inner = memberType(map, name) ?? deduced
      this.#path.push(memberElement(name))
      const rest = this.compare(inner, left.get(name), right.get(name))
      if (rest !== undefined) yield* rest
      this.#path.pop()
    }
  }

  *#items(list: FieldListType, before: Side, after: Side): Steps<void> {
    const left = groupItems(list, before)
    const right = groupItems(list, after)
    for (const [id, group] of new Map([...right, ...left])) {
      if (isStepDue()) yield
      this.#path.push(group.element)
      yield* this.#group(list, left.get(id)?.items ?? [], right.get(id)?.items ?? [])
      this.#path.pop()
    }
  }

  /** Items with the same keys, of which there should be one: several are compared as a whole. */
  *#group(list: FieldListType, before: JsonValue[], after: JsonValue[]): Steps<void> {
    const [left] = before
    const [right] = after
    const { removed, modified, added } = this.#comparison
    if (before.length > 1 && after.length > 1) {
      if (!areEqual(before, after)) modified.insert(this.#path)
    } else if (before.length > 1) {
      if (right !== undefined) yield* this.#steps(list.element, undefined, right)
      removed.insert(this.#path)
    } else if (after.length > 1) {
      if (left !== undefined) yield* this.#steps(list.element, left, undefined)
      added.insert(this.#path)
    } else {
      yield* this.#steps(list.element, left, right)
    }
  }

  *#steps(type: FieldType, before: Side, after: Side): Steps<void> {
    const rest = this.compare(type, before, after)
    if (rest !== undefined) yield* rest
  }
}

interface ItemGroup {
  readonly element: PathElement
  readonly items: JsonValue[]
}

function groupItems(list: FieldListType, side: Side): Map<string, ItemGroup> {
  const groups = new Map<string, ItemGroup>()
  for (const item of Array.isArray(side) ? side : []) {
    const element = itemElement(list, item) as PathElement
    const group = groups.get(element.id)
    if (group === undefined) groups.set(element.id, { element, items: [item] })
    else group.items.push(item)
  }
  return groups
}

function sizeOfMap(side: Side): number {
  return side instanceof Map ? side.size : 0
}

function sizeOfList(side: Side): number {
  return Array.isArray(side) ? side.length : 0
}
