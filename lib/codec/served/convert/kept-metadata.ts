/** An object that went by way of JSON, with the metadata that is stored: raw JSON in it, and times
 *  that are there and zero, do not survive that way. Conversions and defaults change no more of it
 *  than labels and annotations. */

import { appendVarint, ByteWriter, NotExact, wireBytes, WireReader } from '@watchglass/base'
import { findMetadata, readEnvelope } from '../../transcode/envelope.ts'
import type { StoredValue } from '../../stored-value.ts'

/** The field numbers in ObjectMeta: one behind the other. */
const [labels, annotations] = [11, 12]

/** The message of `converted`, whose metadata becomes that of `stored` with its own labels and
 *  annotations. Both have an envelope, and their metadata first. */
export function messageWithStoredMetadata(
  converted: StoredValue,
  stored: StoredValue,
): ByteWriter | NotExact {
  const [made, kept] = [metadataOf(converted), metadataOf(stored)]
  if (made instanceof NotExact) return made
  if (kept instanceof NotExact) return kept
  const metadata = new ByteWriter(kept.end - kept.start + (made.end - made.start))
  const keptFields = fieldsOf(kept)
  const before = keptFields.filter(({ number }) => number < labels)
  const behind = keptFields.filter(({ number }) => number > annotations)
  const own = fieldsOf(made).filter(({ number }) => number === labels || number === annotations)
  for (const { from, to } of before) metadata.append(kept.bytes, from, to)
  for (const { from, to } of own) metadata.append(made.bytes, from, to)
  for (const { from, to } of behind) metadata.append(kept.bytes, from, to)
  const message = new ByteWriter(metadata.length + converted.end - converted.start)
  appendVarint(message, 8 + wireBytes)
  appendVarint(message, metadata.length)
  message.append(metadata.bytes, 0, metadata.length)
  message.append(made.bytes, made.end, made.messageEnd)
  return message
}

interface Metadata extends StoredValue {
  /** End of the object's message. */
  readonly messageEnd: number
}

function metadataOf({ bytes, start, end }: StoredValue): Metadata | NotExact {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  const found = findMetadata(bytes, envelope.rawStart, envelope.rawEnd)
  return found instanceof NotExact ? found : { ...found, messageEnd: envelope.rawEnd }
}

interface FoundField {
  readonly number: number
  /** With its tag. */
  readonly from: number
  readonly to: number
}

function fieldsOf({ bytes, start, end }: StoredValue): FoundField[] {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  const fields: FoundField[] = []
  for (let from = reader.at; reader.nextField(); from = reader.at) {
    const number = reader.field
    reader.skip()
    fields.push({ number, from, to: reader.at })
  }
  return fields
}
