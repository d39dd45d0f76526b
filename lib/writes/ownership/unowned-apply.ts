/** An apply configuration merged into an object on behalf of the server: what it sets has no owner,
 *  and it must not replace a value that is owned as a whole. */

import { atOnce } from '@watchglass/base'
import type { JsonObject, JsonValue } from '@watchglass/go'
import type { WriteKind } from '../write-kind.ts'
import { typedObject } from './ownership-context.ts'
import { errorsMaxLength } from '../refusals.ts'
import { memberElement, type PathElement, pathText } from './sets/path-element.ts'
import { mergeValues } from './typed/merge.ts'
import { TypeProblems } from './typed/problems.ts'
import { type FieldType, typeFor } from './types/field-type.ts'
import type { TypedObject } from './versioned-objects.ts'

/** A configuration that cannot be merged, in the words of kube-apiserver. */
export class UnusableConfiguration extends Error {}

/** The live object with the configuration in it. Changes neither. */
export function withConfiguration(
  kind: WriteKind,
  live: JsonObject,
  configuration: JsonObject,
): JsonObject {
  const applied = typed(kind, configuration, 'patch')
  const atomic = new AtomicPaths()
  atomic.look(applied.type, applied.value)
  if (atomic.texts.length > 0) {
    throw new UnusableConfiguration(
      `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.texts.join(', ')}`,
    )
  }
  const { type, value } = typed(kind, live, 'original')
  const merged = mergeValues(type, value, applied.value)
  return merged instanceof Map ? merged : live
}

function typed(kind: WriteKind, object: JsonObject, which: 'patch' | 'original'): TypedObject {
  try {
    return atOnce(typedObject(kind, object, { allowsDuplicates: which === 'original' }))
  } catch (error) {
    if (!(error instanceof TypeProblems)) throw error
    throw new UnusableConfiguration(
      `failed to convert ${which} object to typed object: ${error.message}`,
    )
  }
}

/** Finds the paths of atomic values, as messages show them. Members of maps without fields are not
 *  looked into. */
class AtomicPaths {
  readonly texts: string[] = []
  readonly #path: PathElement[] = []
  #length = 0

  look(type: FieldType, value: JsonValue): void {
    const { map, list } = typeFor(type, value)
    if (value instanceof Map && map !== undefined) {
      if (map.isAtomic) this.#add()
      for (const [name, member] of value) {
        const field = map.fields?.get(name)
        if (field !== undefined) this.#lookBelow(memberElement(name), field.type, member)
      }
    }
    if (Array.isArray(value) && list !== undefined) {
      if (list.isAtomic) this.#add()
      for (const [index, item] of value.entries()) {
        this.#lookBelow({ kind: 'index', id: `i:${String(index)}`, index }, list.element, item)
      }
    }
  }

  #lookBelow(element: PathElement, type: FieldType, value: JsonValue): void {
    this.#path.push(element)
    this.look(type, value)
    this.#path.pop()
  }

  #add(): void {
    const text = pathText(this.#path)
    this.#length += text.length
    if (this.#length > errorsMaxLength) {
      throw new UnusableConfiguration('invalid ApplyConfiguration: its errors are too long')
    }
    this.texts.push(text)
  }
}
