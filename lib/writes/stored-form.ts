/** Objects in the form in which kube-apiserver stores them: protobuf of the storage version for
 *  built-in kinds, JSON for custom ones, for definitions and for APIServices. The same object
 *  has the same bytes. */

import { atOnce, ByteWriter, NotExact, type Steps } from '@watchglass/base'
import {
  appendProtobuf,
  isSameUnderOtherName,
  normaliseStored,
  storageVersionOf,
} from '@watchglass/codec'
import { downgradeDefinition } from './custom/definition/downgrade-definition.ts'
import { isTooDeep, type JsonObject, textInSteps } from '@watchglass/go'
import { groupVersionText, notExactly, type Resource } from '@watchglass/kube'
import { completeTree, typedText } from './decode/complete-tree.ts'
import { tooDeep } from './refusals.ts'
import type { WriteKind } from './write-kind.ts'

/** The bytes to store. The object has no resourceVersion in etcd. One that nests too deep could not
 *  be read again, and none of its resource could be listed: a patch, a policy or a webhook makes
 *  such an object of parts that are not deep. */
export function storedBytes(resource: Resource, kind: WriteKind, object: JsonObject): Uint8Array {
  return atOnce(storedInSteps(resource, kind, object))
}

/** `storedBytes` in steps. */
export function* storedInSteps(
  resource: Resource,
  kind: WriteKind,
  object: JsonObject,
): Steps<Uint8Array> {
  const bare: JsonObject = new Map(object)
  const metadata = object.get('metadata')
  if (metadata instanceof Map) {
    const stored: JsonObject = new Map(metadata)
    stored.delete('resourceVersion')
    stored.delete('selfLink')
    bare.set('metadata', stored)
  }
  if (isTooDeep(bare)) throw tooDeep()
  return kind.type === undefined
    ? yield* customBytes(resource, bare)
    : yield* builtInBytes(resource, kind, bare)
}

function* customBytes({ storage }: Resource, object: JsonObject): Steps<Uint8Array> {
  if (storage !== undefined) {
    object.set('apiVersion', groupVersionText(storage.group, storage.version))
  }
  return Buffer.from(`${yield* textInSteps(object)}\n`)
}

function* builtInBytes(resource: Resource, kind: WriteKind, object: JsonObject): Steps<Uint8Array> {
  const { schema, apiVersion } = kind
  if (kind.kind === 'CustomResourceDefinition') {
    const type = schema.messageType('apiextensions/v1beta1.CustomResourceDefinition')
    return Buffer.from(`${typedText(completeTree(downgradeDefinition(object), type))}\n`)
  }
  if (resource.storage?.encoding === 'json') return Buffer.from(`${typedText(object)}\n`)
  const to = storageVersionOf({ schema, apiVersion, kind: kind.kind }) ?? apiVersion
  const isSame =
    to === apiVersion || isSameUnderOtherName(schema, kind.kind, { from: apiVersion, to })
  if (isSame) object.set('apiVersion', to)
  const json = typedText(object)
  yield
  const text = Buffer.from(json)
  yield
  const value = { bytes: text, start: 0, end: text.length }
  if (!isSame) {
    const normal = normaliseStored(value, { schema, apiVersion, kind: kind.kind })
    if (normal instanceof NotExact) throw notExactly(resource, normal)
    return normal.bytes.slice(normal.start, normal.end)
  }
  scratch.clear()
  const problem = appendProtobuf(scratch, value, schema)
  if (problem !== undefined) throw notExactly(resource, problem)
  return scratch.copy()
}

const scratch = new ByteWriter()
