/** `/echo`: streams the head and body of the request back, byte for byte, with trailers if
 *  `?trailers` asks for some. */

import type * as http from 'node:http'
import type { SeenRequest } from './answers.ts'

/** Answers with the request's body. `?status=`, `?gzip` (says that the body is compressed) and
 *  `?trailers` change the answer. */
export async function answerEcho(
  seen: SeenRequest,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const { searchParams } = new URL(seen.url, 'http://upstream')
  const status = Number(searchParams.get('status') ?? '200')
  response.writeHead(status, {
    'x-method': seen.method,
    'x-url': Buffer.from(seen.url, 'latin1').toString('base64'),
    'x-headers': Buffer.from(JSON.stringify(seen.rawHeaders)).toString('base64'),
    'set-cookie': ['a=1', 'b=2'],
    connection: 'x-hop',
    'x-hop': 'secret',
    ...(searchParams.has('gzip') ? { 'content-encoding': 'gzip' } : {}),
    ...(searchParams.has('trailers') ? { trailer: 'x-sum' } : {}),
  })
  let bytes: number
  // Whoever leaves in the middle has no answer.
  response.on('error', () => {})
  try {
    bytes = await echoed(request, response)
  } catch {
    response.destroy()
    return
  }
  const { trailers } = request
  if (searchParams.has('trailers')) {
    response.addTrailers({ 'x-sum': String(bytes), 'x-sent': JSON.stringify(trailers) })
  }
  response.end()
}

async function echoed(
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<number> {
  let bytes = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (!response.write(piece)) await new Promise(resolve => response.once('drain', resolve))
  }
  return bytes
}
