/** The server that `watchglass get` asks: where it is, and as whom. */

import { PassThrough } from 'node:stream'
import { CacheError, type Logger, sleep } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import { KubeconfigAccess, nodeSystem } from '@watchglass/kubeconfig'
import type { BalancedUpstream } from '@watchglass/proxy'
import { load } from '../../compose/loaded-code.ts'

export interface ViewServerOptions {
  readonly server: URL | undefined
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** A document is not longer: 1000 rows with their objects. */
const answerMaxBytes = 256 * 1024 * 1024

/** Tries of a read: `watchglass proxy` mirrors a resource when it is first read. */
const triesMax = 10
const retryMaxSeconds = 5

export class ViewServer {
  /** The namespace of the kubeconfig's context. */
  readonly namespace: string
  readonly #upstream: BalancedUpstream
  readonly #signal: AbortSignal
  readonly #stop: () => void

  private constructor(
    upstream: BalancedUpstream,
    { namespace, signal, stop }: { namespace: string; signal: AbortSignal; stop: () => void },
  ) {
    this.namespace = namespace
    this.#upstream = upstream
    this.#signal = signal
    this.#stop = stop
  }

  /** As kubectl does: the address may be another one than that of the kubeconfig. */
  static async open(options: ViewServerOptions): Promise<ViewServer> {
    const { server, kubeconfig, context, logger, signal } = options
    const { upstreamOfUser } = await load.upstreamServers()
    const parts = { clock: systemClock, logger }
    const isNamed = kubeconfig !== undefined || context !== undefined
    if (server?.protocol === 'http:' && !isNamed) {
      const upstream = upstreamOfUser(withoutCredentials(server), parts)
      return new ViewServer(upstream, { namespace: 'default', signal, stop: () => {} })
    }
    const access = await KubeconfigAccess.open({
      kubeconfig,
      context,
      system: nodeSystem(),
      ...parts,
    })
    const { url, namespace } = access
    const asked = server ?? url
    const isSafe = asked.protocol === 'https:' && url.protocol === 'https:'
    const upstream = upstreamOfUser(
      {
        url: asked,
        proxy: access.proxy,
        tls: access.tls,
        credentials: isSafe || server === undefined ? () => access.credentials() : noCredentials,
        subscribe: listener => access.subscribe(listener),
      },
      parts,
    )
    return new ViewServer(upstream, { namespace, signal, stop: () => access.stop() })
  }

  /** The document at a path. A server that is not ready, or busy, is asked again a few times. Fails
   *  with the message of a refusal. */
  async get(path: string, accept = 'application/json'): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      const { code, headers, body } = await this.#upstream.call(
        {
          method: 'GET',
          path,
          headers: { accept },
          maxBytes: answerMaxBytes,
          signal: this.#signal,
        },
        'ourselves',
      )
      const text = Buffer.from(body).toString()
      if (code === 200) return JSON.parse(text)
      const seconds = Number(headers['retry-after'])
      if (!(seconds >= 0 && seconds <= retryMaxSeconds) || tries === triesMax) {
        throw refusalOf(code, text, path)
      }
      await sleep(systemClock, seconds * 1000, this.#signal)
    }
  }

  /** The pieces of an answer that goes on, until the server or the signal ends it. Fails as `get`
   *  does. */
  async *stream(path: string): AsyncGenerator<Buffer, void> {
    const headers = { accept: 'application/json', ...(await this.#upstream.credentials()) }
    const body = new PassThrough()
    let code = 0
    const control = this.#upstream.forward(
      {
        method: 'GET',
        path,
        headers: Object.entries(headers).flatMap(([name, values]) =>
          [values].flat().flatMap(value => [name, value]),
        ),
        body: undefined,
        isLongRunning: true,
        as: 'ourselves',
        isIdentified: true,
      },
      {
        started: given => void (code = given),
        data: piece => body.write(piece),
        ended: () => body.end(),
        failed: failure => body.destroy(failure),
      },
    )
    body.on('drain', () => control.resume())
    const end = (): void => void body.end()
    this.#signal.addEventListener('abort', end, { once: true })
    const refused: Buffer[] = []
    try {
      for await (const piece of body) {
        if (code === 200) yield piece as Buffer
        else refused.push(piece as Buffer)
      }
      if (code >= 300) throw refusalOf(code, Buffer.concat(refused).toString(), path)
    } finally {
      this.#signal.removeEventListener('abort', end)
      control.abort()
      body.destroy()
    }
  }

  async close(): Promise<void> {
    this.#stop()
    await this.#upstream.stop()
  }
}

type UpstreamOfUser = Awaited<ReturnType<typeof load.upstreamServers>>['upstreamOfUser']

function withoutCredentials(url: URL): Parameters<UpstreamOfUser>[0] {
  const tls = {
    ca: undefined,
    serverName: undefined,
    isUnverified: false,
    cert: undefined,
    key: undefined,
  }
  return { url, proxy: undefined, tls, credentials: noCredentials, subscribe: () => () => {} }
}

function noCredentials(): Promise<{ headers: Record<string, string>; refused: () => void }> {
  return Promise.resolve({ headers: {}, refused: () => {} })
}

/** The Status of a refusal in one line. */
function refusalOf(code: number, text: string, path: string): CacheError {
  const message = messageIn(text)
  const isView = path.startsWith('/views/')
  const hint =
    isView && code === 404 && message === ''
      ? ': this server has no views: is it Watchglass, of this version?'
      : ''
  const kind = code === 400 || code === 422 ? 'invalid_request' : 'upstream_failed'
  return new CacheError(kind, message === '' ? `the answer is ${code}${hint}` : message)
}

function messageIn(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? message : ''
  } catch {
    return ''
  }
}
