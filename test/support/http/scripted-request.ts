/** A request whose client reads, stops reading and leaves when a test says so. */

import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { HttpRequest, ResponseHeaders } from '../../../lib/cache/http/server/http-request.ts'

export class ScriptedRequest extends EventEmitter implements HttpRequest {
  readonly version: HttpRequest['version']
  readonly target = '/'
  readonly headers = {}
  readonly rawHeaders: readonly string[] = []
  readonly rawTrailers: readonly string[] = []
  readonly hasBody: boolean = false
  readonly body: Readable = Readable.from([])
  readonly peer: HttpRequest['peer'] = {
    address: '',
    isSecure: false,
    certificate: () => undefined,
    hasRefusedCertificate: () => false,
  }
  readonly method: string
  readonly written: Uint8Array[] = []
  responded: { status: number; headers: ResponseHeaders } | undefined
  isClosed = false
  canHaveTrailers = true
  isFlushing = false
  isEnded = false
  isAborted = false
  isFull = false

  constructor(method = 'GET', version: HttpRequest['version'] = '1.1') {
    super()
    this.version = version
    this.method = method
  }
  respond(status: number, headers: ResponseHeaders, length?: number): void {
    const known = length === undefined ? {} : { 'content-length': String(length) }
    this.responded = { status, headers: { ...headers, ...known } }
  }
  accept(): void {}
  proceed(): void {}
  flush(): void {}
  write(piece: Uint8Array): boolean {
    this.written.push(piece)
    return !this.isFull
  }
  onDrain(task: () => void): void {
    this.once('drain', task)
  }
  endWith(pieces: readonly Uint8Array[]): void {
    this.written.push(...pieces.slice(1))
    this.end(pieces[0])
  }
  end(piece?: Uint8Array): void {
    if (piece !== undefined) this.written.push(piece)
    this.isEnded = true
    // A client that reads sees the end, and the connection is done with.
    if (!this.isFull) this.leave()
  }
  abort(): void {
    this.isAborted = true
    this.leave()
  }
  onClose(task: () => void): () => void {
    if (this.isClosed) task()
    else this.once('close', task)
    return () => this.off('close', task)
  }

  /** The client reads on. */
  drain(): void {
    this.isFull = false
    this.emit('drain')
  }
  leave(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.emit('close')
  }
  get text(): string {
    return Buffer.concat(this.written).toString()
  }
}
