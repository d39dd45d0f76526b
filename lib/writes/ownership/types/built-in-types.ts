/** The types of built-in objects, made of the messages of the schema as kube-apiserver makes
 *  them of its OpenAPI. */

import type { MessageField, MessageType } from '@watchglass/codec'
import { JsonNumber, type JsonValue } from '@watchglass/go'
import {
  type FieldType,
  type FieldListType,
  type FieldMapType,
  type MemberType,
  type ScalarType,
  deduced,
  untypedAtomic,
} from './field-type.ts'

/** The type of a message. Made once for each; contained types are made when they are first
 *  looked at, as some contain themselves. */
export function builtInType(message: MessageType): FieldType {
  let type = known.get(message)
  if (type === undefined) {
    type = message.form === 'object' ? { map: new MessageMap(message) } : formedType(message)
    known.set(message, type)
  }
  return type
}

const known = new WeakMap<MessageType, FieldType>()

class MessageMap implements FieldMapType {
  readonly isAtomic: boolean
  readonly #message: MessageType
  #fields: ReadonlyMap<string, MemberType> | undefined

  constructor(message: MessageType) {
    this.#message = message
    this.isAtomic = message.mapType === 'atomic'
  }

  get fields(): ReadonlyMap<string, MemberType> | undefined {
    this.#fields ??= new Map(membersOf(this.#message))
    return this.#fields.size === 0 ? undefined : this.#fields
  }

  /** OpenAPI takes an object without properties for a free-form one. */
  get element(): FieldType | undefined {
    return this.fields === undefined ? deduced : undefined
  }
}

function* membersOf(message: MessageType): Iterable<[string, MemberType]> {
  if (message.hasTypeMeta) {
    yield ['kind', { type: { scalar: 'string' } }]
    yield ['apiVersion', { type: { scalar: 'string' } }]
  }
  for (const field of message.fields) {
    if (field.isInline) yield* membersOf(message.schema.messageType(field.type))
    else yield [field.jsonName, new FieldMember(message, field)]
  }
}

class FieldMember implements MemberType {
  readonly defaultValue: JsonValue | undefined
  readonly #message: MessageType
  readonly #field: MessageField
  #type: FieldType | undefined

  constructor(message: MessageType, field: MessageField) {
    this.#message = message
    this.#field = field
    this.defaultValue = keyDefaults[`${message.name}.${field.jsonName}`] ?? zeroOf(field)
  }

  get type(): FieldType {
    this.#type ??= fieldType(this.#message, this.#field)
    return this.#type
  }
}

/** Declared defaults of members that are keys of lists. */
const keyDefaults: Readonly<Record<string, string>> = {
  'core/v1.ContainerPort.protocol': 'TCP',
  'core/v1.ServicePort.protocol': 'TCP',
  'core/v1.LocalObjectReference.name': '',
}

/** OpenAPI declares the zero value as the default of members that are always written. */
function zeroOf({
  type,
  container,
  isPointer,
  isOmittedWhenEmpty,
}: MessageField): JsonValue | undefined {
  if (container !== 'single' || isPointer || isOmittedWhenEmpty) return undefined
  const scalar = scalars[type]
  if (scalar === 'string' && type === 'string') return ''
  if (scalar === 'boolean') return false
  return scalar === 'numeric' ? new JsonNumber('0') : undefined
}

function fieldType(message: MessageType, field: MessageField): FieldType {
  const inner = (): FieldType => namedType(message, field.type)
  const { mapType } = field.merging
  switch (field.container) {
    case 'single':
      return mapType === undefined ? inner() : withMapType(inner(), mapType)
    case 'map':
      return { map: { isAtomic: mapType === 'atomic', fields: undefined, element: inner() } }
    case 'list':
      return { list: listType(field, inner()) }
  }
}

function listType(field: MessageField, element: FieldType): FieldListType {
  const { listType: type, listKeys, patchStrategy, patchKey } = field.merging
  if (type === 'map') return { isAtomic: false, keys: listKeys ?? [], element }
  if (type === 'set') return { isAtomic: false, keys: [], element }
  const isMerged = type === undefined && patchStrategy?.includes('merge') === true
  const keys = isMerged && patchKey !== undefined ? [patchKey] : []
  return { isAtomic: !isMerged, keys, element }
}

function withMapType(type: FieldType, mapType: string): FieldType {
  const { map } = type
  if (map === undefined) return type
  return {
    ...type,
    map: {
      isAtomic: mapType === 'atomic',
      get fields() {
        return map.fields
      },
      get element() {
        return map.element
      },
    },
  }
}

function namedType(message: MessageType, name: string): FieldType {
  const scalar = scalars[name]
  if (scalar !== undefined) return { scalar }
  if (name === 'rawextension') return untypedAtomic
  if (name === 'fieldsv1') return { map: deduced.map }
  if (name === 'json' || name === 'intorstring' || name === 'any') return anyType
  return builtInType(message.schema.messageType(name))
}

/** Specials with another JSON form than an object of their fields. */
function formedType(message: MessageType): FieldType {
  if (message.form !== 'wrap') return anyType
  return { list: { isAtomic: true, keys: [], element: { scalar: 'string' } } }
}

/** OpenAPI without a type: each form is allowed. */
const anyType: FieldType = { scalar: 'untyped', list: deduced.list, map: deduced.map }

const scalars: Readonly<Record<string, ScalarType>> = {
  string: 'string',
  bool: 'boolean',
  int32: 'numeric',
  int64: 'numeric',
  float64: 'numeric',
  bytes: 'string',
  quantity: 'untyped',
  time: 'untyped',
  microtime: 'untyped',
}
