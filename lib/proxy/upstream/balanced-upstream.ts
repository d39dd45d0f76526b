/** The upstream's servers behind one interface: chooses a server for each request, and remembers
 *  which do not answer.
 *
 *  A request goes to the server with the fewest requests in flight among those that answer, or
 *  among all if none does. It is retried on another server only if it never reached the first, and
 *  is safe to repeat. */

import {
  type ServerStanding,
  systemRandom,
  type UpstreamAnswer,
  type UpstreamCall,
  type UpstreamIdentity,
} from '@watchglass/cache'
import type { Dispatcher } from 'undici'
import {
  CacheError,
  type CancelTimer,
  type Clock,
  LinkedAbort,
  type Logger,
  Outage,
  sleep,
  withTimeLimit,
} from '@watchglass/base'
import { Forwarding, type ForwardingServers, type ForwardedRequest } from './forwarding.ts'
import { codeOf, reasonFor, UpstreamFailure, upstreamFailure } from './failure.ts'
import { OwnQuestions } from './own-questions.ts'
import type { UpstreamServer, UpstreamTimeouts, UpstreamTls, Use } from './server.ts'
import type {
  ForwardControl,
  ForwardRequest,
  ForwardSink,
  TunnelRequest,
  TunnelSink,
  Upstream,
  UpstreamLine,
} from './upstream.ts'

export interface BalancedUpstreamOptions {
  readonly servers: readonly UpstreamServer[]
  /** Our own credentials, for our own requests. */
  readonly credentials?: (() => Promise<OwnCredentials>) | undefined
  readonly timeouts: UpstreamTimeouts
  readonly clock: Clock
  readonly logger: Logger
  /** Calls with new certificates whenever they have changed, until the answer is called. */
  readonly followTls?: ((renew: (tls: UpstreamTls) => void) => CancelTimer) | undefined
}

/** Credentials as they are now. */
export interface OwnCredentials {
  /** Names in lower case. Those of an impersonation are among them. */
  readonly headers: Readonly<Record<string, string | string[]>>
  /** Called when a server has refused them (401). */
  readonly refused: () => void
}

const noCredentials: OwnCredentials = { headers: {}, refused() {} }

/** Requests in flight at once. A busy API server has a few hundred short ones; the others wait in
 *  memory for a connection. Long-running requests (watches, exec) have a connection each, and a
 *  process may open some ten thousand files. */
const underWayMax: Readonly<Record<Use, number>> = { short: 4_000, long: 10_000, upgrade: 4_000 }
const callMaxBytes = 1024 * 1024

/** The interval between two health checks of a server. */
const healthyIntervalMs = 5_000
const unhealthyIntervalMs = 1_000
const healthTimeoutMs = 3_000
/** A server that is started anew may take this long. */
const toldAfterMs = 3_000

export class BalancedUpstream implements Upstream {
  readonly #options: BalancedUpstreamOptions
  readonly #underWay = { short: 0, long: 0, upgrade: 0 }
  readonly #stopped = new AbortController()
  #turn = 0
  /** The credentials that were given last. */
  #given = noCredentials
  #cancelFollowing: CancelTimer = () => {}
  #onAnswersAgain = (): void => {}
  /** Ends the pause before a server's next health check. */
  readonly #cutPauses = new Map<UpstreamServer, () => void>()
  readonly #forwardingServers: ForwardingServers
  readonly #outage: Outage
  /** Asks the servers what we want to know ourselves. */
  readonly questions: OwnQuestions

  constructor(options: BalancedUpstreamOptions) {
    this.#options = options
    this.#outage = new Outage({
      ...options,
      begins:
        'no server of the upstream is healthy: what passes is refused, and so is whoever was not allowed a moment ago',
      ends: 'the upstream is healthy again',
      isUrgent: true,
      toldAfterMs,
    })
    this.#forwardingServers = {
      clock: options.clock,
      choose: tried => this.#choose(tried),
      areTried: tried => tried.size >= options.servers.length,
      unreachable: (server, error) => this.#unreachable(server, error),
      ended: use => this.#underWay[use]--,
    }
    this.questions = new OwnQuestions({
      ...options,
      random: systemRandom,
      choose: tried => this.#choose(tried),
      call: (server, request, as) => this.#callAs(as, server, request),
      openLine: server => this.#openLine(server),
    })
  }

  /** Starts the health checks. */
  start(): void {
    this.followTls()
    for (const server of this.#options.servers) void this.#watchHealth(server)
  }

  /** Uses certificates that are renewed. `start` does that, too. */
  followTls(): void {
    const { servers, followTls } = this.#options
    this.#cancelFollowing =
      followTls?.(tls => {
        for (const server of servers) server.renew(tls)
      }) ?? this.#cancelFollowing
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#cancelFollowing()
    await Promise.all(this.#options.servers.map(server => server.close()))
  }

  /** Passed requests that have not ended. */
  get underWay(): Readonly<Record<Use, number>> {
    return { ...this.#underWay }
  }

  /** Each server, for people. */
  standings(): readonly ServerStanding[] {
    return this.#options.servers.map(({ url, problem, load }) => ({
      name: url.host,
      problem,
      inFlight: load,
    }))
  }

  /** Calls `task` when a server is healthy again: it may be another one then. */
  onAnswersAgain(listener: () => void): void {
    this.#onAnswersAgain = listener
  }

  /** Undefined while a server is healthy. */
  problem(): string | undefined {
    const now = this.#problemNow()
    return now && (this.#outage.words ?? now)
  }

  /** Each server with its problem; undefined while one has none. */
  #problemNow(): string | undefined {
    const { servers } = this.#options
    if (servers.some(({ problem }) => problem === undefined)) return undefined
    return servers.map(({ url, problem }) => `${url.host}: ${problem}`).join('; ')
  }

  async call(request: UpstreamCall, as: UpstreamIdentity): Promise<UpstreamAnswer> {
    return this.#callAs(as, this.#choose(new Set()), request)
  }

  async #callAs(
    as: UpstreamIdentity,
    server: UpstreamServer,
    request: UpstreamCall,
  ): Promise<UpstreamAnswer> {
    if (as !== 'ourselves') return this.#callServer(server, server.pool(as), request)
    const own = await this.#ownCredentials()
    const headers = { ...request.headers, ...own.headers }
    const answer = await this.#callServer(server, server.pool(as), { ...request, headers })
    if (answer.code === 401) own.refused()
    return answer
  }

  #openLine(server: UpstreamServer): UpstreamLine {
    const { client, close } = server.openLine()
    let connections = 0
    let hasEnded = false
    client.on('connect', () => connections++)
    client.on('disconnect', () => (hasEnded = true))
    const ended = new CacheError('upstream_failed', 'the connection has ended')
    return {
      call: async request => {
        const headers = { ...request.headers, ...(await this.credentials()) }
        if (hasEnded) throw ended
        const answer = await this.#callServer(server, client, { ...request, headers })
        // The client connects again by itself.
        if (connections > 1) throw ended
        return answer
      },
      get isOpen() {
        return !hasEnded
      },
      close,
    }
  }

  async credentials(): Promise<OwnCredentials['headers']> {
    return (await this.#ownCredentials()).headers
  }

  async #ownCredentials(): Promise<OwnCredentials> {
    this.#given = (await this.#options.credentials?.()) ?? noCredentials
    return this.#given
  }

  forward(request: ForwardRequest, sink: ForwardSink): ForwardControl {
    return this.#send(request, request.isLongRunning ? 'long' : 'short', sink)
  }

  tunnel({ protocol, ...request }: TunnelRequest, sink: TunnelSink): ForwardControl {
    return this.#send({ ...request, upgrade: protocol, body: undefined }, 'upgrade', sink)
  }

  #send(
    request: ForwardedRequest,
    use: Use,
    sink: ForwardSink & Partial<TunnelSink>,
  ): ForwardControl {
    if (this.#underWay[use] >= underWayMax[use]) {
      sink.failed(new UpstreamFailure('busy', 'too many requests to the upstream are in flight'))
      return { resume() {}, abort() {} }
    }
    this.#underWay[use]++
    const onRefused = request.as === 'ourselves' ? this.#given.refused : undefined
    const forwarding = new Forwarding(request, { sink, use, onRefused }, this.#forwardingServers)
    forwarding.begin()
    return forwarding
  }

  /** The least busy server that was not tried; healthy servers first. */
  #choose(tried: ReadonlySet<UpstreamServer>): UpstreamServer {
    const { servers } = this.#options
    let best: UpstreamServer | undefined
    for (let i = 0; i < servers.length; i++) {
      const server = servers[(this.#turn + i) % servers.length]
      if (server === undefined || tried.has(server)) continue
      if (best === undefined || isBetter(server, best)) best = server
    }
    this.#turn++
    const chosen = best ?? servers[0]
    if (chosen === undefined) throw new CacheError('invalid_request', 'there is no upstream server')
    return chosen
  }

  #unreachable(server: UpstreamServer, error: unknown): void {
    const isNews = server.problem === undefined
    this.#mark(server, codeOf(error) || 'unreachable')
    if (isNews) this.#cutPauses.get(server)?.()
  }

  #mark(server: UpstreamServer, problem: string | undefined): void {
    const before = server.problem
    server.problem = problem
    const now = this.#problemNow()
    if (now === undefined) this.#outage.answered()
    else this.#outage.failed(now)
    if (before === problem) return
    const { logger } = this.#options
    const fields = { server: server.url.host, problem }
    if (problem === undefined) logger.info('an upstream server is healthy again', fields)
    else if (before === undefined) logger.warn('an upstream server is not healthy', fields)
    if (problem !== undefined) return
    this.questions.isWell(server)
    this.#onAnswersAgain()
  }

  async #watchHealth(server: UpstreamServer): Promise<void> {
    const { signal } = this.#stopped
    const { clock } = this.#options
    while (!signal.aborted) {
      const problem = await this.#problemOf(server)
      if (signal.aborted) return
      this.#mark(server, problem)
      const pauseMs = problem === undefined ? healthyIntervalMs : unhealthyIntervalMs
      const pause = new LinkedAbort(signal)
      this.#cutPauses.set(server, () => pause.abort())
      await sleep(clock, pauseMs, pause.signal)
      pause.release()
      // A request has failed: the server is checked again as soon as any unhealthy server.
      if (pause.signal.aborted) await sleep(clock, unhealthyIntervalMs, signal)
    }
  }

  /** A server that refuses our credentials is healthy. */
  async #problemOf(server: UpstreamServer): Promise<string | undefined> {
    const request = { method: 'GET', path: '/readyz', headers: {}, signal: this.#stopped.signal }
    try {
      const { code } = await this.#callServer(
        server,
        server.pool('caller'),
        request,
        healthTimeoutMs,
      )
      return code >= 500 ? `answers ${code}` : undefined
    } catch (error) {
      return reasonFor(error)
    }
  }

  async #callServer(
    server: UpstreamServer,
    from: Dispatcher,
    request: UpstreamCall,
    timeoutMs = this.#options.timeouts.callMs,
  ): Promise<UpstreamAnswer> {
    const { signal, path } = request
    const late = (): CacheError =>
      new UpstreamFailure('late', 'the upstream did not answer in time')
    const limit = { clock: this.#options.clock, maxMs: timeoutMs, signal, late }
    try {
      return await withTimeLimit(limit, limited =>
        answerOf(from, { ...request, path: `${server.pathPrefix}${path}`, signal: limited }),
      )
    } catch (error) {
      if (signal.aborted) throw new CacheError('closed', 'the call was cancelled')
      const failure = upstreamFailure(error, !unreachableCodes.has(codeOf(error)))
      if (failure instanceof UpstreamFailure && failure.fault === 'unreachable') {
        this.#unreachable(server, error)
      }
      throw failure
    }
  }
}

/** Sends a call of our own, and reads its whole answer. */
async function answerOf(
  pool: ReturnType<UpstreamServer['pool']>,
  { method, path, headers, body, signal, maxBytes = callMaxBytes }: UpstreamCall,
): Promise<UpstreamAnswer> {
  const { connection, ...sent } = headers
  const answer = await pool.request({
    method,
    path,
    headers: sent,
    reset: connection === 'close',
    body: body === undefined ? null : Buffer.from(body),
    signal,
  })
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer.body as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > maxBytes) {
      throw new UpstreamFailure('broken', `the upstream's answer is above ${maxBytes} bytes`)
    }
    pieces.push(piece)
  }
  return {
    code: answer.statusCode,
    headers: answer.headers as UpstreamAnswer['headers'],
    body: Buffer.concat(pieces),
  }
}

/** Error codes of calls that never had a connection. */
const unreachableCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
])

function isBetter(server: UpstreamServer, other: UpstreamServer): boolean {
  const isWell = server.problem === undefined
  if (isWell !== (other.problem === undefined)) return isWell
  return server.load < other.load
}
