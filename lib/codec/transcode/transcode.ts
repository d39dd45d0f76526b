/** Stored protobuf to JSON and back, from bytes to bytes, without a tree of objects between: the
 *  plain conversion, as Go's own encoders do it (FORMAT.md). What the API serves is `view`. */

import { ByteWriter, GiveUp, NotExact } from '@watchglass/base'
import {
  type Envelope,
  type KindName,
  appendEnvelope,
  readEnvelope,
  hasEnvelope,
} from './envelope.ts'
import { type Kind, type MessageType, type Schema, perSchema, schemaOf } from '../schema/schema.ts'
import type { StoredValue } from '../stored-value.ts'
import { encoderOf, rootText } from './encode/encoders.ts'
import { EncodeState } from './encode/state.ts'
import { jsonObject } from '@watchglass/go'
import { Decoders } from './decode/decoders.ts'
import { appendObject } from './decode/objects.ts'

const decodersOf = perSchema(() => new Decoders())
const encoding = new EncodeState()

/** Appends the JSON of the protobuf value `bytes[start..end)`, which has an envelope, with a
 *  newline at its end as the API server writes it. When that cannot be done exactly, nothing is
 *  appended, and the reason is returned. */
export function appendJson(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  schema: Schema,
): NotExact | undefined {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  const kind = kindOf(schema, envelope)
  if (kind === undefined) return new NotExact('no schema of the kind in the envelope')
  const { type } = kind
  if (!type.hasProtobuf) return new NotExact(`${kind.kind} has no protobuf form`)
  return appendObject(
    out,
    { bytes, start: envelope.rawStart, end: envelope.rawEnd, type },
    {
      write: decodersOf(schema).writerOf(type, { output: 'members' }),
      header: type.hasTypeMeta ? `,"kind":"${kind.kind}","apiVersion":"${kind.apiVersion}"` : '',
      trailer: '}\n',
      resourceVersion: '',
    },
  )
}

/** The JSON of the message in an envelope as one of that type, whatever kind the envelope names. */
export function jsonFromEnvelope(
  bytes: Uint8Array,
  { rawStart, rawEnd }: Envelope,
  type: MessageType,
): Uint8Array | NotExact {
  scratch.clear()
  const problem = appendObject(
    scratch,
    { bytes, start: rawStart, end: rawEnd, type },
    {
      write: decodersOf(type.schema).writerOf(type, { output: 'members' }),
      header: '',
      trailer: '}',
      resourceVersion: '',
    },
  )
  return problem ?? scratch.copy()
}

/** The JSON as an array of its own, or the reason why there is none. */
export function jsonFromProtobuf(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
  schema: Schema = schemaOf(),
): Uint8Array | NotExact {
  scratch.clear()
  return appendJson(scratch, { bytes, start, end }, schema) ?? scratch.copy()
}

/** Appends the protobuf form, in its envelope, of the JSON text `bytes[start..end)`, of which
 *  `kind` and `apiVersion` say what it is. When that cannot be done exactly, nothing is appended,
 *  and the reason is returned. */
export function appendProtobuf(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  schema: Schema,
): NotExact | undefined {
  encoding.clear()
  encoding.slotCount = 0
  encoding.depth = 0
  let isNameless = false
  try {
    encoding.tape.parse(bytes, start, end)
    if (encoding.tape.kind(0) !== jsonObject) return new NotExact('JSON is not an object')
    const apiVersion = rootText(encoding, 'apiVersion')
    const name = rootText(encoding, 'kind')
    isNameless = apiVersion === '' && name === ''
    const kind = kindOf(schema, { apiVersion, kind: name })
    if (kind === undefined) {
      return new NotExact(
        name === '' || apiVersion === '' ? namelessReason : 'no schema of the kind of the object',
      )
    }
    if (!kind.type.hasProtobuf) return new NotExact(`${kind.kind} has no protobuf form`)
    encoderOf(kind.type)(encoding, 0)
    appendEnvelope(out, { apiVersion, kind: name }, encoding)
    return undefined
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return new NotExact(isNameless ? namelessReason : error.reason)
  }
}

const namelessReason = 'object has no kind or no apiVersion'

/** The protobuf form as an array of its own, or the reason why there is none. */
export function protobufFromJson(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
  schema: Schema = schemaOf(),
): Uint8Array | NotExact {
  scratch.clear()
  return appendProtobuf(scratch, { bytes, start, end }, schema) ?? scratch.copy()
}

/** The kind that the envelope names. The one message that is written without a name is a watch
 *  event. */
function kindOf(schema: Schema, { apiVersion, kind }: KindName): Kind | undefined {
  return apiVersion === '' && kind === ''
    ? schema.findKind('meta.k8s.io/v1', 'WatchEvent')
    : schema.findKind(apiVersion, kind)
}

const scratch = new ByteWriter()

/** The JSON of a stored value, without a newline at its end: protobuf is converted as it is, JSON
 *  stays as it is. */
export function jsonFromStored(value: Uint8Array): Uint8Array | NotExact {
  if (hasEnvelope(value, 0, value.length)) {
    const json = jsonFromProtobuf(value)
    return json instanceof NotExact ? json : withoutNewline(json)
  }
  const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString()
  if (text.startsWith(encryptedPrefix)) return new NotExact('value is encrypted')
  try {
    JSON.parse(text)
  } catch {
    return new NotExact('value is neither Kubernetes protobuf nor JSON')
  }
  return withoutNewline(value)
}

/** The prefix of everything that kube-apiserver encrypts. */
const encryptedPrefix = 'k8s:enc:'

function withoutNewline(json: Uint8Array): Uint8Array {
  return json.at(-1) === 0x0a ? json.subarray(0, -1) : json
}
