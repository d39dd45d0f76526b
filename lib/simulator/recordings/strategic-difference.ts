/** The strategic merge patch between two objects, as kwokctl records changes. */

import { isDeepStrictEqual } from 'node:util'
import { isObject, type UntypedObject } from '@watchglass/base'
import {
  deletions,
  directive,
  elementOrder,
  lookUpMember,
  type PatchField,
  type PatchType,
} from '@watchglass/writes'

type Members = Record<string, unknown>

/** Members of the patch; none if the objects are equal. */
export function strategicDifference(
  from: UntypedObject,
  to: UntypedObject,
  type: PatchType,
): Members {
  const patch: [name: string, value: unknown][] = []
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [ownMember(from, name), ownMember(to, name)]
    if (isDeepStrictEqual(before, after)) continue
    if (after === undefined) patch.push([name, null])
    else if (before === undefined) patch.push([name, after])
    else {
      const changed = memberDifference(name, [before, after], fieldOf(type, name))
      patch.push(...Object.entries(changed))
    }
  }
  // Whatever the names are: assigned one by one, `__proto__` would be no member.
  return Object.fromEntries(patch)
}

function ownMember(object: UntypedObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

const freeType: PatchType = { message: undefined, kind: 'map' }
const freeField: PatchField = { type: freeType, strategy: '', key: '' }

function fieldOf(type: PatchType, name: string): PatchField {
  return type.kind === 'struct' && type.message !== undefined ? lookUpMember(type, name) : freeField
}

function memberDifference(
  name: string,
  [before, after]: readonly [unknown, unknown],
  { type, strategy, key }: PatchField,
): Members {
  if (isObject(before) && isObject(after)) {
    return { [name]: strategicDifference(before, after, type) }
  }
  const isMerged = strategy === 'merge' && Array.isArray(before) && Array.isArray(after)
  if (!isMerged) return { [name]: after }
  return key === ''
    ? scalarsDifference(name, before, after)
    : itemsDifference(name, [before, after], { type, key })
}

function scalarsDifference(
  name: string,
  before: readonly unknown[],
  after: readonly unknown[],
): Members {
  const added = after.filter(one => !before.includes(one))
  const gone = before.filter(one => !after.includes(one))
  return {
    ...(added.length === 0 ? {} : { [name]: added }),
    ...(gone.length === 0 ? {} : { [`${deletions}/${name}`]: gone }),
    [`${elementOrder}/${name}`]: after,
  }
}

function itemsDifference(
  name: string,
  [before, after]: readonly [readonly unknown[], readonly unknown[]],
  { type, key }: { readonly type: PatchType; readonly key: string },
): Members {
  const [known, wanted] = [byKey(before, key), byKey(after, key)]
  // Items that no key tells apart are replaced all together.
  if (known === undefined || wanted === undefined) {
    return { [name]: [{ [directive]: 'replace' }, ...after] }
  }
  const changed: unknown[] = []
  for (const [value, item] of wanted) {
    const live = known.get(value)
    if (live === undefined) changed.push(item)
    else if (!isDeepStrictEqual(live, item)) {
      changed.push({ ...strategicDifference(live, item, type), [key]: value })
    }
  }
  for (const value of known.keys()) {
    if (!wanted.has(value)) changed.push({ [key]: value, [directive]: 'delete' })
  }
  const order = Array.from(wanted.keys(), value => ({ [key]: value }))
  return {
    [`${elementOrder}/${name}`]: order,
    ...(changed.length === 0 ? {} : { [name]: changed }),
  }
}

function byKey(items: readonly unknown[], key: string): Map<unknown, UntypedObject> | undefined {
  const found = new Map<unknown, UntypedObject>()
  for (const item of items) {
    if (!isObject(item) || item[key] === undefined || found.has(item[key])) return undefined
    found.set(item[key], item)
  }
  return found
}
