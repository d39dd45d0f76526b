/** gRPC without a library: frames as they are on the wire, for tests of what is on the wire. */

import type * as http2 from 'node:http2'

/** An answer as it came. */
export interface BareAnswer {
  readonly headers: http2.IncomingHttpHeaders
  readonly trailers: http2.IncomingHttpHeaders
  readonly body: Buffer
}

/** A message with its prefix. */
export function framed(bytes: Buffer, flag = 0): Buffer {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}

/** Calls with these bytes as the body, and reads the answer to its end. */
export function bareCall(
  session: http2.ClientHttp2Session,
  path: string,
  body: Buffer,
  headers: http2.OutgoingHttpHeaders = {},
): Promise<BareAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    })
    let answered: http2.IncomingHttpHeaders = {}
    let trailers: http2.IncomingHttpHeaders = {}
    const chunks: Buffer[] = []
    stream.on('response', given => (answered = given))
    stream.on('trailers', given => (trailers = given))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('close', () => {
      if (answered[':status'] === undefined) reject(new Error('there was no answer'))
      else resolve({ headers: answered, trailers, body: Buffer.concat(chunks) })
    })
    stream.on('error', reject)
    stream.end(body)
  })
}
