/** The members of an object as strategic merge patches know them: the Go types, and how their tags
 *  say that lists are merged. */

import type { MessageField, MessageType } from '@watchglass/codec'
import { goQuote } from '@watchglass/go'
import { StrategicFailure } from './failures.ts'

/** The Go type of an object or of a list's items: a struct, a map, or a scalar of which nothing
 *  is known. */
export interface PatchType {
  readonly message: MessageType | undefined
  readonly kind: 'struct' | 'map' | 'string'
}

export interface PatchField {
  /** Type of the member, or of the items if it is a list. */
  readonly type: PatchType
  /** `merge`, `replace` or empty; `retainKeys` does not matter to the server. */
  readonly strategy: string
  readonly key: string
}

export function patchTypeOf(message: MessageType): PatchType {
  return { message, kind: 'struct' }
}

/** The member of that name. Names are compared as Go decodes: one that differs only in case is
 *  used if none is equal. */
export function lookUpMember(type: PatchType, name: string): PatchField {
  const { message } = type
  if (message === undefined || type.kind !== 'struct') {
    throw new StrategicFailure(
      `merging an object in json but data type is not struct, instead is: ${type.kind}`,
    )
  }
  const field = findField(message, name)
  if (field === undefined) {
    const struct = message.name.slice(message.name.lastIndexOf('.') + 1)
    throw new StrategicFailure(
      `unable to find api field in struct ${struct} for the json field ${goQuote(name)}`,
    )
  }
  const { patchStrategy = [], patchKey = '' } = field.merging
  const strategy = patchStrategy.find(one => one !== 'retainKeys') ?? ''
  return { type: typeOfField(message, field), strategy, key: patchKey }
}

function findField(message: MessageType, name: string): MessageField | undefined {
  const fields = allFields(message)
  return (
    fields.find(field => field.jsonName === name) ??
    fields.find(field => field.jsonName.toLowerCase() === name.toLowerCase())
  )
}

function allFields(message: MessageType): MessageField[] {
  return message.fields.flatMap(field =>
    field.isInline ? allFields(message.schema.messageType(field.type)) : [field],
  )
}

function typeOfField(owner: MessageType, { container, type }: MessageField): PatchType {
  if (container === 'map') return { message: undefined, kind: 'map' }
  const message = type.includes('.') ? owner.schema.messageType(type) : undefined
  return message === undefined ? { message, kind: 'string' } : { message, kind: 'struct' }
}
