/** The events of a watch, from the pieces of its response: lines of JSON, or messages of protobuf
 *  with their length before them. */

import {
  ByteWriter,
  type CacheError,
  NotExact,
  objectOf,
  type Revision,
  textFromBytes,
  textOf,
  wireBytes,
  WireReader,
} from '@watchglass/base'
import { JsonMembers, readEnvelope } from '@watchglass/codec'
import type { Change } from '@watchglass/store'
import { SlabWriter } from '@watchglass/store'
import { type ApiAnswer, failureFromAnswer } from '../api/answers.ts'
import type { FollowedResource } from '../api/followed-resource.ts'
import { takeJson } from './json-object.ts'
import { type ObjectWindow, takeProtobuf } from './protobuf-object.ts'
import { entryOf, foundKey, malformed, revisionOf } from './stored-object.ts'

/** A frame of a watch, understood. */
export type FollowedEvent =
  | { readonly type: 'change'; readonly revision: Revision; readonly change: Change }
  | { readonly type: 'bookmark'; readonly revision: Revision }
  | { readonly type: 'error'; readonly failure: CacheError }

/** A larger frame ends the watch: etcd takes no object above 1.5 MiB unless it is told to. */
const frameMaxBytes = 32 * 1024 * 1024
const lineFeed = 0x0a

/** Cuts pieces into frames. */
export class FrameReader {
  readonly #resource: FollowedResource
  readonly #slabs = new SlabWriter()
  readonly #stored = new ByteWriter()
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(resource: FollowedResource) {
    this.#resource = resource
  }

  /** The events that are whole with this piece. Fails with `source_failed`. */
  *take(piece: Uint8Array): Generator<FollowedEvent, void, undefined> {
    this.#pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length))
    this.#bytes += piece.length
    const isJson = this.#resource.encoding === 'json'
    // One that has not ended in what was there does not begin to be looked for again.
    if (isJson && piece.indexOf(lineFeed) < 0) {
      this.#checkSize(this.#bytes)
      return
    }
    if (!isJson && this.#bytes < this.#wanted()) return
    const all = Buffer.concat(this.#pieces)
    let at = 0
    for (;;) {
      const frame = isJson ? lineAt(all, at) : messageAt(all, at)
      if (frame === undefined) break
      at = frame.next
      if (frame.end > frame.start) yield this.#event({ bytes: all, ...frame })
    }
    this.#pieces = at === all.length ? [] : [all.subarray(at)]
    this.#bytes = all.length - at
  }

  /** The bytes that the first frame takes. */
  #wanted(): number {
    if (this.#bytes < 4) return 4
    const first = this.#pieces[0] as Buffer
    if (first.length < 4) this.#pieces = [Buffer.concat(this.#pieces)]
    const length = 4 + (this.#pieces[0] as Buffer).readUInt32BE(0)
    this.#checkSize(length)
    return length
  }

  #checkSize(bytes: number): void {
    if (bytes <= frameMaxBytes) return
    throw malformed(this.#resource, `an event is above ${frameMaxBytes} bytes`)
  }

  #event(frame: ObjectWindow): FollowedEvent {
    const resource = this.#resource
    const { type, object } =
      resource.encoding === 'json' ? jsonEvent(frame) : protobufEvent(resource, frame)
    if (object === undefined) throw malformed(resource, 'an event has no object')
    if (type === 'ERROR') return { type: 'error', failure: failureFromAnswer(statusIn(object)) }
    this.#stored.clear()
    if (type === 'BOOKMARK') {
      return { type: 'bookmark', revision: bookmarkRevision(resource, object) }
    }
    const window = resource.encoding === 'json' ? object : messageOf(resource, object)
    const take = resource.encoding === 'json' ? takeJson : takeProtobuf
    const found = take(resource, window, this.#stored)
    const { revision } = found
    if (type === 'DELETED') {
      return {
        type: 'change',
        revision,
        change: { type: 'delete', key: foundKey(resource, found) },
      }
    }
    if (type !== 'ADDED' && type !== 'MODIFIED') {
      throw malformed(resource, `an event has the type "${type.slice(0, 32)}"`)
    }
    const stored = this.#stored.bytes.subarray(0, this.#stored.length)
    const entry = entryOf(resource, found, { stored, slabs: this.#slabs })
    return { type: 'change', revision, change: { type: 'put', entry } }
  }
}

/** A frame from `start` to `end`, and where the next one begins. */
interface Frame {
  readonly start: number
  readonly end: number
  readonly next: number
}

function lineAt(bytes: Buffer, start: number): Frame | undefined {
  const end = bytes.indexOf(lineFeed, start)
  return end < 0 ? undefined : { start, end, next: end + 1 }
}

function messageAt(bytes: Buffer, at: number): Frame | undefined {
  if (bytes.length - at < 4) return undefined
  const start = at + 4
  const end = start + bytes.readUInt32BE(at)
  return end > bytes.length ? undefined : { start, end, next: end }
}

interface ReadEvent {
  readonly type: string
  readonly object: ObjectWindow | undefined
}

function jsonEvent({ bytes, start, end }: ObjectWindow): ReadEvent {
  const members = new JsonMembers()
  let type = ''
  let object: ObjectWindow | undefined
  members.reset(bytes, start, end)
  while (members.next()) {
    if (members.isNamed('type')) type = textFromBytes(bytes, members.start + 1, members.end - 1)
    else if (members.isNamed('object')) object = { bytes, start: members.start, end: members.end }
  }
  return { type, object: members.isMalformed ? undefined : object }
}

/** `{1 type, 2 {1 raw}}` */
function protobufEvent(resource: FollowedResource, frame: ObjectWindow): ReadEvent {
  const { bytes } = frame
  const type = fieldIn(frame, 1)
  const extension = fieldIn(frame, 2)
  if (type === undefined) throw malformed(resource, 'an event is malformed')
  return {
    type: textFromBytes(bytes, type.start, type.end),
    object: extension && fieldIn(extension, 1),
  }
}

/** The field that holds bytes; undefined if it is not there. */
function fieldIn({ bytes, start, end }: ObjectWindow, field: number): ObjectWindow | undefined {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  while (reader.nextField()) {
    const isIt = reader.field === field && reader.wire === wireBytes
    if (!reader.skip()) return undefined
    if (isIt) return { bytes, start: reader.start, end: reader.at }
  }
  return undefined
}

/** The object's message in its envelope. */
function messageOf(resource: FollowedResource, { bytes, start, end }: ObjectWindow): ObjectWindow {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) throw malformed(resource, envelope.reason)
  return { bytes, start: envelope.rawStart, end: envelope.rawEnd }
}

/** A bookmark's object has nothing but its kind and its resourceVersion. */
function bookmarkRevision(resource: FollowedResource, object: ObjectWindow): Revision {
  if (resource.encoding === 'json') {
    const { bytes, start, end } = object
    const metadata = objectOf(objectOf(parsedJson(bytes, start, end))['metadata'])
    return revisionOf(textOf(metadata['resourceVersion']), resource)
  }
  const metadata = fieldIn(messageOf(resource, object), 1)
  const version = metadata && fieldIn(metadata, 6)
  if (version === undefined) throw malformed(resource, 'a bookmark has no resourceVersion')
  return revisionOf(textFromBytes(version.bytes, version.start, version.end), resource)
}

/** The Status of an error event. */
function statusIn({ bytes, start, end }: ObjectWindow): ApiAnswer {
  return { code: 0, headers: {}, body: bytes.subarray(start, end) }
}

function parsedJson(bytes: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString())
  } catch {
    return undefined
  }
}
