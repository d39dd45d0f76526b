/** Frames of HTTP/2, of WebSockets and of SPDY, in any order and with any flags: mostly ones that
 *  could be, of streams that are open, ended, or were never there. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { frame, frameTypes, headerBlock, settings } from '../attacks/raw-http2.ts'
import { controlFrame, dataFrame, type HeaderBlocks, openFrame } from '../http/spdy-client.ts'
import { maskedFrame } from '../http/stream-wire.ts'

const someFlags = [0, 1, 4, 5, 8, 9, 12, 32, 37, 0x2d, 0xff]
const someNumbers = [0, 1, 8, 255, 16_384, 65_535, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]

type Line = readonly [string, string]
const request: readonly Line[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', '/etcdserverpb.KV/Range'],
  ['content-type', 'application/grpc'],
]
const oddLines: readonly Line[] = [
  [':path', '/other'],
  [':status', '200'],
  ['content-length', '5'],
  ['content-length', '0'],
  ['Upper', 'case'],
  ['te', 'trailers'],
  ['connection', 'close'],
  ['x', 'y'.repeat(20_000)],
  ['x\0', 'y'],
  ['', ''],
]

/** The payload of a frame of this type. */
function payloadOf(random: Random, type: number): Buffer {
  const number = (): Buffer => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(randomItem(random, someNumbers))
    return bytes
  }
  switch (type) {
    case frameTypes.headers:
    case frameTypes.continuation: {
      const odd = Array.from({ length: randomInt(random, 0, 2) }, () =>
        randomItem(random, oddLines),
      )
      const lines = random.next() < 0.8 ? [...request, ...odd] : odd
      return headerBlock(lines).subarray(
        0,
        random.next() < 0.9 ? undefined : randomInt(random, 0, 60),
      )
    }
    case frameTypes.settings:
      return settings([randomInt(random, 0, 8), randomItem(random, someNumbers)]).subarray(9)
    case frameTypes.window:
    case frameTypes.reset:
      return number()
    case frameTypes.ping:
    case frameTypes.goaway:
      return Buffer.concat([number(), number()])
    case frameTypes.priority:
      return Buffer.concat([number(), Buffer.of(randomInt(random, 0, 255))])
    default:
      return Buffer.alloc(randomItem(random, [0, 1, 5, 300, 16_000]))
  }
}

/** A frame of HTTP/2 in a connection that has opened streams up to `last`. */
export function oddHttp2Frame(random: Random, last: number): Buffer {
  if (last < 1 || random.next() < 0.7) return usualHttp2Frame(random, last)
  const type = random.next() < 0.4 ? frameTypes.headers : randomInt(random, 0, 10)
  const isNew = type === frameTypes.headers && random.next() < 0.7
  const stream = isNew ? last + 2 : randomItem(random, [0, last, last, last, 1, last - 2, last + 1])
  const flags = random.next() < 0.7 ? randomItem(random, [4, 5]) : randomItem(random, someFlags)
  const payload = payloadOf(random, type)
  const isWhole = random.next() < 0.95
  const part = isWhole ? payload : payload.subarray(0, randomInt(random, 0, payload.length))
  return frame(type, flags, Math.max(0, stream), part.subarray(0, 16_384))
}

/** A request that ends or goes on, a part of its body, a window or a reset. */
function usualHttp2Frame(random: Random, last: number): Buffer {
  const end = randomInt(random, 0, 1)
  const four = Buffer.of(0, 0, 0, randomInt(random, 0, 9))
  const kind = last < 1 ? 0 : randomInt(random, 0, 5)
  if (kind === 1) return frame(frameTypes.data, end, last, Buffer.alloc(randomInt(random, 0, 900)))
  if (kind === 2) return frame(frameTypes.window, 0, last, four)
  if (kind === 3) return frame(frameTypes.reset, 0, last, four)
  return frame(frameTypes.headers, 4 + end, last + 2, headerBlock(request))
}

/** A frame of a WebSocket; of the messages, some have frames of SPDY. */
export function oddWebSocketFrame(random: Random, message: Buffer): Buffer {
  const opcode = random.next() < 0.6 ? 2 : randomItem(random, [0, 1, 2, 8, 9, 10, 3, 11, 15])
  const payload =
    random.next() < 0.7 ? message : Buffer.alloc(randomItem(random, [0, 1, 125, 126, 70_000]))
  const bytes = maskedFrame(opcode, payload, random.next() < 0.8)
  if (random.next() < 0.05) bytes[0] = randomInt(random, 0, 255)
  if (random.next() < 0.05) bytes[1] = randomInt(random, 0, 255)
  return bytes
}

/** A frame of SPDY in a connection that has opened streams up to `last`. */
export async function oddSpdyFrame(
  random: Random,
  blocks: HeaderBlocks,
  last: number,
): Promise<Buffer> {
  const stream = (random.next() < 0.8 ? last + 2 : randomItem(random, [last, 1, 0])) % 256
  const flags = random.next() < 0.8 ? 0 : randomInt(random, 0, 3)
  if (random.next() < 0.3) {
    const text = 'x'.repeat(randomItem(random, [0, 1, 9_000]))
    return dataFrame(stream, text, flags)
  }
  if (random.next() < 0.5) {
    const odd = randomItem(random, ['stdin', 'stdout', '__proto__'])
    const streamtype = random.next() < 0.2 ? odd : last % 4 === 1 ? 'data' : 'error'
    const requestid = String(randomInt(random, 0, 1))
    const block = await blocks.block({
      streamtype,
      port: randomItem(random, ['80', '81']),
      requestid,
    })
    return openFrame(stream, block, flags)
  }
  const payload = Buffer.alloc(randomItem(random, [0, 4, 4, 5, 8, 100]), randomInt(random, 0, 3))
  return controlFrame(randomInt(random, 0, 9), payload, flags)
}
