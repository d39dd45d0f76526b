/** Requests to a program over each protocol: HTTP/1.1 and HTTP/2, plain and TLS. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import * as net from 'node:net'
import * as tls from 'node:tls'

/** The address of a program. */
export interface Address {
  readonly protocol: 'http' | 'https'
  readonly port: number
  /** The name of a client certificate among those of tests. */
  readonly certificate?: string | undefined
}

export type Version = '1.1' | '2'
export const versions: readonly Version[] = ['1.1', '2']
export const protocols = ['http', 'https'] as const

export interface Request {
  readonly method?: string | undefined
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

/** Sends a request over a connection of its own. */
export function ask(address: Address, version: Version, request: Request): Promise<Answer> {
  return version === '1.1' ? ask1(address, request) : ask2(address, request)
}

function shown({ certificate }: Address): { cert?: Buffer; key?: Buffer } {
  if (certificate === undefined) return {}
  const [cert, key] = ['pem', 'key'].map(end =>
    readFileSync(`test/support/certs/${certificate}.${end}`),
  )
  return { cert: cert!, key: key! }
}

function ask1(address: Address, request: Request): Promise<Answer> {
  const { method = 'GET', path, headers = {}, body } = request
  const { protocol, port } = address
  const options = { host: '127.0.0.1', port, method, path, headers, agent: false as const }
  return new Promise((resolve, reject) => {
    const take = (response: http.IncomingMessage): void => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(pieces).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text })
      })
    }
    const sent =
      protocol === 'http'
        ? http.request(options, take)
        : https.request({ ...options, ...shown(address), rejectUnauthorized: false }, take)
    sent.on('error', reject)
    sent.end(body)
  })
}

async function ask2(address: Address, request: Request): Promise<Answer> {
  const session = openSession(address)
  try {
    return await askOn(session, request)
  } finally {
    session.destroy()
  }
}

/** An HTTP/2 connection. */
export function openSession({ protocol, port }: Address): http2.ClientHttp2Session {
  const session = http2.connect(`${protocol}://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => {})
  return session
}

/** Sends a request as a stream of a connection. Rejects when the stream is reset. */
export async function askOn(
  session: http2.ClientHttp2Session,
  { method = 'GET', path, headers = {}, body }: Request,
): Promise<Answer> {
  const stream = session.request({ ...headers, ':method': method, ':path': path })
  stream.end(body)
  const [got] = (await Promise.race([
    once(stream, 'response'),
    once(stream, 'close').then(() => {
      throw new Error('the stream was closed before an answer')
    }),
  ])) as [http2.IncomingHttpHeaders]
  const pieces: Buffer[] = []
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece)
  const { ':status': status, ...rest } = got
  return { status: Number(status), headers: rest, body: Buffer.concat(pieces).toString() }
}

/** A connection of HTTP/1.1 that the test writes bytes to. */
export async function connect(
  { protocol, port }: Address,
  ALPNProtocols: string[] = ['http/1.1'],
): Promise<net.Socket> {
  const to = { host: '127.0.0.1', port }
  const socket =
    protocol === 'http'
      ? net.connect(to)
      : tls.connect({ ...to, rejectUnauthorized: false, ALPNProtocols })
  socket.on('error', () => {})
  await once(socket, protocol === 'http' ? 'connect' : 'secureConnect')
  return socket
}

/** Sends bytes over a connection of their own; what comes back until it ends, or is as it is
 *  wanted. */
export async function askRaw(
  address: Address,
  bytes: string | Buffer,
  isEnough: (text: string) => boolean = () => false,
): Promise<string> {
  const socket = await connect(address)
  let text = ''
  const over = new Promise<string>(resolve => {
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1')
      if (!isEnough(text)) return
      socket.destroy()
      resolve(text)
    })
    socket.on('close', () => resolve(text))
  })
  socket.write(bytes)
  return over
}
