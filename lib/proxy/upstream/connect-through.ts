/** Connections to the upstream through a proxy of the network: an HTTP proxy opens a tunnel for
 *  CONNECT (RFC 9110, 9.3.6), a SOCKS5 proxy by its handshake (RFC 1928, 1929). TLS with the
 *  upstream runs inside, so that the proxy sees no request. */

import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { connect, isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { CacheError } from '@watchglass/base'

export interface ForwardProxyAddress {
  readonly type: 'http' | 'https' | 'socks5'
  readonly host: string
  readonly port: number
  readonly user: { readonly name: string; readonly password: string } | undefined
}

interface Target {
  readonly host: string
  readonly port: number
}

interface Through {
  /** Makes TLS of a tunnel. */
  readonly connector: buildConnector.connector
  readonly timeoutMs: number
}

/** The connector of a client whose connections go through the proxy. */
export function connectThrough(
  proxy: ForwardProxyAddress,
  { connector, timeoutMs }: Through,
): buildConnector.connector {
  const open = proxy.type === 'socks5' ? openBySocks : openByConnect
  return (options, callback) => {
    const target = { host: plainHost(options.hostname), port: Number(options.port || 443) }
    open(proxy, target, timeoutMs).then(
      httpSocket => connector({ ...options, httpSocket }, callback),
      (error: Error) => callback(error, null),
    )
  }
}

/** An IPv6 address without its brackets. */
function plainHost(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

function openByConnect(
  { type, host, port, user }: ForwardProxyAddress,
  target: Target,
  timeoutMs: number,
): Promise<Socket> {
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`
  const basic = user && Buffer.from(`${user.name}:${user.password}`).toString('base64')
  const request = type === 'https' ? requestSecure : requestPlain
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => {
      reject(failure(host, port, reason))
      asked.destroy()
    }
    const asked = request({
      method: 'CONNECT',
      host,
      port,
      path: authority,
      agent: false,
      timeout: timeoutMs,
      headers: {
        host: authority,
        ...(basic === undefined ? {} : { 'proxy-authorization': `Basic ${basic}` }),
      },
    })
    asked.on('connect', ({ statusCode = 0 }, socket, early) => {
      if (statusCode !== 200) fail(`it answers ${statusCode}`)
      // A server with TLS says nothing before its client has.
      else if (early.length > 0) fail('it sends more than its answer')
      else {
        socket.setTimeout(0)
        resolve(socket as Socket)
      }
    })
    asked.on('response', ({ statusCode = 0 }) => fail(`it answers ${statusCode}`))
    asked.on('timeout', () => fail('it does not answer in time'))
    asked.on('error', error => fail(error.message))
    asked.end()
  })
}

/** The replies of RFC 1928, section 6. */
const socksReplies: readonly string[] = [
  'it has succeeded',
  'it has failed',
  'its rules do not allow the connection',
  'the network is unreachable',
  'the host is unreachable',
  'the connection was refused',
  'the time to live has expired',
  'it does not support CONNECT',
  'it does not support this kind of address',
]

async function openBySocks(
  { host, port, user }: ForwardProxyAddress,
  target: Target,
  timeoutMs: number,
): Promise<Socket> {
  const socket = connect({ host, port })
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('it does not answer in time')))
  const reader = new SocksReader(socket)
  try {
    const methods = user === undefined ? [0] : [0, 2]
    socket.write(Buffer.from([5, methods.length, ...methods]))
    const [, method] = await reader.take(2)
    if (method === 2 && user !== undefined) await authenticate(reader, user)
    else if (method !== 0) throw new Error('it accepts none of our ways to log in')
    socket.write(
      Buffer.from([5, 1, 0, ...socksAddress(target.host), target.port >> 8, target.port & 0xff]),
    )
    const [, code = 1, , kind] = await reader.take(4)
    if (code !== 0) throw new Error(socksReplies[code] ?? `it answers ${code}`)
    const [length = 0] = kind === 3 ? await reader.take(1) : [kind === 4 ? 16 : 4]
    await reader.take(length + 2)
    socket.setTimeout(0)
    reader.release()
    return socket
  } catch (error) {
    socket.destroy()
    throw failure(host, port, CacheError.from(error, 'upstream_failed').message)
  }
}

async function authenticate(
  reader: SocksReader,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<void> {
  const texts = [name, password].map(text => Buffer.from(text))
  if (texts.some(({ length }) => length > 255)) throw new Error('its user has too long a name')
  const fields = texts.flatMap(text => [text.length, ...text])
  reader.socket.write(Buffer.from([1, ...fields]))
  const [, code] = await reader.take(2)
  if (code !== 0) throw new Error('it does not accept the user and the password')
}

/** The proxy resolves names, as with curl's socks5h, since those of a private network are known
 *  behind it only. */
function socksAddress(host: string): readonly number[] {
  if (isIP(host) === 4) return [1, ...host.split('.').map(Number)]
  const name = Buffer.from(host)
  if (name.length > 255) throw new Error('the host has too long a name')
  return [3, name.length, ...name]
}

/** Takes bytes one after another from a socket, and never more than are asked for. */
class SocksReader {
  readonly socket: Socket
  #failure: Error | undefined = undefined
  #wake = (): void => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('readable', this.#onReadable)
    socket.on('error', this.#onEnd)
    socket.on('close', this.#onEnd)
  }

  async take(count: number): Promise<Buffer> {
    for (;;) {
      const bytes = this.socket.read(count) as Buffer | null
      if (bytes?.length === count) return bytes
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  /** Leaves the socket to whoever goes on with it. */
  release(): void {
    this.socket.off('readable', this.#onReadable)
    this.socket.off('error', this.#onEnd)
    this.socket.off('close', this.#onEnd)
  }

  readonly #onReadable = (): void => this.#wake()

  readonly #onEnd = (error?: unknown): void => {
    this.#failure ??= error instanceof Error ? error : new Error('it has closed the connection')
    this.#wake()
  }
}

/** With the code of a host that cannot be reached: nothing was sent to the upstream. */
function failure(host: string, port: number, reason: string): Error {
  const message = `the proxy ${host}:${port} opens no connection: ${reason}`
  return Object.assign(new Error(message), { code: 'EHOSTUNREACH' })
}
