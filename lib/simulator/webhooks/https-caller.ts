/** Calls webhooks over HTTPS. The hosts are named by clients: who may be called is the operator's
 *  choice, redirects lead nowhere, and answers, time and calls at once are bounded. */

import { Agent, request as sendRequest, type RequestOptions } from 'node:https'
import { posix } from 'node:path'
import { trusting } from '@watchglass/base'
import {
  CallFailure,
  type HookCall,
  type HookCaller,
  type HookClient,
  type HookReply,
} from '@watchglass/writes'

export interface HttpsCallerOptions {
  /** URLs of services, each with a host and a port, by NAMESPACE/NAME. */
  readonly services: ReadonlyMap<string, URL>
  /** Hosts, with or without a port, that URLs may name; undefined: any. */
  readonly hosts: ReadonlySet<string> | undefined
}

/** Calls under way at once: more would hold sockets without end. */
const callsMax = 256
/** Bytes of their bodies: what a webhook does not read waits for it, encrypted. */
const bodiesMaxBytes = 256 * 1024 * 1024

/** Calls under way, and their bytes. */
interface Load {
  calls: number
  bytes: number
}

/** Creates it. Each call has a connection of its own. */
export function createHttpsCaller(options: HttpsCallerOptions): HookCaller {
  const all: Load = { calls: 0, bytes: 0 }
  const byHost = new Map<string, Load>()
  return {
    async post(call, signal) {
      const { url, authority } = targetOf(call, options)
      const length = lengthOf(call.body)
      const own = byHost.get(url.host) ?? { calls: 0, bytes: 0 }
      if (!fits(own, all, length)) throw failed('too many calls of webhooks are under way')
      byHost.set(url.host, own)
      for (const load of [own, all]) {
        load.calls++
        load.bytes += length
      }
      try {
        return await send(url, authority, call, signal)
      } catch (error) {
        // Certificates that are none are refused at once.
        throw error instanceof CallFailure ? error : failed(`Post "${url.href}": ${String(error)}`)
      } finally {
        for (const load of [own, all]) {
          load.calls--
          load.bytes -= length
        }
        if (own.calls === 0) byHost.delete(url.host)
      }
    },
  }
}

/** True if a host may have one more call: it takes no more than it leaves free for others. One that
 *  hangs has half of all, a second one a quarter. */
function fits(own: Load, all: Load, length: number): boolean {
  return own.calls < callsMax - all.calls && own.bytes + length <= bodiesMaxBytes - all.bytes
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

interface Target {
  readonly url: URL
  readonly authority: Authority
}

/** The authorities that may have signed the certificate of a webhook, and the name in it. */
interface Authority {
  readonly ca: string | undefined
  readonly servername: string | undefined
}

function targetOf({ client, query }: HookCall, options: HttpsCallerOptions): Target {
  const ca =
    client.authority === '' ? undefined : Buffer.from(client.authority, 'base64').toString()
  const { service } = client
  if (service === undefined) {
    const url = urlOf(client)
    url.pathname = joinedPath(url.pathname)
    url.search = query
    const { hosts } = options
    if (hosts !== undefined && !hosts.has(url.host) && !hosts.has(url.hostname)) {
      throw failed(`Post "${url.href}": ${url.host} is not named by --webhook-host`)
    }
    return { url, authority: { ca, servername: undefined } }
  }
  const { namespace, name, path, port } = service
  const at = options.services.get(`${namespace}/${name}`)
  const servername = `${name}.${namespace}.svc`
  if (at === undefined) {
    throw failed(
      `Post "https://${servername}:${port}${joinedPath(path)}?${query}": no --webhook-service says where ${namespace}/${name} is`,
    )
  }
  const url = new URL(at)
  url.pathname = joinedPath(path)
  url.search = query
  return { url, authority: { ca, servername } }
}

/** The path as kube-apiserver asks for it (`path.Join` of Go): envtest writes `//validate`, which
 *  servers in Go answer with a redirect. */
function joinedPath(path: string): string {
  const joined = posix.join('/', path)
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined
}

function urlOf({ url }: HookClient): URL {
  try {
    return new URL(url)
  } catch {
    throw failed(`parse "${url}": invalid URL`)
  }
}

function failed(reason: string): CallFailure {
  return new CallFailure(`failed to call webhook: ${reason}`)
}

function send(
  url: URL,
  { ca, servername }: Authority,
  { body, timeoutMs, answerMaxBytes }: HookCall,
  signal: AbortSignal,
): Promise<HookReply> {
  const options: RequestOptions = {
    method: 'POST',
    // Closed after the answer.
    agent: new Agent({ keepAlive: false }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, */*',
      'user-agent': 'kube-apiserver-admission',
      'content-length': lengthOf(body),
    },
    ...trusting(ca),
    ...(servername === undefined ? {} : { servername }),
  }
  return new Promise((resolve, reject) => {
    const fail = (reason: string): void => reject(failed(`Post "${url.href}": ${reason}`))
    const sent = sendRequest(url, options, response => {
      const pieces: Buffer[] = []
      let bytes = 0
      response.on('data', (piece: Buffer) => {
        bytes += piece.length
        if (bytes <= answerMaxBytes) pieces.push(piece)
        else {
          fail(`the answer is larger than ${answerMaxBytes} bytes`)
          sent.destroy()
        }
      })
      response.on('error', () => fail('unexpected EOF'))
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces) })
        // Who answers before it has read everything takes no more of it.
        sent.destroy()
      })
    })
    const timer = setTimeout(() => {
      fail('context deadline exceeded')
      sent.destroy()
    }, timeoutMs)
    const aborted = (): void => {
      fail('context canceled')
      sent.destroy()
    }
    signal.addEventListener('abort', aborted, { once: true })
    sent.on('error', (error: NodeJS.ErrnoException) => fail(reasonOf(error, url)))
    sent.on('close', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      fail('EOF')
    })
    if (signal.aborted) aborted()
    for (const piece of body) sent.write(piece)
    sent.end()
  })
}

/** The words of a Go client for what went wrong. */
function reasonOf({ code = '', message }: NodeJS.ErrnoException, url: URL): string {
  const port = url.port === '' ? '443' : url.port
  switch (code) {
    case 'ECONNREFUSED':
      return `dial tcp ${url.hostname}:${port}: connect: connection refused`
    case 'ECONNRESET':
    case 'EPIPE':
      return 'EOF'
    case 'ENOTFOUND':
      return `dial tcp: lookup ${url.hostname}: no such host`
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return 'tls: failed to verify certificate: x509: certificate signed by unknown authority'
    default:
      return code === 'ERR_TLS_CERT_ALTNAME_INVALID'
        ? `tls: failed to verify certificate: x509: certificate is not valid for ${url.hostname}`
        : message
  }
}
