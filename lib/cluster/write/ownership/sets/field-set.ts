/** A set of paths into an object: what one manager owns. It is a tree; a path that is in the set
 *  is a member of the node above it, whether or not paths below it are in the set too. Sets do
 *  not change once they have been built (`insert` is for building), so that operations share
 *  what they do not touch. */

import type { FieldType } from '../types/field-type.ts'
import { type Path, type PathElement, compareElements } from './path-element.ts'

interface Child {
  readonly element: PathElement
  readonly set: FieldSet
}

export class FieldSet {
  readonly #members: Map<string, PathElement>
  readonly #children: Map<string, Child>

  constructor(
    members: Map<string, PathElement> = new Map(),
    children: Map<string, Child> = new Map(),
  ) {
    this.#members = members
    this.#children = children
  }

  static of(...paths: readonly Path[]): FieldSet {
    const set = new FieldSet()
    for (const path of paths) set.insert(path)
    return set
  }

  /** Adds a path, from one of its elements on, and not the paths above it. The empty path is the
   *  object itself, which nobody owns. */
  insert(path: Path, from = 0): void {
    const element = path[from]
    if (element === undefined) return
    if (from === path.length - 1) this.#members.set(element.id, element)
    else this.#descend(element).insert(path, from + 1)
  }

  /** While a set is read: adds what was read below an element. */
  insertBelow(element: PathElement, set: FieldSet): void {
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

  has(path: Path): boolean {
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

  /** The first elements of all paths. */
  elements(): PathElement[] {
    const elements = new Map(this.#members)
    for (const [id, { element }] of this.#children) elements.set(id, element)
    return [...elements.values()].sort(compareElements)
  }

  members(): PathElement[] {
    return [...this.#members.values()].sort(compareElements)
  }

  children(): Child[] {
    return [...this.#children.values()].sort((a, b) => compareElements(a.element, b.element))
  }

  /** All paths, those of a node before those below it. */
  paths(): Path[] {
    const found: Path[] = this.members().map(member => [member])
    for (const { element, set } of this.children()) {
      for (const path of set.paths()) found.push([element, ...path])
    }
    return found
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
