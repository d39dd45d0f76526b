/** Sets that were written under another schema: where a list or an object has become one value
 *  since, whoever owned a part of it owns all of it. (Changes the other way are not noticed: the
 *  owner of the whole stays so until somebody changes a part.) */

import { FieldSet } from '../sets/field-set.ts'
import { compareElements, type ElementPath, type PathElement } from '../sets/path-element.ts'
import { type FieldType, type FieldMapType, formOf, memberType } from '../types/field-type.ts'

/** The set as it is under the type; the same set if nothing changed. */
export function underType(set: FieldSet, type: FieldType): FieldSet {
  const merged: ElementPath[] = []
  visit({ type, set, path: [], isWhole: false }, merged)
  if (merged.length === 0) return set
  const changed = FieldSet.ofAll(merged)
  return set.recursiveDifference(changed).union(changed)
}

interface Visit {
  readonly type: FieldType
  /** Fields of the set below the path. */
  readonly set: FieldSet | undefined
  readonly path: ElementPath
  /** The path is in the set, and nothing below it is. */
  readonly isWhole: boolean
}

function visit({ type, set, path, isWhole }: Visit, merged: ElementPath[]): void {
  switch (formOf(type)) {
    case 'map': {
      const map = type.map as FieldMapType
      if (map.element?.isDeduced === true && map.fields === undefined) return
      if (!isWhole && map.isAtomic) {
        if (set?.isEmpty === false) merged.push(path)
        return
      }
      visitBelow(set, path, merged, element =>
        element.kind === 'member' ? memberType(map, element.name) : map.element,
      )
      return
    }
    case 'list':
      if (!isWhole && type.list?.isAtomic === true) merged.push(path)
      else visitBelow(set, path, merged, () => type.list?.element)
      return
    case 'scalar':
    case undefined:
  }
}

function visitBelow(
  set: FieldSet | undefined,
  path: ElementPath,
  merged: ElementPath[],
  typeOf: (element: PathElement) => FieldType | undefined,
): void {
  if (set === undefined) return
  for (const element of set.elements().sort(compareElements)) {
    const type = typeOf(element)
    if (type === undefined) continue
    const below = set.below(element)
    const isWhole = set.hasMember(element) && below === undefined
    visit({ type, set: below, path: [...path, element], isWhole }, merged)
  }
}
