/** An object with an apply configuration merged in: nothing is removed, and what both have is
 *  the configuration's. Items of lists with keys are merged one by one; they come in the order
 *  of the configuration where it says one. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import type { PathElement } from '../sets/path-element.ts'
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

type Side = JsonValue | undefined

/** Both values have been checked against the type; the result shares their parts. */
export function mergeValues(type: FieldType, live: Side, applied: Side): Side {
  return inForm(typeFor(type, applied === undefined ? live : applied), live, applied)
}

function inForm(type: FieldType, live: Side, applied: Side): Side {
  const whole = applied ?? live
  switch (formOf(type)) {
    case 'map': {
      const isEmpty = membersOf(live).size === 0 && membersOf(applied).size === 0
      if (type.map?.isAtomic === true || isEmpty) return applied === undefined ? live : applied
      return mergeMembers(type.map as FieldMapType, membersOf(live), membersOf(applied))
    }
    case 'list': {
      const isEmpty = itemsOf(live).length === 0 && itemsOf(applied).length === 0
      if (type.list?.isAtomic === true || isEmpty) return applied === undefined ? live : applied
      return mergeItems(type.list as FieldListType, itemsOf(live), itemsOf(applied))
    }
    case 'scalar':
      return applied === undefined ? live : applied
    case undefined:
      return whole
  }
}

function mergeMembers(map: FieldMapType, live: JsonObject, applied: JsonObject): Side {
  const merged: JsonObject = new Map()
  for (const name of new Set([...live.keys(), ...applied.keys()])) {
    const inner = memberType(map, name) ?? deduced
    const value = mergeValues(inner, live.get(name), applied.get(name))
    if (value !== undefined) merged.set(name, value)
  }
  return merged.size > 0 ? merged : undefined
}

function mergeItems(
  list: FieldListType,
  live: readonly JsonValue[],
  applied: readonly JsonValue[],
): Side {
  const indexed = { live: indexItems(list, live), applied: indexItems(list, applied) }
  return new ListMerge(list, live, indexed).items()
}

interface Items {
  readonly elements: readonly PathElement[]
  /** By the element's id; null for items with equal keys, which are not merged. */
  readonly byId: ReadonlyMap<string, JsonValue>
}

/** One merge of two lists. Shared items keep the order of the applied list; items of the live
 *  list alone stay before the shared item that followed them. */
class ListMerge {
  readonly #list: FieldListType
  readonly #liveItems: readonly JsonValue[]
  readonly #live: Items
  readonly #applied: Items
  readonly #out: JsonValue[] = []
  readonly #merged = new Set<string>()
  readonly #sharedOrder: Iterator<string, undefined>
  #nextShared: string | undefined

  constructor(
    list: FieldListType,
    liveItems: readonly JsonValue[],
    { live, applied }: { readonly live: Items; readonly applied: Items },
  ) {
    this.#list = list
    this.#liveItems = liveItems
    this.#live = live
    this.#applied = applied
    const shared = applied.elements.map(({ id }) => id).filter(id => live.byId.has(id))
    this.#sharedOrder = shared.values()
    this.#nextShared = this.#sharedOrder.next().value
  }

  items(): Side {
    const live = this.#live.elements
    const applied = this.#applied.elements
    let l = 0
    let r = 0
    while (l < live.length || r < applied.length) {
      const left = live[l]?.id
      const right = applied[r]?.id
      if (left !== undefined && right !== undefined) {
        if (left === right) {
          this.#mergeItem(left)
          l++
          r++
          this.#nextShared = this.#sharedOrder.next().value
          continue
        }
        // A shared item, but not the one whose turn it is.
        const isShared = this.#applied.byId.has(left)
        if (isShared && this.#nextShared !== undefined && this.#nextShared !== left) {
          l++
          continue
        }
      }
      if (left !== undefined) {
        if (!this.#applied.byId.has(left)) {
          this.#push(this.#liveItems[l], undefined)
          l++
          continue
        }
        if (this.#merged.has(left)) l++
      }
      if (right !== undefined) {
        this.#mergeItem(right)
        r++
        if (this.#nextShared === right) this.#nextShared = this.#sharedOrder.next().value
      }
    }
    return this.#out.length > 0 ? this.#out : undefined
  }

  #mergeItem(id: string): void {
    this.#merged.add(id)
    return this.#push(this.#live.byId.get(id), this.#applied.byId.get(id))
  }

  #push(live: Side, applied: Side): void {
    const item = mergeValues(this.#list.element, live, applied)
    if (item !== undefined) this.#out.push(item)
  }
}

function indexItems(list: FieldListType, items: readonly JsonValue[]): Items {
  const elements: PathElement[] = []
  const byId = new Map<string, JsonValue>()
  for (const item of items) {
    const element = itemElement(list, item) as PathElement
    elements.push(element)
    byId.set(element.id, byId.has(element.id) ? null : item)
  }
  return { elements, byId }
}

function membersOf(side: Side): JsonObject {
  return side instanceof Map ? side : new Map<string, JsonValue>()
}

function itemsOf(side: Side): readonly JsonValue[] {
  return Array.isArray(side) ? side : []
}
