/** Finds out whether a cluster knows the sender of a request before it is started for that request,
 *  so that strangers wake none.
 *
 *  The cluster's authentication alone is opened for that: authorities, tokens and keys decide here;
 *  about a token that only its API server knows that server is asked, by the review that decides
 *  about requests once the cluster is awake, with its bounds and caches. No mirror, no etcd and no
 *  credentials of ours are needed. All of it is closed when nobody has asked for a while. */

import { readFile } from 'node:fs/promises'
import { type CancelTimer, type Clock, type Logger, unreachable } from '@watchglass/base'
import {
  authorizationOf,
  bearerToken,
  type Callers,
  createAuthorizer,
  type HttpRequest,
  isImpersonating,
  saltOfHashes,
  systemRandom,
  type Verdict,
} from '@watchglass/cache'
import type { ClusterAccessOptions } from '@watchglass/simulator'
import { load } from '../../compose/loaded-code.ts'
import { listenOption } from '../../options/listening.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { valueOf } from '../../options/rules.ts'
import { type Guarded, startGuarded } from '../plan/access.ts'
import { accessOf } from './cluster-access.ts'
import type { OpenChecks } from './open-checks.ts'
import { requestAsSelf } from './request-of-caller.ts'

/** The standing of a sender. `unanswered`: only the API server knows, and does not say now. */
export type SenderStanding = 'known' | 'stranger' | 'unanswered' | 'crowded'

export interface SenderCheckOptions {
  readonly values: OptionValues
  /** The checks of all clusters that are open. */
  readonly open: OpenChecks
  readonly clock: Clock
  readonly logger: Logger
}

/** For so long it stays open without a question. */
const keptMs = 30_000

/** The authentication of a cluster, opened. */
interface OpenSenders {
  knows(request: HttpRequest): Promise<SenderStanding>
  readonly authorities: readonly string[]
  stop(): Promise<void>
}

export class SenderCheck {
  readonly #options: SenderCheckOptions
  #authorities: readonly string[] = []
  #opened: Promise<OpenSenders> | undefined
  #asking = 0
  #cancelClose: CancelTimer = () => {}

  constructor(options: SenderCheckOptions) {
    this.#options = options
  }

  /** The authorities of client certificates (PEM), as far as they are known without the API
   *  server. */
  get authorities(): readonly string[] {
    return this.#authorities
  }

  /** Reads the authorities that options name: TLS must know them before a client can show a
   *  certificate. One that cannot be read is a problem of the start. */
  async readAuthorities(): Promise<void> {
    const { values } = this.#options
    const files = ['client-ca', 'requestheader-client-ca'].flatMap(name => values.text(name) ?? [])
    if (files.length === 0) return
    const read = await Promise.allSettled(files.map(file => readFile(file, 'utf8')))
    this.#authorities = read.flatMap(one => (one.status === 'fulfilled' ? one.value : []))
  }

  /** Fails if the authentication of the cluster cannot be opened: nor could the cluster. */
  async check(request: HttpRequest): Promise<SenderStanding> {
    if (!this.#hasCredentials(request)) return 'stranger'
    const { open } = this.#options
    if (this.#opened === undefined && !open.makeRoomFor(this)) return 'crowded'
    this.#asking++
    this.#cancelClose()
    const opening = (this.#opened ??= this.#openSenders())
    try {
      const opened = await opening
      if (opened.authorities.length > 0) this.#authorities = opened.authorities
      return await opened.knows(request)
    } catch (error) {
      if (this.#opened === opening) this.#opened = undefined
      throw error
    } finally {
      this.#asking--
      if (this.#asking === 0) this.#closeLater()
    }
  }

  get isAsking(): boolean {
    return this.#asking > 0
  }

  /** Closes what is open; the next question opens it again. */
  async stop(): Promise<void> {
    this.#cancelClose()
    this.#options.open.forget(this)
    const opened = this.#opened
    this.#opened = undefined
    // What cannot be opened has told whoever asked.
    await opened?.then(
      senders => senders.stop(),
      () => {},
    )
  }

  /** A certificate that TLS has refused says something only before the authorities are known. */
  #hasCredentials(request: HttpRequest): boolean {
    if (bearerToken(authorizationOf(request)) !== undefined) return true
    const { peer } = request
    if (peer.certificate() !== undefined) return true
    return this.#authorities.length === 0 && peer.hasRefusedCertificate()
  }

  #closeLater(): void {
    this.#cancelClose = this.#options.clock.setTimer(keptMs, () => void this.stop())
  }

  async #openSenders(): Promise<OpenSenders> {
    const { values, logger } = this.#options
    const ends: (() => unknown)[] = []
    const stop = async (): Promise<void> => {
      for (const end of ends.splice(0).reverse()) await end()
    }
    try {
      const user = await accessOf({ values, logger }, end => ends.push(end))
      const asked = user === undefined ? values : values.with('upstream', [user.url.origin])
      const { host } = valueOf(asked, listenOption)
      // Warnings about options are for the start of the cluster, not for each stranger.
      const quiet = { ...logger, warn: () => {} }
      const guarded = await startGuarded(asked, host, quiet, user)
      ends.push(
        () => guarded.upstream?.servers.stop(),
        () => guarded.stop(),
      )
      const authorities = guarded.tls?.authorities?.() ?? []
      const { rbac } = guarded
      const knows =
        rbac === undefined ? this.#byReviews(guarded, ends) : await this.#byOwnMeans(rbac)
      return { knows, authorities, stop }
    } catch (error) {
      await stop().catch(() => {})
      throw error
    }
  }

  /** Certificates, the file of tokens, and the signature of service accounts' tokens. */
  async #byOwnMeans({
    callers,
    tokens,
    accountKeys,
  }: ClusterAccessOptions): Promise<OpenSenders['knows']> {
    const { clock } = this.#options
    const [{ AccountTokens }, { readAccountKeys }] = await Promise.all([
      load.accountTokens(),
      load.accountKeys(),
    ])
    let keys: ReturnType<typeof readAccountKeys> | undefined
    const accounts = new AccountTokens({
      issuers: accountKeys.issuers,
      keys: () => (keys ??= readAccountKeys(accountKeys, saltOfHashes)),
      nowMs: () => clock.wallMs(),
      id: () => '',
      uidOf: () => undefined,
    })
    return request => {
      const token = bearerToken(authorizationOf(request))
      const isKnown =
        isCertified(request, callers) ||
        (token !== undefined && (tokens.userOf(token) !== undefined || accounts.isOurs(token)))
      return Promise.resolve(isKnown ? 'known' : 'stranger')
    }
  }

  /** By what decides about requests once the cluster is awake. Whom the API server denies what is
   *  asked for here, it knows. */
  #byReviews({ authorization }: Guarded, ends: (() => unknown)[]): OpenSenders['knows'] {
    const { clock, logger } = this.#options
    const metrics = { review() {}, prolonged() {} }
    const authorizer = createAuthorizer(authorization && { ...authorization, canPass: true }, {
      clock,
      random: systemRandom,
      metrics,
      logger,
    })
    ends.push(() => authorizer?.stop())
    return async request => {
      if (authorizer === undefined || authorization === undefined) return 'known'
      if (isCertified(request, authorization.callers)) return 'known'
      // Whoever asks as somebody else has credentials of their own.
      const asked = isImpersonating(request) ? requestAsSelf(request, '/api') : request
      return standingOf(await authorizer.authorize(asked, { verb: 'get', path: '/api' }))
    }
  }
}

function isCertified(request: HttpRequest, callers: Callers): boolean {
  return callers.callerOf(request)?.identity !== undefined
}

function standingOf(verdict: Verdict): SenderStanding {
  switch (verdict.type) {
    case 'granted':
      return 'known'
    case 'refuse':
      return 'stranger'
    case 'pass':
      if (verdict.reason === 'denied') return 'known'
      return verdict.reason === 'review-failed' ? 'unanswered' : 'stranger'
    default:
      return unreachable(verdict)
  }
}
