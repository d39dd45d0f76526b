/** OpenAPI version 2 as protobuf, which Kubernetes clients ask for: those messages of
 *  google/gnostic's OpenAPIv2.proto that such a document needs. Members for which a message has no
 *  field are left out, as upstream prunes its schemas before it writes them. */

import {
  appendVarint,
  ByteWriter,
  listOf,
  NotExact,
  objectOf,
  type Steps,
  type UntypedObject,
  varintLength,
} from '@watchglass/base'
import { yamlFromJson } from '@watchglass/codec'

/** Appends a field with a value; nothing if it is not of the type. */
type Append = (out: ByteWriter, number: number, value: unknown) => void

interface Message {
  readonly fields: Readonly<Record<string, readonly [number: number, append: Append]>>
  /** The field that takes what begins with `x-`. */
  readonly extensions?: number
  /** The field that takes every other member, by its name. */
  readonly others?: readonly [number: number, append: Append]
}

/** Writes a document as protobuf, in one step for each path and each definition: there are hundreds
 *  of them. */
export function* openApiProtobuf(json: string): Steps<Uint8Array> {
  const out = new ByteWriter(json.length)
  for (const [name, member] of Object.entries(objectOf(JSON.parse(json)))) {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined
    if (part === undefined) {
      appendMembers(out, document, { [name]: member })
      continue
    }
    const inner = new ByteWriter(json.length)
    for (const item of Object.entries(objectOf(member))) {
      named(part.item)(inner, part.itemNumber, item)
      yield
    }
    appendVarint(out, part.number * 8 + 2)
    appendVarint(out, inner.length)
    out.append(inner.bytes, 0, inner.length)
  }
  yamlByJson.clear()
  return out.copy()
}

function appendMembers(out: ByteWriter, message: Message, value: UntypedObject): void {
  for (const [name, member] of Object.entries(value)) {
    const field = Object.hasOwn(message.fields, name) ? message.fields[name] : undefined
    if (field !== undefined) field[1](out, field[0], member)
    else if (name.startsWith('x-') && message.extensions !== undefined) {
      named(any)(out, message.extensions, [name, member])
    } else if (message.others !== undefined) {
      named(message.others[1])(out, message.others[0], [name, member])
    }
  }
}

/** Writes a field whose message `fill` writes. The length comes first but is known last, so the
 *  message is moved when its length is known. There are tens of thousands of small messages, and a
 *  writer for each would cost more. */
function appendMessage(out: ByteWriter, number: number, fill: (inner: ByteWriter) => void): void {
  appendVarint(out, number * 8 + 2)
  const start = out.length
  fill(out)
  const length = out.length - start
  const size = varintLength(length)
  out.reserve(out.length + size)
  out.bytes.copyWithin(start + size, start, start + length)
  out.length = start
  appendVarint(out, length)
  out.length = start + size + length
}

const text: Append = (out, number, value) => {
  if (typeof value === 'string') appendUtf8(out, number, value)
}

function appendUtf8(out: ByteWriter, number: number, value: string): void {
  const bytes = Buffer.from(value)
  appendVarint(out, number * 8 + 2)
  appendVarint(out, bytes.length)
  out.append(bytes)
}

const flag: Append = (out, number, value) => {
  if (value !== true) return
  appendVarint(out, number * 8)
  out.appendByte(1)
}

const count: Append = (out, number, value) => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return
  appendVarint(out, number * 8)
  appendVarint(out, value)
}

const double: Append = (out, number, value) => {
  if (typeof value !== 'number') return
  appendVarint(out, number * 8 + 1)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setFloat64(0, value, true)
  out.append(bytes)
}

/** Any {2 yaml} */
const any: Append = (out, number, value) => {
  const json = JSON.stringify(value)
  const yaml = yamlByJson.get(json) ?? yamlOf(json)
  yamlByJson.set(json, yaml)
  appendMessage(out, number, inner => appendUtf8(inner, 2, yaml))
}

/** Encoded values of the document that is being written: it repeats the same ones for each kind. */
const yamlByJson = new Map<string, string>()

/** JSON is valid YAML. */
function yamlOf(json: string): string {
  const yaml = yamlFromJson(Buffer.from(json))
  return yaml instanceof NotExact ? json : Buffer.from(yaml).toString()
}

/** Writes a pair `[name, value]`: {1 name, 2 value} */
function named(append: Append): Append {
  return (out, number, member) => {
    const [name, value] = member as readonly [string, unknown]
    appendMessage(out, number, inner => {
      appendUtf8(inner, 1, name)
      append(inner, 2, value)
    })
  }
}

function message(fields: () => Message): Append {
  return (out, number, value) =>
    appendMessage(out, number, inner => appendMembers(inner, fields(), objectOf(value)))
}

function repeated(append: Append): Append {
  return (out, number, value) => {
    for (const item of listOf(value)) append(out, number, item)
  }
}

/** A message with only this field. */
function holder(field: number, append: Append): Append {
  return (out, number, value) => appendMessage(out, number, inner => append(inner, field, value))
}

const schema = message(() => schemaMessage)

/** One name, or several. */
const type: Append = holder(1, (out, number, value) =>
  (typeof value === 'string' ? text : repeated(text))(out, number, value),
)

/** A schema, or a boolean that allows or forbids further members. */
const additional: Append = (out, number, value) =>
  appendMessage(out, number, inner => {
    if (typeof value === 'boolean') flag(inner, 2, value)
    else schema(inner, 1, value)
  })

const schemaMessage: Message = {
  fields: {
    $ref: [1, text],
    format: [2, text],
    title: [3, text],
    description: [4, text],
    default: [5, any],
    multipleOf: [6, double],
    maximum: [7, double],
    exclusiveMaximum: [8, flag],
    minimum: [9, double],
    exclusiveMinimum: [10, flag],
    maxLength: [11, count],
    minLength: [12, count],
    pattern: [13, text],
    maxItems: [14, count],
    minItems: [15, count],
    uniqueItems: [16, flag],
    maxProperties: [17, count],
    minProperties: [18, count],
    required: [19, repeated(text)],
    enum: [20, repeated(any)],
    additionalProperties: [21, additional],
    type: [22, type],
    items: [23, holder(1, schema)],
    allOf: [24, repeated(schema)],
    properties: [25, message(() => ({ fields: {}, others: [1, schema] }))],
    readOnly: [27, flag],
    example: [30, any],
  },
  extensions: 31,
}

/** A response is wrapped in a message that could hold a reference instead. */
const response = holder(
  1,
  message(() => ({
    fields: { description: [1, text], schema: [2, holder(1, schema)] },
    extensions: 5,
  })),
)

const bodyParameter = message(() => ({
  fields: {
    description: [1, text],
    name: [2, text],
    in: [3, text],
    required: [4, flag],
    schema: [5, schema],
  },
  extensions: 6,
}))

const queryParameter = message(() => ({
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [6, text],
    uniqueItems: [20, flag],
  },
  extensions: 23,
}))

const pathParameter = message(() => ({
  fields: {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [5, text],
    uniqueItems: [19, flag],
  },
  extensions: 22,
}))

/** A parameter of one of the places that upstream has; its message says which. */
const parameter: Append = (out, number, value) => {
  appendMessage(out, number, inner => {
    switch (objectOf(value)['in']) {
      case 'body':
        return bodyParameter(inner, 1, value)
      case 'query':
        return holder(3, queryParameter)(inner, 2, value)
      default:
        return holder(4, pathParameter)(inner, 2, value)
    }
  })
}

/** A parameter, or a reference to a shared one. */
const parameterItem: Append = (out, number, value) => {
  const isReference = objectOf(value)['$ref'] !== undefined
  appendMessage(out, number, inner =>
    isReference ? reference(inner, 2, value) : parameter(inner, 1, value),
  )
}

const reference = message(() => ({ fields: { $ref: [1, text] } }))

const operation = message(() => ({
  fields: {
    tags: [1, repeated(text)],
    summary: [2, text],
    description: [3, text],
    operationId: [5, text],
    produces: [6, repeated(text)],
    consumes: [7, repeated(text)],
    parameters: [8, repeated(parameterItem)],
    responses: [9, message(() => ({ fields: {}, others: [1, response] }))],
    schemes: [10, repeated(text)],
  },
  extensions: 13,
}))

const pathItem = message(() => ({
  fields: {
    get: [2, operation],
    put: [3, operation],
    post: [4, operation],
    delete: [5, operation],
    options: [6, operation],
    head: [7, operation],
    patch: [8, operation],
    parameters: [9, repeated(parameterItem)],
  },
  extensions: 10,
}))

/** The scopes that a kind of authentication needs: none. */
const requirement: Append = message(() => ({ fields: {} }))

const securityItem = holder(
  2,
  message(() => ({
    fields: { type: [1, text], name: [2, text], in: [3, text], description: [4, text] },
    extensions: 5,
  })),
)

/** A document without its `parts`. */
const document: Message = {
  fields: {
    swagger: [1, text],
    info: [2, message(() => ({ fields: { title: [1, text], version: [2, text] } }))],
    security: [12, repeated(message(() => ({ fields: {}, others: [1, requirement] })))],
    securityDefinitions: [13, message(() => ({ fields: {}, others: [1, securityItem] }))],
  },
}

/** A field of a document whose message has only items by name. */
interface Part {
  readonly number: number
  readonly itemNumber: number
  readonly item: Append
}

const parts: Readonly<Record<string, Part>> = {
  paths: { number: 8, itemNumber: 2, item: pathItem },
  definitions: { number: 9, itemNumber: 1, item: schema },
  parameters: { number: 10, itemNumber: 1, item: parameter },
}
