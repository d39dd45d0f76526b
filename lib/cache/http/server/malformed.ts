/** The answers to bytes that are no request of HTTP/1.1. */

import type { Duplex } from 'node:stream'
import type { Clock } from '@watchglass/base'
import { headersMaxBytes } from '@watchglass/etcd'
import { partWith } from './parting.ts'

/** The answer to a request with too many or too long headers. */
export const tooLongHeaders: string = `request headers are above ${headersMaxBytes} bytes`

/** Answers what is not HTTP, or has too many or too long headers, and closes the connection. */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  clock: Pick<Clock, 'setTimer'>,
): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
  const [status, reason] = isTooLarge
    ? [431, 'Request Header Fields Too Large']
    : [400, 'Bad Request']
  const body = isTooLarge ? tooLongHeaders : 'not a well-formed HTTP/1.1 request'
  const head = `HTTP/1.1 ${status} ${reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`
  socket.write(head + body)
  partWith(socket, clock)
}
