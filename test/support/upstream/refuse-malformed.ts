/** Answers what Node's parser refuses as Go's server does: a method that is a token reaches the
 *  handler, which does not allow it; everything else is a bad request. */

import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** As Go has it. */
export const headersMaxBytes: number = 1024 * 1024

export function refuseMalformed(
  error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer },
  socket: Duplex,
): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const code = codeOf(error)
  const body = `${code} ${STATUS_CODES[code]}`
  const head = [
    `HTTP/1.1 ${body}`,
    'content-type: text/plain; charset=utf-8',
    `content-length: ${body.length}`,
    'connection: close',
  ]
  // What the client is still sending is read, since a reset could overtake the answer.
  socket.resume()
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** A request line that Go takes. */
const line = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ \S+ HTTP\/1\.[01]\r\n/

function codeOf({ code, rawPacket }: Parameters<typeof refuseMalformed>[0]): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431
  const isMethod = code === 'HPE_INVALID_METHOD' && line.test(String(rawPacket?.toString('latin1')))
  return isMethod ? 405 : 400
}
