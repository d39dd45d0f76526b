/** The servers of an API, from the addresses and files that options name: those of the upstream,
 *  and the one that reviews access. */

import { type CancelTimer, type Clock, follow, type Logger } from '@watchglass/base'
import { expiryProblem } from '@watchglass/go'
import { BalancedUpstream, type OwnCredentials } from './balanced-upstream.ts'
import type { ForwardProxyAddress } from './connect-through.ts'
import { defaultUpstreamTimeouts, UpstreamServer, type UpstreamTls } from './server.ts'
import { TokenFile } from './token.ts'

/** A server as one user reaches it: where it is, and credentials that are current. */
export interface ServerAccess {
  /** May have a path, below which the API is. */
  readonly url: URL
  /** The proxy on the way there; undefined: none. */
  readonly proxy: ForwardProxyAddress | undefined
  readonly tls: AccessTlsOptions
  credentials(): Promise<OwnCredentials>
  /** Tells of other TLS options, until the answer is called. */
  subscribe(listener: (tls: AccessTlsOptions) => void): CancelTimer
}

/** PEM, and which certificate the server is to have. */
interface AccessTlsOptions extends Pick<UpstreamTls, 'ca' | 'serverName' | 'isUnverified'> {
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

/** Connects to nothing yet. Requests as `ourselves` are those of the user. */
export function upstreamOfUser(
  access: ServerAccess,
  { clock, logger }: Pick<ServersOptions, 'clock' | 'logger'>,
): BalancedUpstream {
  const tlsOf = ({ cert, key, ca, serverName, isUnverified }: AccessTlsOptions): UpstreamTls => ({
    ca,
    serverName,
    isUnverified,
    own: cert === undefined || key === undefined ? undefined : { cert, key },
  })
  const { url, proxy: through } = access
  const timeouts = defaultUpstreamTimeouts
  return new BalancedUpstream({
    servers: [new UpstreamServer({ url, through, tls: tlsOf(access.tls), timeouts })],
    credentials: () => access.credentials(),
    timeouts,
    clock,
    logger,
    followTls: renew => access.subscribe(tls => renew(tlsOf(tls))),
  })
}

export interface ServersOptions {
  readonly urls: readonly URL[]
  /** Reads the certificates: at once, and again whenever files may have changed. */
  readonly readTls: () => UpstreamTls
  /** Name of these certificates, for people. */
  readonly what: string
  readonly tokenFile: string | undefined
  /** Time limit of an answer; the usual one if it is left out. */
  readonly answerMs?: number | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** Connects to nothing yet. Fails as `readTls` does. */
export function upstreamServers(options: ServersOptions): BalancedUpstream {
  const { urls, readTls: read, what, tokenFile, clock, logger } = options
  const { answerMs = defaultUpstreamTimeouts.answerMs } = options
  const timeouts = { ...defaultUpstreamTimeouts, answerMs }
  const tls = read()
  const problemOf = ({ own, frontProxy }: UpstreamTls): string | undefined =>
    expiryProblem(`one of the ${what}`, own?.cert, clock.wallMs()) ??
    expiryProblem(`a front proxy among the ${what}`, frontProxy?.cert, clock.wallMs())
  const token = tokenFile === undefined ? undefined : new TokenFile(tokenFile, clock)
  return new BalancedUpstream({
    servers: urls.map(url => new UpstreamServer({ url, tls, timeouts })),
    credentials:
      token &&
      (async () => ({
        headers: { authorization: `Bearer ${await token.token()}` },
        refused: () => {},
      })),
    timeouts,
    clock,
    logger,
    followTls: onChange => follow({ what, current: tls, read, problemOf, onChange, clock, logger }),
  })
}
