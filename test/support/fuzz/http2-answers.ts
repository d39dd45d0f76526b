/** The answers of a server over HTTP/2, as far as the fuzz run looks at it: the status of each
 *  response, the streams that were reset, and whether the frames are well-formed. */

import { frameTypes } from '../attacks/raw-http2.ts'

export interface Http2Answers {
  /** Statuses by stream. */
  readonly statuses: ReadonlyMap<number, string>
  readonly resets: ReadonlySet<number>
  /** The server has announced the end of the connection. */
  readonly isEnded: boolean
  /** Problem that no server may cause. */
  readonly problem: string | undefined
}

const headBytes = 9
const frameMaxBytes = 16_384

export function http2Answers(bytes: Buffer): Http2Answers {
  const statuses = new Map<number, string>()
  const resets = new Set<number>()
  let isEnded = false
  let problem: string | undefined
  for (let at = 0; at + headBytes <= bytes.length;) {
    const length = bytes.readUIntBE(at, 3)
    const type = bytes[at + 3]
    const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff
    if (length > frameMaxBytes) problem = `a frame of ${length} bytes`
    const payload = bytes.subarray(at + headBytes, at + headBytes + length)
    at += headBytes + length
    if (type === frameTypes.reset) resets.add(stream)
    else if (type === frameTypes.goaway) isEnded = true
    else if (type === frameTypes.headers && !statuses.has(stream)) {
      const status = statusOf(payload)
      // 100 Continue comes before the response.
      if (status === undefined) problem = `headers without a status: ${payload.toString('hex')}`
      else if (status !== '100') statuses.set(stream, status)
    }
  }
  return { statuses, resets, isEnded, problem }
}

/** RFC 7541, Appendix A. */
const indexed: ReadonlyMap<number, string> = new Map(
  ['200', '204', '206', '304', '400', '404', '500'].map((status, i) => [0x80 + 8 + i, status]),
)
/** A literal value of the name `:status`: with indexing, without, and never. */
const literal: ReadonlySet<number> = new Set([0x48, 0x08, 0x18])

/** The status, which comes first. The client has set the size of the dynamic table to 0. */
function statusOf(block: Buffer): string | undefined {
  let at = 0
  // An update of the size of the dynamic table.
  while ((block[at] ?? 0) >> 5 === 1) at++
  const first = block[at] ?? 0
  const known = indexed.get(first)
  if (known !== undefined || !literal.has(first)) return known
  const length = block[at + 1] ?? 0
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f))
  return length >= 0x80 ? digits(value) : value.toString('latin1')
}

/** Digits in the Huffman code (RFC 7541, Appendix B): 0 to 2 have five bits, the others six. */
function digits(bytes: Buffer): string {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  let text = ''
  for (let at = 0; at + 5 <= bits.length && text.length < 3;) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2)
    if (five <= 2) {
      text += String(five)
      at += 5
    } else {
      text += String(Number.parseInt(bits.slice(at, at + 6), 2) - 0b011001 + 3)
      at += 6
    }
  }
  return text
}
