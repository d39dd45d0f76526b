/** A call of our own on the connections that calls pass over, with no credentials but those of
 *  the connection. */

import { type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from 'node:http2'
import { detailsOf } from '@watchglass/etcd'
import type { GrpcStatus } from '../listen/grpc-call.ts'
import type { EtcdSessions } from './etcd-sessions.ts'
import { kindOf } from './pass-call.ts'

/** Opens a stream. Fails with `source_failed` when etcd cannot be reached. */
export async function openEtcdStream(
  sessions: EtcdSessions,
  path: string,
  headers: OutgoingHttpHeaders = {},
): Promise<EtcdStream> {
  const kind = kindOf(path)
  const session = sessions.ready(kind) ?? (await sessions.connect(kind))
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  return new EtcdStream(stream)
}

export class EtcdStream {
  readonly #stream: ClientHttp2Stream
  #status: GrpcStatus = { code: 14, details: 'the connection was lost' }

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream
    stream.on('response', headers => this.#noteStatus(headers))
    stream.on('trailers', headers => this.#noteStatus(headers))
    stream.on('error', error => (this.#status = { code: 14, details: error.message }))
  }

  /** Hands over the bytes of messages, with their prefixes. */
  onData(task: (chunk: Buffer) => void): void {
    this.#stream.on('data', task)
  }

  /** Calls `task` once, when the stream has ended in whatever way. */
  onEnd(task: (status: GrpcStatus) => void): void {
    this.#stream.once('close', () => task(this.#status))
  }

  write(bytes: Buffer): void {
    this.#stream.write(bytes)
  }

  /** Ends the request: nothing more is sent. */
  end(): void {
    this.#stream.end()
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  /** Size of the bytes that have come and are not read. */
  get heldBytes(): number {
    return this.#stream.readableLength
  }

  cancel(): void {
    if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_CANCEL)
  }

  #noteStatus(headers: NodeJS.Dict<string | string[]>): void {
    if (headers['grpc-status'] === undefined) return
    const details = detailsOf(headers['grpc-message']?.toString())
    this.#status = { code: Number(headers['grpc-status']), details }
  }
}
