/** The same schema for protobufjs, as the peer in the bench: what a program does that decodes with
 *  a good general library. */

import protobuf from 'protobufjs'
import { type MessageField, schemaOf } from '../../lib/codec/schema/schema.ts'

/** The protobufjs type for one message of the schema, with everything that it contains. */
export function protobufjsType(name: string): protobuf.Type {
  const root = new protobuf.Root()
  addType(root, name)
  return root.lookupType(identifierOf(name))
}

const specials: Readonly<Record<string, readonly (readonly [string, number, string])[]>> = {
  quantity: [['string', 1, 'string']],
  time: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  microtime: [
    ['seconds', 1, 'int64'],
    ['nanos', 2, 'int32'],
  ],
  intorstring: [
    ['type', 1, 'int64'],
    ['intVal', 2, 'int32'],
    ['strVal', 3, 'string'],
  ],
  fieldsv1: [['raw', 1, 'bytes']],
  rawextension: [['raw', 1, 'bytes']],
  json: [['raw', 1, 'bytes']],
}

function addType(root: protobuf.Root, name: string): void {
  const identifier = identifierOf(name)
  if (root.get(identifier) !== null) return
  const type = new protobuf.Type(identifier)
  root.add(type)
  const special = specials[name]
  if (special !== undefined) {
    for (const [field, number, fieldType] of special) {
      type.add(new protobuf.Field(field, number, fieldType))
    }
    return
  }
  for (const field of schemaOf().messageType(name).fields) addField(root, type, field)
}

function addField(root: protobuf.Root, type: protobuf.Type, field: MessageField): void {
  const name = field.isInline ? `inline${field.number}` : field.jsonName
  const scalar = field.type === 'float64' ? 'double' : field.type
  const isMessage = field.type.includes('.') || specials[field.type] !== undefined
  if (isMessage) addType(root, field.type)
  const fieldType = isMessage ? identifierOf(field.type) : scalar
  if (field.container === 'map') {
    type.add(new protobuf.MapField(name, field.number, 'string', fieldType))
  } else {
    type.add(
      new protobuf.Field(
        name,
        field.number,
        fieldType,
        field.container === 'list' ? 'repeated' : 'optional',
      ),
    )
  }
}

function identifierOf(name: string): string {
  return name.replaceAll(/\W/g, '_')
}
