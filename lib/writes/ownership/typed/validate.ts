/** Whether a value fits its type: members are declared, scalars have their type, items of lists
 *  have keys of their own. */

import { isStepDue, type Steps } from '@watchglass/base'
import type { JsonObject, JsonValue } from '@watchglass/go'
import { type PathElement, elementText, memberElement } from '../sets/path-element.ts'
import {
  type FieldType,
  type FieldListType,
  type FieldMapType,
  formOf,
  itemElement,
  memberType,
  typeFor,
} from '../types/field-type.ts'
import { TypingProblems, TypeProblems, scalarProblem, shapeProblem } from './problems.ts'

/** Checks in steps, and throws `TypeProblems` if the value does not fit. Objects that are stored
 *  may have items with equal keys; what is applied may not. */
export function* checkType(
  type: FieldType,
  value: JsonValue,
  { allowsDuplicates }: { readonly allowsDuplicates: boolean },
): Steps<void> {
  const checker = new Checker(allowsDuplicates)
  const rest = checker.check(type, value)
  if (rest !== undefined) yield* rest
  if (!checker.problems.isEmpty) throw new TypeProblems(checker.problems)
}

class Checker {
  readonly problems: TypingProblems = new TypingProblems()
  readonly #allowsDuplicates: boolean
  /** Path of the checker. */
  readonly #path: PathElement[] = []

  constructor(allowsDuplicates: boolean) {
    this.#allowsDuplicates = allowsDuplicates
  }

  /** Checks a scalar at once; of what has values inside, the steps are returned. */
  check(type: FieldType, value: JsonValue): Steps<void> | undefined {
    if (this.problems.isTooLong) return undefined
    const narrowed = typeFor(type, value)
    const { map, scalar, list } = narrowed
    switch (formOf(narrowed)) {
      case 'map':
        if (value instanceof Map) return this.#members(map as FieldMapType, value)
        if (value !== null) this.#add(shapeProblem('map', value))
        break
      case 'scalar': {
        const problem = scalar === undefined ? undefined : scalarProblem(scalar, value)
        if (problem !== undefined) this.#add(problem)
        break
      }
      case 'list':
        if (Array.isArray(value)) return this.#items(list as FieldListType, value)
        if (value !== null) this.#add(shapeProblem('list', value))
        break
      case undefined:
        this.#add('schema error: invalid atom: inlined')
    }
    return undefined
  }

  /** The first member that is not declared is the last one that is looked at. */
  *#members(map: FieldMapType, object: JsonObject): Steps<void> {
    for (const [name, value] of object) {
      if (isStepDue()) yield
      const inner = memberType(map, name)
      this.#path.push(memberElement(name))
      if (inner === undefined) this.#add('field not declared in schema')
      const rest = inner && this.check(inner, value)
      if (rest !== undefined) yield* rest
      this.#path.pop()
      if (inner === undefined) return
    }
  }

  *#items(list: FieldListType, items: readonly JsonValue[]): Steps<void> {
    const seen = new Set<string>()
    for (const [i, item] of items.entries()) {
      if (isStepDue()) yield
      const element = list.isAtomic
        ? ({ kind: 'index', id: `i:${String(i)}`, index: i } as const)
        : itemElement(list, item)
      if (typeof element === 'string') {
        this.#add(`element ${String(i)}: ${element}`)
        return
      }
      if (seen.has(element.id) && !this.#allowsDuplicates && !this.problems.isTooLong) {
        this.#add(`duplicate entries for key ${elementText(element)}`)
      }
      seen.add(element.id)
      this.#path.push(element)
      const rest = this.check(list.element, item)
      if (rest !== undefined) yield* rest
      this.#path.pop()
    }
  }

  #add(message: string): void {
    this.problems.add(this.#path, message)
  }
}
