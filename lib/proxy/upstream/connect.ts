/** The servers of an API, from the addresses and files that options name: those of the upstream,
 *  and the one that reviews access. */

import { type Clock, follow, type Logger } from '@watchglass/base'
import { expiryProblem } from '@watchglass/go'
import { BalancedUpstream } from './balanced-upstream.ts'
import { defaultUpstreamTimeouts, UpstreamServer, type UpstreamTls } from './server.ts'
import { TokenFile } from './token.ts'

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
    token: token && (() => token.token()),
    timeouts,
    clock,
    logger,
    followTls: onChange => follow({ what, current: tls, read, problemOf, onChange, clock, logger }),
  })
}
