/** The frames of HTTP/2 (RFC 9113, section 4) that a client needs for short calls. */

export const frameType = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const

export const flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
const headBytes = 9
/** Nobody may send longer ones to who has not allowed it. */
const payloadMaxBytes = 16 * 1024

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** Writes the head of a frame, and returns where its payload begins. */
export function writeHead(
  to: Buffer,
  at: number,
  { type, flags, stream, length }: Omit<Frame, 'payload'> & { readonly length: number },
): number {
  to.writeUIntBE(length, at, 3)
  to[at + 3] = type
  to[at + 4] = flags
  to.writeUInt32BE(stream, at + 5)
  return at + headBytes
}

export function frameOf({ payload, ...head }: Frame): Buffer {
  const bytes = Buffer.allocUnsafe(headBytes + payload.length)
  payload.copy(bytes, writeHead(bytes, 0, { ...head, length: payload.length }))
  return bytes
}

const setting = { headerTableBytes: 1, enablePush: 2, initialWindowBytes: 4 }

/** The first bytes of a connection. No header may be named by what an earlier one was: the server
 *  has applied that before it answers the first request. */
export function opening(): Buffer {
  const pairs = [
    [setting.headerTableBytes, 0],
    [setting.enablePush, 0],
  ] as const
  const payload = Buffer.alloc(6 * pairs.length)
  for (const [i, [name, value]] of pairs.entries()) {
    payload.writeUInt16BE(name, 6 * i)
    payload.writeUInt32BE(value, 6 * i + 2)
  }
  return Buffer.concat([
    preface,
    frameOf({ type: frameType.settings, flags: 0, stream: 0, payload }),
  ])
}

/** The settings of a server that concern a client who sends little. */
export interface ServerSettings {
  /** Undefined if it stays what it was. */
  readonly initialWindowBytes: number | undefined
}

export function readSettings(payload: Buffer): ServerSettings {
  let initialWindowBytes: number | undefined
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    if (payload.readUInt16BE(at) === setting.initialWindowBytes) {
      initialWindowBytes = payload.readUInt32BE(at + 2)
    }
  }
  return { initialWindowBytes }
}

/** The payload without its padding; undefined if it has more padding than bytes. */
export function withoutPadding({ flags, payload }: Frame): Buffer | undefined {
  if ((flags & flag.padded) === 0) return payload
  const end = payload.length - (payload[0] ?? 0)
  return end < 1 ? undefined : payload.subarray(1, end)
}

/** Finds the frames in bytes as they come. */
export class FrameReader {
  #rest: Buffer | undefined = undefined

  /** Calls for each frame that is complete. False if one is longer than any may be: nothing can be
   *  read after it. */
  read(bytes: Buffer, onFrame: (frame: Frame) => void): boolean {
    const all = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    let at = 0
    while (all.length - at >= headBytes) {
      const length = all.readUIntBE(at, 3)
      if (length > payloadMaxBytes) return false
      const end = at + headBytes + length
      if (end > all.length) break
      onFrame({
        type: all[at + 3]!,
        flags: all[at + 4]!,
        stream: all.readUInt32BE(at + 5) & 0x7fff_ffff,
        payload: all.subarray(at + headBytes, end),
      })
      at = end
    }
    this.#rest = at === all.length ? undefined : all.subarray(at)
    return true
  }
}
