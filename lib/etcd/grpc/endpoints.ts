/** The members of an etcd cluster as they were given to us, and which of them to try first. */

import { createSecureContext, type SecureContext } from 'node:tls'
import { CacheError, trusting } from '@watchglass/base'
import { Channel } from './channel.ts'

/** The contents of PEM files. Without `ca`, the certificate authorities that Node knows are
 *  trusted. */
export interface Tls {
  readonly ca?: Buffer | undefined
  /** The client's own certificate chain and key: both or none. */
  readonly cert?: Buffer | undefined
  readonly key?: Buffer | undefined
}

const traffics = ['reads', 'watches', 'questions'] as const
type Traffic = (typeof traffics)[number]

/** A connection for questions that takes longer is given up. */
const questionsConnectMs = 5000

/** One member. Watches have a connection apart from reads: a big read can starve the watches that
 *  share its connection for minutes (etcd issue 15402). So have short questions: nobody waits for
 *  their connection, and until there is one they go with the reads. */
export class Endpoint {
  readonly url: string
  /** Number of failures of any member when this one failed last; 0 when it never has. */
  lastFailure = 0
  readonly #address: string
  readonly #isSecure: boolean
  #secureContext: SecureContext | undefined
  readonly #onConnected: () => void
  readonly #channels: Record<Traffic, Channel>
  /** Connections that were given up, with calls that may still be answered. */
  #givenUp: Channel[] = []

  constructor(url: string, tls: Tls | undefined, onConnected: () => void) {
    const { address, isSecure } = parseEndpoint(url, tls !== undefined)
    this.url = url
    this.#onConnected = onConnected
    this.#address = address
    this.#isSecure = isSecure
    this.#secureContext = isSecure ? secureContextOf(tls) : undefined
    const create = (): Channel => this.#createChannel()
    this.#channels = { reads: create(), watches: create(), questions: create() }
  }

  get reads(): Channel {
    return this.#channel('reads')
  }

  get watches(): Channel {
    return this.#channel('watches')
  }

  /** The channel of short questions. */
  get questions(): Channel {
    const questions = this.#channel('questions')
    if (questions.isConnected) return questions
    // Why there is none is for the reads to say.
    questions.connect(questionsConnectMs).catch(() => undefined)
    return this.reads
  }

  /** Uses other certificates from now on: calls under way end on their old connections. */
  renew(tls: Tls): void {
    if (!this.#isSecure) return
    this.#secureContext = secureContextOf(tls)
    for (const traffic of traffics) this.#replace(traffic)
  }

  close(): void {
    for (const channel of [...Object.values(this.#channels), ...this.#givenUp]) channel.close()
  }

  #channel(traffic: Traffic): Channel {
    const channel = this.#channels[traffic]
    return channel.isSuspect ? this.#replace(traffic) : channel
  }

  #createChannel(): Channel {
    return new Channel({
      url: this.url,
      address: this.#address,
      tls: this.#secureContext,
      onConnected: this.#onConnected,
    })
  }

  #replace(traffic: Traffic): Channel {
    const old = this.#channels[traffic]
    old.giveUp()
    this.#givenUp = [...this.#givenUp.filter(({ isIdle }) => !isIdle), old]
    this.#channels[traffic] = this.#createChannel()
    return this.#channels[traffic]
  }
}

/** All members. One that failed is tried last the next time, so that a dead or paused member is
 *  asked once and then left alone until the others have failed too. */
export class Endpoints {
  readonly all: readonly Endpoint[]
  #failures = 0
  #connections = 0

  /** The order of `urls` is the order of preference. */
  constructor(urls: readonly string[], tls: Tls | undefined) {
    if (urls.length === 0) throw new CacheError('invalid_request', 'no etcd endpoint given')
    this.all = urls.map(url => new Endpoint(url, tls, () => this.#connections++))
  }

  /** Number of connections that were made so far. */
  get connections(): number {
    return this.#connections
  }

  /** The one whose last failure is longest ago comes first. */
  inOrder(): Endpoint[] {
    return this.all.toSorted((a, b) => a.lastFailure - b.lastFailure)
  }

  /** Uses other certificates from now on. */
  renew(tls: Tls): void {
    for (const endpoint of this.all) endpoint.renew(tls)
  }

  /** The endpoint could not be reached, or did not answer. */
  failed(endpoint: Endpoint): void {
    this.#failures++
    endpoint.lastFailure = this.#failures
  }

  close(): void {
    for (const endpoint of this.all) endpoint.close()
  }
}

/** `host:port` of an endpoint such as `https://10.0.0.1:2379`, `localhost` or `[::1]:2379`. Without
 *  a scheme, TLS is used when certificates are given, as etcdctl does. */
export function parseEndpoint(
  text: string,
  hasTls: boolean,
): { address: string; isSecure: boolean } {
  const schemeIsGiven = text.includes('://')
  const full = schemeIsGiven ? text : `${hasTls ? 'https' : 'http'}://${text}`
  if (!/^https?:/.test(full) || !URL.canParse(full)) {
    throw new CacheError('invalid_request', `etcd endpoint "${text}" is not http[s]://HOST:PORT`)
  }
  const url = new URL(full)
  const isPlain = url.protocol === 'http:'
  if ((url.pathname !== '/' && url.pathname !== '') || url.search !== '' || url.username !== '') {
    throw new CacheError('invalid_request', `etcd endpoint "${text}" has more than a host and port`)
  }
  if (isPlain && hasTls) {
    throw new CacheError(
      'invalid_request',
      `etcd endpoint "${text}" is plain, but certificates are given: use https://`,
    )
  }
  const port = portOf(text) ?? '2379'
  return { address: `${url.hostname}:${port}`, isSecure: !isPlain }
}

/** The port as it was written: URL drops one that is the scheme's own. */
function portOf(text: string): string | undefined {
  return /:(\d+)\/?$/.exec(text)?.[1]
}

function secureContextOf({ ca, cert, key }: Tls = {}): SecureContext {
  if ((cert === undefined) !== (key === undefined)) {
    throw new CacheError('invalid_request', 'a client certificate for etcd needs its key')
  }
  return createSecureContext({ ...trusting(ca), cert, key })
}
