/** Labels and selectable fields of objects that are stored as JSON: custom resources, and the few
 *  built-in kinds among them. */

import { JsonNumber, type JsonValue, memberAt } from '@watchglass/go'
import { NotExact } from '@watchglass/base'
import type { StoredValue } from '../stored-value.ts'
import { type JsonPath, JsonFieldReader } from './json-reader.ts'
import type { SelectableField, SelectableKind, SelectableReader } from './selectable.ts'

/** The slots before those of the fields. */
const apiVersionSlot = 0
const kindSlot = 1
const labelsSlot = 2
const fixedPaths: readonly JsonPath[] = [['apiVersion'], ['kind'], ['metadata', 'labels']]

interface Placed {
  readonly path: JsonPath
  readonly slot: number
}

export class CustomSelectable implements SelectableReader {
  readonly #kind: SelectableKind
  readonly #reader: JsonFieldReader
  readonly #placed: ReadonlyMap<SelectableField, readonly Placed[]>
  /** By stored apiVersion: whether the schema may change a field on read. */
  readonly #isChangeable = new Map<string, boolean>()
  /** The object as it is served, where a field may differ from the stored one. */
  #tree: JsonValue | undefined

  constructor(kind: SelectableKind, fields: readonly SelectableField[]) {
    this.#kind = kind
    const paths: JsonPath[] = [...fixedPaths]
    const placed = fields.map(field => {
      const places = field.paths.map(text => {
        const path = segmentsOf(text)
        return { path, slot: paths.push(path) - 1 }
      })
      return [field, places] as const
    })
    this.#placed = new Map(placed)
    this.#reader = new JsonFieldReader(paths)
  }

  read(stored: StoredValue): NotExact | undefined {
    this.#tree = undefined
    const made = this.#kind.custom?.converted(stored, this.#kind.version)
    const value = made ?? stored
    if (!this.#reader.readStored(value.bytes, value.start, value.end)) {
      return new NotExact('object is malformed')
    }
    if (this.#reader.scalarText(kindSlot) !== this.#kind.stored.kind) {
      return new NotExact('stored value is of another kind')
    }
    const { custom, learned, version } = this.#kind
    if (learned !== undefined) return learned.checkMetadata(value)
    const apiVersion = this.#reader.scalarText(apiVersionSlot)
    if (custom === undefined || made !== undefined) return undefined
    if (!this.#mayChange(apiVersion)) return undefined
    const tree = custom.tree(value, version)
    if (tree instanceof NotExact) return tree
    this.#tree = tree
    return undefined
  }

  label(key: string): string | undefined {
    return this.#reader.mapText(labelsSlot, key)
  }

  eachLabel(take: (key: string) => void): void {
    this.#reader.eachMapKey(labelsSlot, take)
  }

  field(field: SelectableField): string {
    for (const { path, slot } of this.#placed.get(field) ?? []) {
      const text =
        this.#tree === undefined ? this.#reader.scalarText(slot) : textAt(this.#tree, path)
      if (text !== '') return text
    }
    return field.fallback
  }

  /** True if what is stored as `apiVersion` may be served with another value in one of the
   *  fields. */
  #mayChange(apiVersion: string): boolean {
    let isChangeable = this.#isChangeable.get(apiVersion)
    if (isChangeable === undefined) {
      const { custom, version } = this.#kind
      const places = [...this.#placed.values()].flat()
      isChangeable =
        custom?.canServe(apiVersion, version) !== true ||
        places.some(({ path }) => custom.mayChange(path, apiVersion, version))
      this.#isChangeable.set(apiVersion, isChangeable)
    }
    return isChangeable
  }
}

/** Names are separated by dots; one inside a name is escaped. */
function segmentsOf(path: string): JsonPath {
  return path.match(/(?:\\.|[^.\\])+/g)?.map(segment => segment.replaceAll('\\.', '.')) ?? []
}

function textAt(tree: JsonValue, path: JsonPath): string {
  const found = memberAt(tree, path)
  if (typeof found === 'string') return found
  if (typeof found === 'boolean') return String(found)
  return found instanceof JsonNumber ? found.text : ''
}
