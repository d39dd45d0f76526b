/** The frames of HTTP/2 (RFC 9113, section 6). */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const

export const errorCode = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const

export const setting = {
  headerTableBytes: 1,
  enablePush: 2,
  streamsMax: 3,
  initialWindowBytes: 4,
  frameMaxBytes: 5,
  headerListMaxBytes: 6,
} as const

export const headBytes = 9
/** The longest frame of whoever has not said otherwise. */
export const usualPayloadMaxBytes: number = 16 * 1024
export const usualWindowBytes = 65_535
export const windowMaxBytes: number = 2 ** 31 - 1
export const preface: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

const { fromCharCode } = String

/** The head of a frame, with one character for each byte. */
export function frameHead(length: number, type: number, flags: number, stream: number): string {
  return fromCharCode(
    length >>> 16,
    (length >>> 8) & 0xff,
    length & 0xff,
    type,
    flags,
    stream >>> 24,
    (stream >>> 16) & 0xff,
    (stream >>> 8) & 0xff,
    stream & 0xff,
  )
}

export function uint32(value: number): string {
  return fromCharCode(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)
}

export function resetFrame(stream: number, code: number): string {
  return frameHead(4, frameType.reset, 0, stream) + uint32(code)
}

export function windowFrame(stream: number, bytes: number): string {
  return frameHead(4, frameType.windowUpdate, 0, stream) + uint32(bytes)
}

/** `reason` is for whoever reads the log of the other side. */
export function goAwayFrame(lastStream: number, code: number, reason = ''): string {
  const head = frameHead(8 + reason.length, frameType.goAway, 0, 0)
  return head + uint32(lastStream) + uint32(code) + reason
}

export function settingsFrame(values: Readonly<Record<number, number>>): string {
  let payload = ''
  for (const [name, value] of Object.entries(values)) {
    payload += fromCharCode(0, Number(name)) + uint32(value)
  }
  return frameHead(payload.length, frameType.settings, 0, 0) + payload
}

export const settingsAck: string = frameHead(0, frameType.settings, flag.ack, 0)

/** A header block, in as many frames as it needs. */
export function headerFrames(
  stream: number,
  block: string,
  { isLast, payloadMax }: { readonly isLast: boolean; readonly payloadMax: number },
): string {
  const end = isLast ? flag.endStream : 0
  if (block.length <= payloadMax) {
    return frameHead(block.length, frameType.headers, flag.endHeaders | end, stream) + block
  }
  let frames = ''
  for (let at = 0; at < block.length; at += payloadMax) {
    const part = block.slice(at, at + payloadMax)
    const flags = at + payloadMax >= block.length ? flag.endHeaders : 0
    const type = at === 0 ? frameType.headers : frameType.continuation
    frames += frameHead(part.length, type, flags | (at === 0 ? end : 0), stream) + part
  }
  return frames
}

/** A frame in the bytes that have come. There is one object for each connection. */
export interface Frame {
  type: number
  flags: number
  stream: number
  bytes: Buffer
  /** The payload is here. */
  from: number
  to: number
}

export function emptyFrame(): Frame {
  return { type: 0, flags: 0, stream: 0, bytes: preface, from: 0, to: 0 }
}

/** Reads the frame that begins at `at`, and gives where the next one begins: 0 if it is not here
 *  whole, and -1 if it is longer than any may be, after which nothing can be read. */
export function readFrame(frame: Frame, bytes: Buffer, at: number): number {
  if (bytes.length - at < headBytes) return 0
  const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  if (length > usualPayloadMaxBytes) return -1
  const end = at + headBytes + length
  if (end > bytes.length) return 0
  frame.type = bytes[at + 3]!
  frame.flags = bytes[at + 4]!
  frame.stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
  frame.bytes = bytes
  frame.from = at + headBytes
  frame.to = end
  return end
}

/** The length of the frame of data without padding that begins at `at` and is not here whole, with
 *  its head in `frame`; 0 if none does. */
export function dataBegun(frame: Frame, bytes: Buffer, at: number): number {
  if (bytes.length - at <= headBytes || bytes[at + 3] !== frameType.data) return 0
  frame.flags = bytes[at + 4]!
  frame.stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
  return (frame.flags & flag.padded) === 0 ? bytes.readUIntBE(at, 3) : 0
}

/** Leaves padding out of the payload. False if there is more of it than there are bytes. */
export function cutPadding(frame: Frame): boolean {
  if ((frame.flags & flag.padded) === 0) return true
  if (frame.from >= frame.to) return false
  frame.to -= frame.bytes[frame.from]!
  frame.from++
  return frame.from <= frame.to
}
