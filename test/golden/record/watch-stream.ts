/** One watch from its request to its end, divided into the frames in which it came. */

import type { IncomingMessage } from 'node:http'
import type { Headers, RecordedFrame, RecordedWatch } from '../load.ts'
import { keptHeaders, open, type Sender, type Sent } from './send.ts'

/** Longer than any watch that is asked for. */
const closeAfterDefaultMs = 60_000

export interface WatchResult {
  readonly status: number
  readonly headers: Headers
  readonly frames: readonly RecordedFrame[]
  /** Everything that came. */
  readonly bytes: Buffer
  readonly endedBy: RecordedWatch['ended_by']
  readonly sent: Headers
  readonly endMs: number
}

/** Resolves when the server has ended the stream, or after `closeAfterMs`. */
export function watchStream(
  server: Sender,
  question: Sent,
  closeAfterMs: number = closeAfterDefaultMs,
): Promise<WatchResult> {
  const beginMs = Date.now()
  return new Promise((resolve, reject) => {
    const { request, headers: sent } = open(server, question, false)
    let isDone = false
    request.on('error', error => isDone || reject(error))
    request.on('response', response => {
      const frames: RecordedFrame[] = []
      const chunks: Buffer[] = []
      const endOf = frameEnds(response)
      let rest: Buffer = Buffer.alloc(0)
      const finish = (endedBy: WatchResult['endedBy']): void => {
        if (isDone) return
        isDone = true
        clearTimeout(leaving)
        const status = response.statusCode ?? 0
        const headers = keptHeaders(response)
        const bytes = Buffer.concat(chunks)
        resolve({ status, headers, frames, bytes, endedBy, sent, endMs: Date.now() })
        request.destroy()
      }
      const leaving = setTimeout(() => finish('client-closed'), closeAfterMs)
      response.on('error', error => isDone || reject(error))
      response.on('end', () => finish('server-eof'))
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (response.statusCode !== 200) return
        rest = Buffer.concat([rest, chunk])
        for (let end = endOf(rest); end > 0; end = endOf(rest)) {
          frames.push({ offset_ms: Date.now() - beginMs, ...frameOf(rest.subarray(0, end)) })
          rest = rest.subarray(end)
        }
      })
    })
    request.end()
  })
}

/** Says of bytes where their first frame ends; 0 while it is not whole. */
function frameEnds(response: IncomingMessage): (bytes: Buffer) => number {
  const type = response.headers['content-type'] ?? ''
  if (type.includes('protobuf')) {
    return bytes => {
      const end = bytes.length < 4 ? Infinity : 4 + bytes.readUInt32BE(0)
      return end <= bytes.length ? end : 0
    }
  }
  if (!type.includes('yaml')) return bytes => bytes.indexOf(0x0a) + 1
  return bytes => {
    const at = bytes.indexOf('---\n')
    return at < 0 ? 0 : at + 4
  }
}

function frameOf(bytes: Buffer): Pick<RecordedFrame, 'raw' | 'raw_base64'> {
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text, 'utf8').equals(bytes) && !text.includes('\0')
  return isText ? { raw: text } : { raw_base64: bytes.toString('base64') }
}
