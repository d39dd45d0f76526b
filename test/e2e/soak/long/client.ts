/** The clients' side: requests over TLS, on kept connections or on new ones, and watches over both
 *  versions of HTTP. */

import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { framesOf } from '../../../support/watch/watch-client.ts'
import { authorityFile } from './certificates.ts'
import type { Program } from './programs.ts'

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

export interface Sent {
  readonly path: string
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
}

export interface Watch {
  readonly status: number
  next(): Promise<Buffer | undefined>
  close(): void
}

const ca = readFileSync(authorityFile)
const headers = { authorization: 'Bearer soak', 'user-agent': 'soak' }
const timeoutMs = 90_000

export class Client {
  readonly program: Program
  readonly #kept = new https.Agent({ ca, keepAlive: true, maxSockets: 4 })
  /** Serial numbers of the certificates that the server has shown. */
  readonly certificates: Set<string> = new Set()

  constructor(program: Program) {
    this.program = program
  }

  ask({ path, method = 'GET', headers: more, body }: Sent, isNew = false): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = https.request(
        {
          ...this.#target(path),
          method,
          headers: { ...headers, ...more },
          agent: isNew ? false : this.#kept,
          timeout: timeoutMs,
        },
        response => {
          const pieces: Buffer[] = []
          response.on('data', (piece: Buffer) => pieces.push(piece))
          response.on('error', reject)
          response.on('end', () => {
            const whole = Buffer.concat(pieces)
            const isGzip = response.headers['content-encoding'] === 'gzip'
            resolve({
              status: response.statusCode ?? 0,
              body: isGzip ? gunzipSync(whole) : whole,
            })
          })
        },
      )
      sent.on('socket', socket => {
        if (!socket.connecting) return
        socket.once('secureConnect', () => this.#saw(socket as TLSSocket))
      })
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)))
      sent.on('error', reject)
      sent.end(body)
    })
  }

  async watch(path: string, version: '1.1' | '2'): Promise<Watch> {
    const { status, body, close } = await (version === '2' ? this.#open2(path) : this.#open1(path))
    // It may be cut while nobody reads it.
    body.on('error', () => undefined)
    const frames = framesOf(body, 'application/json')
    return {
      status,
      close,
      next: async () => (await frames.next()).value as Buffer | undefined,
    }
  }

  close(): void {
    this.#kept.destroy()
  }

  #saw(socket: TLSSocket): void {
    this.certificates.add(socket.getPeerCertificate().serialNumber)
  }

  #target(path: string): https.RequestOptions {
    return { host: '127.0.0.1', port: this.program.port, path, ca, headers }
  }

  #open1(path: string): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const options = { ...this.#target(path), agent: false as const }
      const request = https.get(options, response => {
        const { statusCode: status = 0 } = response
        resolve({ status, body: response, close: () => request.destroy() })
      })
      request.on('error', reject)
    })
  }

  #open2(path: string): Promise<Opened> {
    return new Promise((resolve, reject) => {
      const session = http2.connect(`https://127.0.0.1:${this.program.port}`, { ca })
      session.on('error', reject)
      const stream = session.request({ ':path': path, ...headers })
      stream.on('error', reject)
      stream.on('close', () => session.close())
      stream.on('response', got => {
        const status = got[':status'] ?? 0
        resolve({ status, body: stream, close: () => session.destroy() })
      })
    })
  }
}

interface Opened {
  readonly status: number
  readonly body: Readable
  readonly close: () => void
}
