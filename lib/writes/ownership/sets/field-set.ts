/** A set of paths into an object: what one manager owns. It is a tree; a path that is in the set
 *  is a member of the node above it, whether or not paths below it are in the set too. Sets do
 *  not change once they have been built (`insert` is for building), so that operations share
 *  what they do not touch. */

import type { FieldType } from '../types/field-type.ts'
import { type ElementPath, type PathElement, compareElements } from './path-element.ts'

interface Child {
  readonly element: PathElement
  readonly set: FieldSet
}

export class FieldSet {
  readonly #members: Map<string, PathElement>
  readonly #children: Map<string, Child>
  /** The last path that was inserted: its elements but one, and the nodes below them. */
  #way: { readonly elements: PathElement[]; readonly sets: FieldSet[] } | undefined

  constructor(
    members: Map<string, PathElement> = new Map(),
    children: Map<string, Child> = new Map(),
  ) {
    this.#members = members
    this.#children = children
  }

  static of(...paths: readonly ElementPath[]): FieldSet {
    return FieldSet.ofAll(paths)
  }

  /** A set of paths that may be too many for arguments. */
  static ofAll(paths: readonly ElementPath[]): FieldSet {
    const set = new FieldSet()
    for (const path of paths) set.insert(path)
    return set
  }

  /** Adds a path, from one of its elements on, and not the paths above it. The empty path is the
   *  object itself, which nobody owns. */
  insert(path: ElementPath): void {
    const element = path.at(-1)
    if (element !== undefined) this.#setAbove(path).#members.set(element.id, element)
  }

  /** The node above a path's last element. From one path to the next, only what differs is looked
   *  up: an object has many fields at the bottom of a long path. */
  #setAbove(path: ElementPath): FieldSet {
    const { elements, sets } = (this.#way ??= { elements: [], sets: [] })
    const depth = path.length - 1
    let same = 0
    while (same < Math.min(depth, sets.length) && elements[same] === path[same]) same++
    elements.length = same
    sets.length = same
    let set = sets[same - 1] ?? this
    for (const element of path.slice(same, depth)) {
      set = set.#descend(element)
      elements.push(element)
      sets.push(set)
    }
    return set
  }

  /** While a set is read: adds what was read below an element. */
  insertBelow(element: PathElement, set: FieldSet): void {
    this.#way = undefined
    this.#children.set(element.id, { element, set })
  }

  get isEmpty(): boolean {
    if (this.#members.size > 0) return false
    for (const { set } of this.#children.values()) if (!set.isEmpty) return false
    return true
  }

  /** Nothing was ever put into it, not even a node without paths. */
  get isBare(): boolean {
    return this.#members.size === 0 && this.#children.size === 0
  }

  has(path: ElementPath): boolean {
    const [first, ...rest] = path
    if (first === undefined) return false
    return rest.length === 0 ? this.hasMember(first) : this.below(first)?.has(rest) === true
  }

  hasMember(element: PathElement): boolean {
    return this.#members.has(element.id)
  }

  /** The fields below the element; undefined if there are none. */
  below(element: PathElement): FieldSet | undefined {
    return this.#children.get(element.id)?.set
  }

  /** The first elements of all paths, in any order. */
  elements(): PathElement[] {
    const elements = new Map(this.#members)
    for (const [id, { element }] of this.#children) elements.set(id, element)
    return [...elements.values()]
  }

  members(): PathElement[] {
    return [...this.#members.values()].sort(compareElements)
  }

  children(): Child[] {
    return [...this.#children.values()].sort((a, b) => compareElements(a.element, b.element))
  }

  /** All paths, those of a node before those below it. */
  paths(): ElementPath[] {
    const found: ElementPath[] = []
    this.visit(path => found.push([...path]))
    return found
  }

  /** Gives all paths in that order. The path is the visitor's until it returns. */
  visit(take: (path: ElementPath) => void, above: PathElement[] = []): void {
    for (const member of this.members()) {
      above.push(member)
      take(above)
      above.pop()
    }
    for (const { element, set } of this.children()) {
      above.push(element)
      set.visit(take, above)
      above.pop()
    }
  }

  /** The union of many: the work is that of reading them, whereas one `union` after the other
   *  copies the first ones again each time. */
  static unionOf(sets: readonly FieldSet[]): FieldSet {
    const [first] = sets
    if (first !== undefined && sets.length === 1) return first
    const members = new Map<string, PathElement>()
    const below = new Map<string, { readonly element: PathElement; readonly sets: FieldSet[] }>()
    for (const set of sets) {
      for (const [id, member] of set.#members) members.set(id, member)
      for (const [id, child] of set.#children) {
        const known = below.get(id)
        if (known === undefined) below.set(id, { element: child.element, sets: [child.set] })
        else known.sets.push(child.set)
      }
    }
    const children = [...below].map(([id, { element, sets: parts }]): [string, Child] => [
      id,
      { element, set: FieldSet.unionOf(parts) },
    ])
    return new FieldSet(members, new Map(children))
  }

  union(other: FieldSet): FieldSet {
    const children = new Map(this.#children)
    for (const [id, { element, set }] of other.#children) {
      const own = children.get(id)
      children.set(id, { element, set: own === undefined ? set : own.set.union(set) })
    }
    return new FieldSet(new Map([...this.#members, ...other.#members]), children)
  }

  intersection(other: FieldSet): FieldSet {
    const children = this.#mapChildren((id, set) => {
      const others = other.#children.get(id)?.set
      return others === undefined ? undefined : notEmpty(set.intersection(others))
    })
    return new FieldSet(
      this.#keep(id => other.#members.has(id)),
      children,
    )
  }

  /** The paths that are not in the other set. A path stays even if one above it is in the other. */
  difference(other: FieldSet): FieldSet {
    const children = this.#mapChildren((id, set) => {
      const others = other.#children.get(id)?.set
      return others === undefined ? set : notEmpty(set.difference(others))
    })
    return new FieldSet(
      this.#keep(id => !other.#members.has(id)),
      children,
    )
  }

  /** The paths that are not in the other set, and not below one that is. */
  recursiveDifference(other: FieldSet): FieldSet {
    const children = this.#mapChildren((id, set) => {
      if (other.#members.has(id)) return undefined
      const others = other.#children.get(id)?.set
      return others === undefined ? set : notEmpty(set.recursiveDifference(others))
    })
    return new FieldSet(
      this.#keep(id => !other.#members.has(id)),
      children,
    )
  }

  /** Adds the members that the type declares and that have paths below them: they come and go
   *  with those. */
  withDeclaredMembers(type: FieldType | undefined): FieldSet {
    const members = new Map(this.#members)
    const children = new Map<string, Child>()
    for (const [id, { element, set }] of this.#children) {
      let inner: FieldType | undefined
      if (element.kind === 'member' && type?.map !== undefined) {
        const field = type.map.fields?.get(element.name)
        if (field !== undefined) members.set(id, element)
        inner = field?.type ?? type.map.element
      } else if (element.kind === 'keys' && type?.list !== undefined) {
        inner = type.list.element
      }
      children.set(id, { element, set: set.withDeclaredMembers(inner) })
    }
    return new FieldSet(members, children)
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).isEmpty && other.difference(this).isEmpty
  }

  #descend(element: PathElement): FieldSet {
    const known = this.#children.get(element.id)
    if (known !== undefined) return known.set
    const set = new FieldSet()
    this.#children.set(element.id, { element, set })
    return set
  }

  #keep(isKept: (id: string) => boolean): Map<string, PathElement> {
    return new Map([...this.#members].filter(([id]) => isKept(id)))
  }

  #mapChildren(change: (id: string, set: FieldSet) => FieldSet | undefined): Map<string, Child> {
    const children = new Map<string, Child>()
    for (const [id, { element, set }] of this.#children) {
      const changed = change(id, set)
      if (changed !== undefined) children.set(id, { element, set: changed })
    }
    return children
  }
}

function notEmpty(set: FieldSet): FieldSet | undefined {
  return set.isEmpty ? undefined : set
}
