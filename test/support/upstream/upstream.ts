/** The upstream of tests: an API server with real HTTP(S), over the same etcd, with discovery,
 *  reads, watches, writes and upgrades. Reads are answered by our own service without an upstream;
 *  what else a kube-apiserver does is implemented here as far as tests need it.
 *
 *  Every request takes these steps, in this order: it is recorded (`seen`); a fault may be applied;
 *  `before` may answer it (authentication, rules, reviews: see rules.ts); it is answered unless its
 *  API is switched off. */

import { serviceOptions, type TestOptions } from '../http/service-options.ts'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { Http1Request } from '../../../lib/cache/http/server/h1.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { type Before, type DirectAnswer, json, type SeenRequest } from './answers.ts'
import { answerEcho } from './echo.ts'
import { answerExec } from './exec.ts'
import { applyFault, type Fault } from './faults.ts'
import { Http2Request } from './http2-request.ts'
import { headersMaxBytes, refuseMalformed } from './refuse-malformed.ts'
import { filteredDiscovery, isSwitchedOff } from './switched-off.ts'
import { Writer } from './writes.ts'
import { moment } from '../http/moment.ts'

export interface UpstreamOptions {
  readonly client: Client
  readonly tls?: boolean | undefined
  readonly before?: Before | undefined
  /** Options of this API server: its etcd prefix, events elsewhere. */
  readonly service?: TestOptions | undefined
  /** Minor that /version names instead of the true one. */
  readonly minor?: string | undefined
  /** False: discovery has no aggregated documents. */
  readonly hasAggregated?: boolean | undefined
  /** It does not listen, until `listen` is called. */
  readonly isDown?: boolean | undefined
}

const http1Options = { keepAliveTimeout: 60_000, maxHeaderSize: headersMaxBytes }

export class TestUpstream {
  readonly service: KubeService
  readonly seen: SeenRequest[] = []
  /** Bytes on the wire, by the other end's port, of connections that are closed. */
  readonly #sentBytes = new Map<number, number>()
  before: Before | undefined
  /** Asked for every request. */
  fault: (request: SeenRequest) => Fault | undefined = () => undefined
  /** Group versions that are not served, such as `batch/v1`. */
  switchedOff: ReadonlySet<string> = new Set()
  readonly #minor: string | undefined
  readonly #hasAggregated: boolean
  readonly #server: http.Server | http2.Http2SecureServer
  readonly #sockets = new Set<Socket>()
  readonly #writer: Writer
  readonly #isSecure: boolean
  #forgetting: NodeJS.Timeout | undefined = undefined
  #port = 0

  private constructor(service: KubeService, options: UpstreamOptions) {
    const { tls = false, before, client } = options
    this.service = service
    this.before = before
    this.#minor = options.minor
    this.#hasAggregated = options.hasAggregated ?? true
    this.#isSecure = tls
    this.#writer = new Writer(client, service)
    this.#server = tls ? this.#createSecure() : http.createServer(http1Options)
    const server = this.#server as http.Server
    server.on('request', (request, response) => {
      // Over HTTP/2 the request comes as a stream, too.
      if (request.httpVersionMajor === 1) void this.#answer(request, response)
    })
    server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket, head))
    server.on('connection', socket => this.#track(socket))
    server.on('clientError', refuseMalformed)
  }

  static async start(options: UpstreamOptions): Promise<TestUpstream> {
    const { client } = options
    const service = await KubeService.start(serviceOptions({ client, ...options.service }))
    const upstream = new TestUpstream(service, options)
    await upstream.listen(0)
    return upstream
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `${this.#isSecure ? 'https' : 'http'}://127.0.0.1:${this.port}`
  }

  /** From now on, what it has seen is of no interest: under load it would be a million requests. */
  forgetSeen(): void {
    this.#forgetting ??= setInterval(() => void this.seen.splice(0), 100)
  }

  /** Creates an object, past the network. */
  async create(url: string, object: unknown): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', url, headers, rawHeaders: [], connection: 0, certificate: '' }
    const body = Buffer.from(JSON.stringify(object))
    const answer = await this.#writer.answer(request, () => Promise.resolve(body))
    if (answer?.code !== 201) throw new Error(`${url}: ${String(answer?.body)}`)
  }

  /** Listens, at first and after `down`. */
  listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, '127.0.0.1', () => {
        this.#port = (this.#server.address() as AddressInfo).port
        resolve()
      })
    })
  }

  /** Cuts every connection and takes no more. */
  down(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.cut()
    })
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The other ends' ports of open connections. */
  get connections(): ReadonlySet<number> {
    return new Set([...this.#sockets].map(({ remotePort = 0 }) => remotePort))
  }

  /** Bytes on the wire that were sent to each of the other ends' ports. */
  get sentBytes(): ReadonlyMap<number, number> {
    const all = new Map(this.#sentBytes)
    for (const { remotePort = 0, bytesWritten } of this.#sockets) {
      all.set(remotePort, (all.get(remotePort) ?? 0) + bytesWritten)
    }
    return all
  }

  /** The last request at a path. */
  last(url: string): SeenRequest | undefined {
    return this.seen.findLast(request => request.url === url)
  }

  async stop(): Promise<void> {
    clearInterval(this.#forgetting)
    if (this.#server.listening) await this.down()
    await this.service.stop()
  }

  #createSecure(): http2.Http2SecureServer {
    const file = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
    const server = http2.createSecureServer({
      cert: file('server.pem'),
      key: file('server.key'),
      ca: [file('ca.pem'), file('proxies-ca.pem')],
      requestCert: true,
      rejectUnauthorized: false,
      allowHTTP1: true,
      ...http1Options,
    })
    server.on(
      'stream',
      (
        stream: http2.ServerHttp2Stream,
        headers: http2.IncomingHttpHeaders,
        _: number,
        rawHeaders: string[],
      ) => this.service.handler(new Http2Request(stream, headers, rawHeaders, endTest)),
    )
    return server
  }

  #track(socket: Socket): void {
    const { remotePort = 0 } = socket
    this.#sockets.add(socket)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#sentBytes.set(remotePort, (this.#sentBytes.get(remotePort) ?? 0) + socket.bytesWritten)
    })
    socket.on('error', () => {})
  }

  #note(request: http.IncomingMessage): SeenRequest {
    const { method = '', url = '', headers, rawHeaders, socket } = request
    const secure = socket as Partial<TLSSocket>
    // A resumed session counts as authorized, also without any certificate.
    const shown = secure.authorized === true ? secure.getPeerCertificate?.() : undefined
    const certificate = (shown as Partial<PeerCertificate> | undefined)?.subject?.CN
    const connection = socket.remotePort ?? 0
    const seen: SeenRequest = {
      method,
      url,
      headers,
      rawHeaders,
      connection,
      certificate: String(certificate ?? ''),
    }
    this.seen.push(seen)
    return seen
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const seen = this.#note(request)
    const fault = this.fault(seen)
    if (fault !== undefined && applyFault(fault, request, response) === 'over') return
    const direct = await this.before?.(seen, () => bodyOf(request))
    if (!this.#hasAggregated && isDiscovery(seen.url)) request.headers.accept = 'application/json'
    if (direct !== undefined) send(response, direct)
    else if (isSwitchedOff(seen.url, this.switchedOff)) send(response, notThere)
    else if (seen.url.startsWith('/echo')) await answerEcho(seen, request, response)
    else if (seen.url === '/version' && this.#minor !== undefined) {
      send(response, json({ major: '1', minor: this.#minor, gitVersion: `v1.${this.#minor}.0` }))
    } else if (isDiscovery(seen.url) && this.switchedOff.size > 0) {
      send(response, await filteredDiscovery(this.service, seen, this.switchedOff))
    } else {
      const written = await this.#writer.answer(seen, () => bodyOf(request))
      if (written !== undefined) send(response, written)
      else this.service.handler(new Http1Request(request, response, http1Services))
    }
  }

  async #upgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const seen = this.#note(request)
    socket.on('error', () => {})
    const fault = this.fault(seen)
    const direct =
      fault?.type === 'answer'
        ? fault.answer
        : await this.before?.(seen, async () => Buffer.alloc(0))
    if (fault?.type === 'reset') socket.destroy()
    else if (fault?.type === 'raw') socket.end(fault.bytes, 'latin1')
    else if (direct !== undefined) socket.end(rawAnswer(direct))
    else answerExec(seen, socket, head)
  }
}

const notThere: DirectAnswer = {
  code: 404,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: '404 page not found\n',
}

function isDiscovery(url: string): boolean {
  return /^\/apis?(?:\/[^/]+)?\/?(?:\?.*)?$/.test(url)
}

function send(response: http.ServerResponse, { code, headers, body }: DirectAnswer): void {
  response.writeHead(code, { 'content-length': Buffer.byteLength(body), ...headers })
  response.end(body)
}

function rawAnswer({ code, headers = {}, body }: DirectAnswer): string {
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body) })
  const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('')
  return `HTTP/1.1 ${code} ${http.STATUS_CODES[code] ?? ''}\r\n${head}connection: close\r\n\r\n${String(body)}`
}

async function bodyOf(request: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Resolves when the upstream has mirrored everything that is in etcd. */
export async function upstreamReady({ service }: TestUpstream): Promise<void> {
  while (!service.isReady) await moment()
}

/** A mistake of ours ends the test. */
function endTest(error: unknown): never {
  throw error
}

const http1Services = { clock: systemClock, onFault: endTest }
