/** Whether metadata is as Go's own type ObjectMeta writes it, in the order of that type: then a
 *  server that decodes it into that type, as every one does, writes it again as it is, whatever
 *  else it makes of the object. */

import { isCanonicalTime } from '@watchglass/go'
import { JsonMembers, type StoredValue } from '@watchglass/codec'

type Form = 'filled' | 'text' | 'integer' | 'count' | 'boolean' | 'time' | 'texts' | 'map' | 'any'

/** Members in the order of a Go type. Those that are marked are always there. */
interface Type {
  readonly names: readonly string[]
  readonly forms: readonly (Form | readonly [Type])[]
  readonly required: number
}

const ownerReference = type(
  ['apiVersion', 'text'],
  ['kind', 'text'],
  ['name', 'text'],
  ['uid', 'text'],
  ['controller', 'boolean'],
  ['blockOwnerDeletion', 'boolean'],
)

const managedFields = type(
  ['manager', 'filled'],
  ['operation', 'filled'],
  ['apiVersion', 'filled'],
  ['time', 'time'],
  ['fieldsType', 'filled'],
  ['fieldsV1', 'any'],
  ['subresource', 'filled'],
)

const objectMeta = type(
  ['name', 'filled'],
  ['generateName', 'filled'],
  ['namespace', 'filled'],
  ['selfLink', 'filled'],
  ['uid', 'filled'],
  ['resourceVersion', 'text'],
  ['generation', 'count'],
  ['creationTimestamp', 'time'],
  ['deletionTimestamp', 'time'],
  ['deletionGracePeriodSeconds', 'integer'],
  ['labels', 'map'],
  ['annotations', 'map'],
  ['ownerReferences', [{ ...ownerReference, required: 4 }]],
  ['finalizers', 'texts'],
  ['managedFields', [managedFields]],
)

/** The text must be canonical JSON. */
export function isTypedMetadata(metadata: StoredValue): boolean {
  return isOfType(metadata, objectMeta)
}

function type(...members: readonly (readonly [string, Form | readonly [Type]])[]): Type {
  return {
    names: members.map(([name]) => name),
    forms: members.map(([, form]) => form),
    required: 0,
  }
}

function isOfType({ bytes, start, end }: StoredValue, { names, forms, required }: Type): boolean {
  if (bytes[start] !== 0x7b) return false
  const members = new JsonMembers()
  members.reset(bytes, start, end)
  let at = -1
  let count = 0
  while (members.next()) {
    do at++
    while (at < names.length && !members.isNamed(names[at] as string))
    const form = forms[at]
    if (form === undefined) return false
    if (at < required) count++
    const value = { bytes, start: members.start, end: members.end }
    if (typeof form === 'string' ? !isOfForm(value, form) : !isListOf(value, form[0])) return false
  }
  return !members.isMalformed && count === required
}

/** Go leaves out empty lists and maps. */
function isListOf({ bytes, start, end }: StoredValue, item: Type): boolean {
  if (bytes[start] !== 0x5b || end - start === 2) return false
  const items = new JsonMembers()
  items.reset(bytes, start, end)
  while (items.next()) {
    if (!isOfType({ bytes, start: items.start, end: items.end }, item)) return false
  }
  return !items.isMalformed
}

function isOfForm(value: StoredValue, form: Form): boolean {
  const { bytes, start, end } = value
  const first = bytes[start]
  switch (form) {
    case 'text':
      return first === 0x22
    case 'filled':
      return first === 0x22 && end - start > 2
    case 'time':
      return first === 0x22 && isCanonicalTime(bytes, start + 1, end - 1)
    case 'boolean':
      return first === 0x74 || first === 0x66
    case 'integer':
      return isInteger(value)
    case 'count':
      return isInteger(value) && first !== 0x30
    case 'texts':
      return isFilled(value, 0x5b) && areTexts(value)
    case 'map':
      return isFilled(value, 0x7b) && areTexts(value) && isSorted(value)
    case 'any':
      return first !== 0x6e
  }
}

function isInteger({ bytes, start, end }: StoredValue): boolean {
  const from = bytes[start] === 0x2d ? start + 1 : start
  if (from >= end || end - from > 18) return false
  for (let i = from; i < end; i++) {
    if ((bytes[i] as number) < 0x30 || (bytes[i] as number) > 0x39) return false
  }
  return true
}

function isFilled({ bytes, start, end }: StoredValue, open: number): boolean {
  return bytes[start] === open && end - start > 2
}

function areTexts({ bytes, start, end }: StoredValue): boolean {
  const members = new JsonMembers()
  members.reset(bytes, start, end)
  while (members.next()) if (bytes[members.start] !== 0x22) return false
  return !members.isMalformed
}

/** As Go writes maps: by the bytes of the names. Names of labels and annotations have nothing that
 *  JSON would escape, but for invalid ones, which are not proven. */
function isSorted({ bytes, start, end }: StoredValue): boolean {
  const members = new JsonMembers()
  members.reset(bytes, start, end)
  let previous: Buffer | undefined
  while (members.next()) {
    const name = Buffer.from(
      bytes.buffer,
      bytes.byteOffset + members.nameStart,
      members.nameEnd - members.nameStart,
    )
    if (name.includes(0x5c)) return false
    if (previous !== undefined && Buffer.compare(previous, name) >= 0) return false
    previous = name
  }
  return !members.isMalformed
}
