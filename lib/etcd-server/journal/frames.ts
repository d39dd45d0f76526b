/** The bytes of the files of a data folder: a header, then frames.
 *
 *      header:  "WGstate\n"  format u32  kind u8  number u48  mark 8 bytes  crc u32
 *      frame:   mark 8 bytes  length u32  crc u32  payload
 *
 *  A frame is all that was appended at once, so an append that was cut off is one frame that is not
 *  whole, and the last one. The mark is random, of the file, and known to nobody outside: no stored
 *  value can look like a frame, so whatever looks like one behind damage is one, and the damage is
 *  not a torn end. Numbers are little-endian. No I/O. */

import { crc32 } from 'node:zlib'
import { CacheError } from '@watchglass/base'

/** The layout that is written and read here. Another one gets another number. */
export const formatVersion = 1

export type FileKind = 'log' | 'snapshot'

export interface FileHeader {
  readonly kind: FileKind
  /** The number in the name of the file. */
  readonly number: number
  readonly mark: Buffer
}

export const headerBytes = 31
export const markBytes = 8
/** Bytes of a frame before its payload. */
export const frameHeadBytes: number = markBytes + 8

const magic = Buffer.from('WGstate\n', 'latin1')
const kinds: readonly FileKind[] = ['log', 'snapshot']

export function encodeHeader({ kind, number, mark }: FileHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  magic.copy(bytes)
  bytes.writeUInt32LE(formatVersion, 8)
  bytes.writeUInt8(kinds.indexOf(kind), 12)
  bytes.writeUIntLE(number, 13, 6)
  mark.copy(bytes, 19)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 27)), 27)
  return bytes
}

/** Reads a header; refuses what is none, and other formats before anything else of them. */
export function decodeHeader(bytes: Buffer): FileHeader {
  if (!bytes.subarray(0, 8).equals(magic)) {
    throw invalid('is not a file of watchglass: it was damaged, or put there by something else')
  }
  if (bytes.length >= 12 && bytes.readUInt32LE(8) !== formatVersion) {
    throw invalid(
      `is of format ${bytes.readUInt32LE(8)}, and this version of watchglass reads format ${formatVersion}: start the version that wrote it`,
    )
  }
  const kind = bytes.length < headerBytes ? undefined : kinds[bytes.readUInt8(12)]
  if (kind === undefined || bytes.readUInt32LE(27) !== crc32(bytes.subarray(0, 27))) {
    throw invalid('has a damaged header')
  }
  return { kind, number: bytes.readUIntLE(13, 6), mark: Buffer.from(bytes.subarray(19, 27)) }
}

/** The frame of a payload. */
export function encodeFrame(mark: Buffer, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(frameHeadBytes + payload.length)
  mark.copy(frame)
  frame.writeUInt32LE(payload.length, markBytes)
  frame.set(payload, frameHeadBytes)
  frame.writeUInt32LE(checksum(frame, payload.length), markBytes + 4)
  return frame
}

/** The length of the payload of a frame whose head is in `bytes`; undefined when that is no
 *  head. */
export function payloadLength(mark: Buffer, bytes: Buffer): number | undefined {
  if (bytes.length < frameHeadBytes || !bytes.subarray(0, markBytes).equals(mark)) return undefined
  return bytes.readUInt32LE(markBytes)
}

/** The payload of a whole frame; undefined if the checksum is wrong. */
export function decodeFrame(frame: Buffer): Buffer | undefined {
  const payload = frame.subarray(frameHeadBytes)
  if (frame.readUInt32LE(markBytes + 4) !== checksum(frame, payload.length)) return undefined
  return payload
}

/** The checksum of mark, length and payload. */
function checksum(frame: Buffer, length: number): number {
  const head = crc32(frame.subarray(0, markBytes + 4))
  return crc32(frame.subarray(frameHeadBytes, frameHeadBytes + length), head)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
