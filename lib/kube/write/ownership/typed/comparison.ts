/** What changed between two objects of one type, as sets of fields. */

import type { JsonValue } from '../../../../codec/json/tree.ts'
import { FieldSet } from '../sets/field-set.ts'
import { type Path, type PathElement, memberElement } from '../sets/path-element.ts'
import { areEqual } from '../sets/values.ts'
import {
  type FieldType,
  type ListType,
  type MapType,
  deduced,
  formOf,
  itemElement,
  memberType,
  typeFor,
} from '../types/field-type.ts'

/** No field is in two of the sets. */
export interface Comparison {
  readonly removed: FieldSet
  readonly modified: FieldSet
  readonly added: FieldSet
}

type Side = JsonValue | undefined

/** Both values have been checked against the type. */
export function compareFields(type: FieldType, before: JsonValue, after: JsonValue): Comparison {
  const comparison = {
    removed: new FieldSet(),
    modified: new FieldSet(),
    added: new FieldSet(),
  }
  new Comparer(comparison).compare(type, before, after, [])
  return comparison
}

/** What is left of a comparison when some fields do not count. */
export function mapComparison(
  { removed, modified, added }: Comparison,
  change: (set: FieldSet) => FieldSet,
): Comparison {
  return { removed: change(removed), modified: change(modified), added: change(added) }
}

/** Whether two types of one value handle it in the same form. */
function sameForm(a: FieldType, b: FieldType): boolean {
  return a.map === b.map && a.list === b.list && a.scalar === b.scalar
}

class Comparer {
  readonly #comparison: Comparison

  constructor(comparison: Comparison) {
    this.#comparison = comparison
  }

  /** Absent sides are undefined; one of them is there. */
  compare(type: FieldType, before: Side, after: Side, path: Path): void {
    const left = typeFor(type, before)
    const right = typeFor(type, after)
    let isLeaf: boolean
    if (after === undefined) isLeaf = this.#inForm(left, before, after, path)
    else if (before === undefined || sameForm(left, right)) {
      isLeaf = this.#inForm(right, before, after, path)
    } else {
      this.#inForm(left, before, after, path)
      isLeaf = this.#inForm(right, before, after, path)
    }
    if (isLeaf) return
    if (before === undefined) this.#comparison.added.insert(path)
    else if (after === undefined) this.#comparison.removed.insert(path)
  }

  /** Whether the value was compared as a whole. */
  #inForm(type: FieldType, before: Side, after: Side, path: Path): boolean {
    switch (formOf(type)) {
      case 'map': {
        const isEmpty = sizeOfMap(before) === 0 && sizeOfMap(after) === 0
        if (type.map?.isAtomic === true || isEmpty) return this.#whole(before, after, path)
        this.#members(type.map as MapType, before, after, path)
        return false
      }
      case 'list': {
        const isEmpty = sizeOfList(before) === 0 && sizeOfList(after) === 0
        if (type.list?.isAtomic === true || isEmpty) return this.#whole(before, after, path)
        this.#items(type.list as ListType, before, after, path)
        return false
      }
      case 'scalar':
        return this.#whole(before, after, path)
      case undefined:
        return false
    }
  }

  #whole(before: Side, after: Side, path: Path): true {
    if (before === undefined) this.#comparison.added.insert(path)
    else if (after === undefined) this.#comparison.removed.insert(path)
    else if (!areEqual(before, after)) this.#comparison.modified.insert(path)
    return true
  }

  #members(map: MapType, before: Side, after: Side, path: Path): void {
    const left = before instanceof Map ? before : new Map<string, JsonValue>()
    const right = after instanceof Map ? after : new Map<string, JsonValue>()
    const compareMember = (name: string): void => {
      const inner = memberType(map, name) ?? deduced
      this.compare(inner, left.get(name), right.get(name), [...path, memberElement(name)])
    }
    for (const name of left.keys()) compareMember(name)
    for (const name of right.keys()) if (!left.has(name)) compareMember(name)
  }

  #items(list: ListType, before: Side, after: Side, path: Path): void {
    const left = groupItems(list, before)
    const right = groupItems(list, after)
    for (const [id, group] of left) this.#group(list, group, right.get(id) ?? noGroup(group), path)
    for (const [id, group] of right) {
      if (!left.has(id)) this.#group(list, noGroup(group), group, path)
    }
  }

  /** Items with the same keys, of which there should be one: several are compared as a whole. */
  #group(list: ListType, before: ItemGroup, after: ItemGroup, path: Path): void {
    const below = [...path, before.element]
    const [left] = before.items
    const [right] = after.items
    const { removed, modified, added } = this.#comparison
    if (before.items.length > 1 && after.items.length > 1) {
      if (!areEqual(before.items, after.items)) modified.insert(below)
    } else if (before.items.length > 1) {
      if (right !== undefined) this.compare(list.element, undefined, right, below)
      removed.insert(below)
    } else if (after.items.length > 1) {
      if (left !== undefined) this.compare(list.element, left, undefined, below)
      added.insert(below)
    } else {
      this.compare(list.element, left, right, below)
    }
  }
}

interface ItemGroup {
  readonly element: PathElement
  readonly items: JsonValue[]
}

function groupItems(list: ListType, side: Side): Map<string, ItemGroup> {
  const groups = new Map<string, ItemGroup>()
  for (const item of Array.isArray(side) ? side : []) {
    const element = itemElement(list, item) as PathElement
    const group = groups.get(element.id)
    if (group === undefined) groups.set(element.id, { element, items: [item] })
    else group.items.push(item)
  }
  return groups
}

function noGroup({ element }: ItemGroup): ItemGroup {
  return { element, items: [] }
}

function sizeOfMap(side: Side): number {
  return side instanceof Map ? side.size : 0
}

function sizeOfList(side: Side): number {
  return Array.isArray(side) ? side.length : 0
}
