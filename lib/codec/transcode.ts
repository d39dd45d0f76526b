/** Stored protobuf to JSON and back, from bytes to bytes, without a tree of objects between: the plain conversion, as Go's own
 *  encoders do it (FORMAT.md). What the API serves is `view`. */

import { ByteWriter } from './byte-writer.ts'
import { type Envelope, readEnvelope } from './envelope.ts'
import { NotExact } from './not-exact.ts'
import { type Kind, findKind } from './schema.ts'
import { Decoders } from './transcode/decoders.ts'
import { Conversion, GiveUp } from './transcode/state.ts'

const decoders = new Decoders()
const conversion = new Conversion(0)

/** Appends the JSON of the protobuf value `bytes[start..end)`, which has an envelope, with a newline at its end as the API server
 *  writes it. When that cannot be done exactly, nothing is appended, and the reason is returned. */
export function appendJson(
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
): NotExact | undefined {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  const kind = kindOf(envelope)
  if (kind === undefined) return new NotExact('no schema of the kind in the envelope')
  if (!kind.type.hasProtobuf) return new NotExact(`${kind.kind} has no protobuf form`)
  const write = decoders.writerOf(kind.type, { shape: 'members' })
  conversion.borrow(out, bytes)
  const from = conversion.length
  try {
    if (kind.type.hasTypeMeta) {
      conversion.appendAscii(`,"kind":"${kind.kind}","apiVersion":"${kind.apiVersion}"`)
    }
    conversion.length = write(conversion, envelope.rawStart, envelope.rawEnd, conversion.length)
    if (conversion.length === from) conversion.appendAscii('{')
    else conversion.bytes[from] = 0x7b
    conversion.appendAscii('}\n')
    out.length = conversion.length
    return undefined
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return new NotExact(error.reason)
  } finally {
    conversion.giveBack(out)
  }
}

/** The JSON as an array of its own, or the reason why there is none. */
export function jsonFromProtobuf(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): Uint8Array | NotExact {
  scratch.clear()
  return appendJson(scratch, bytes, start, end) ?? scratch.copy()
}

/** The kind that the envelope names. The one message that is written without a name is a watch event. */
function kindOf({ apiVersion, kind }: Envelope): Kind | undefined {
  return apiVersion === '' && kind === ''
    ? findKind('meta.k8s.io/v1', 'WatchEvent')
    : findKind(apiVersion, kind)
}

const scratch = new ByteWriter()
