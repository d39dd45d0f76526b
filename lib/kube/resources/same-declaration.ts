/** The difference between writes of a CustomResourceDefinition that declare something anew and all
 *  others. Definitions are written
 *  all day: their conditions change, and tools label and annotate them. kube-apiserver builds the
 *  storage of their objects anew, and ends the watches of these, only when the spec or the accepted
 *  names are others, or when it is another definition of the same name. */

import { JsonMembers } from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'

/** Bytes of the parts that declare; a part that is missing is empty. */
interface DeclaringParts {
  spec: Uint8Array
  acceptedNames: Uint8Array
  uid: Uint8Array
}

const nothing = new Uint8Array(0)
const members = new JsonMembers()
const inner = new JsonMembers()

/** True if two stored definitions are of one object and declare the same, byte for byte. A server
 *  writes a value that has not changed in the same bytes. */
export function declareAlike(one: KeyValue, other: KeyValue): boolean {
  const [a, b] = [declaringParts(one), declaringParts(other)]
  if (a === undefined || b === undefined) return false
  return (
    areEqual(a.spec, b.spec) &&
    areEqual(a.acceptedNames, b.acceptedNames) &&
    areEqual(a.uid, b.uid) &&
    one.createRevision === other.createRevision
  )
}

/** Undefined where a name may be another one than its bytes say. */
function declaringParts({ bytes, start, end }: KeyValue): DeclaringParts | undefined {
  const parts: DeclaringParts = { spec: nothing, acceptedNames: nothing, uid: nothing }
  members.reset(bytes, start, end)
  while (members.nextName()) {
    const isRead = members.isNamed('metadata')
      ? readMember('uid', window => (parts.uid = window))
      : members.isNamed('status')
        ? readMember('acceptedNames', window => (parts.acceptedNames = window))
        : members.skip()
    if (!isRead || !members.isNamePlain) return undefined
    if (members.isNamed('spec')) parts.spec = windowOf(members)
  }
  return members.isMalformed ? undefined : parts
}

/** Reads one member of the object that `members` stands before; false if it is malformed. */
function readMember(name: string, found: (window: Uint8Array) => void): boolean {
  found(nothing)
  inner.enter(members)
  while (inner.next()) {
    if (!inner.isNamePlain) return false
    if (inner.isNamed(name)) found(windowOf(inner))
  }
  // A value that is neither an object nor a list has no members.
  return inner.isObject ? members.leave(inner) : members.skip()
}

function windowOf({ bytes, start, end }: JsonMembers): Uint8Array {
  return bytes.subarray(start, end)
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
