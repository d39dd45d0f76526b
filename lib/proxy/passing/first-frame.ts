/** The first frame of a watch's response: where it ends, and which event it is. */

import { JsonMembers } from '@watchglass/codec'
import type { ServedEvent } from '@watchglass/kube'
import { wireBytes, WireReader } from '@watchglass/base'

export type CutEncoding = 'json' | 'protobuf'

/** etcd takes no value above 1.5 MiB unless it is told to; defaults and JSON make it longer. */
const frameMaxBytes = 8 * 1024 * 1024
const lineFeed = 0x0a

/** Collects the pieces of a response until there is a frame. */
export class FrameCutter {
  readonly #encoding: CutEncoding
  readonly #pieces: Buffer[] = []
  #bytes = 0

  constructor(encoding: CutEncoding) {
    this.#encoding = encoding
  }

  /** The frame, or why there will be none; undefined while it is not whole. */
  add(piece: Uint8Array): Uint8Array | string | undefined {
    const end = this.#encoding === 'json' ? piece.indexOf(lineFeed) + 1 : 0
    const before = this.#bytes
    this.#pieces.push(Buffer.from(piece))
    this.#bytes += piece.length
    if (end > 0) return Buffer.concat(this.#pieces, before + end)
    const length = this.#encoding === 'json' ? 0 : this.#length()
    if (length > frameMaxBytes || this.#bytes > frameMaxBytes) return 'the event is too large'
    if (length === 0 || this.#bytes < length) return undefined
    return Buffer.concat(this.#pieces, length)
  }

  /** The length of a frame of protobuf, which begins with that of what follows; 0 while it is not
   *  known. */
  #length(): number {
    if (this.#bytes < 4) return 0
    const head = (this.#pieces[0]?.length ?? 0) < 4 ? Buffer.concat(this.#pieces) : this.#pieces[0]
    return 4 + (head?.readUInt32BE(0) ?? 0)
  }
}

/** True if a frame is the event of that type and revision. */
export function isEventAt(
  frame: Uint8Array,
  encoding: CutEncoding,
  { type, revision }: Pick<ServedEvent, 'type' | 'revision'>,
): boolean {
  const found = encoding === 'json' ? jsonEvent(frame) : protobufEvent(frame)
  return found.type === type && found.resourceVersion === String(revision)
}

interface FoundEvent {
  readonly type: string
  readonly resourceVersion: string
}

/** A Table has the revision of its row. */
function jsonEvent(frame: Uint8Array): FoundEvent {
  const object = windowIn(frame, 'object')
  return {
    type: textIn(windowIn(frame, 'type')),
    resourceVersion: textIn(windowIn(windowIn(object, 'metadata'), 'resourceVersion')),
  }
}

function windowIn(json: Uint8Array, name: string): Uint8Array {
  const members = new JsonMembers()
  members.reset(json, 0, json.length)
  while (members.next()) {
    if (members.isObject && members.isNamed(name)) return json.subarray(members.start, members.end)
  }
  return nothing
}

function textIn(json: Uint8Array): string {
  return Buffer.from(json).toString().replaceAll('"', '')
}

/** A length, then `{1 type, 2 {1 raw}}`; in `raw`, `k8s` and a zero byte, then `{2 object}`, then
 *  `{1 metadata}`, then `{6 resourceVersion}`. */
function protobufEvent(frame: Uint8Array): FoundEvent {
  const event = frame.subarray(4)
  const envelope = fieldIn(fieldIn(event, 2), 1)
  const metadata = fieldIn(fieldIn(envelope.subarray(4), 2), 1)
  return {
    type: Buffer.from(fieldIn(event, 1)).toString(),
    resourceVersion: Buffer.from(fieldIn(metadata, 6)).toString(),
  }
}

/** The bytes of a field; none if it is not there. */
function fieldIn(message: Uint8Array, field: number): Uint8Array {
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  while (reader.nextField()) {
    const isIt = reader.field === field && reader.wire === wireBytes
    if (!reader.skip()) return nothing
    if (isIt) return message.subarray(reader.start, reader.at)
  }
  return nothing
}

const nothing = new Uint8Array(0)
