/** Our own questions to the upstream: discovery, versions, comparisons. Nobody waits for them, so a
 *  server that is too busy for one (429), or gone, is left alone for a while: Retry-After and
 *  growing pauses with jitter. Meanwhile questions to it fail at once, and then a single one finds
 *  out whether it answers again.
 *
 *  A failure of another kind (5xx) may concern one path only, such as that of an aggregated server
 *  that is down: whoever asks waits for longer and longer by itself. Reviews of access, which
 *  clients do wait for, are not asked here. */

import {
  CacheError,
  type Clock,
  type Logger,
  Outage,
  Pause,
  type Random,
  retryAfterMs,
} from '@watchglass/base'
import type { UpstreamAnswer, UpstreamCall, UpstreamIdentity } from '@watchglass/cache'
import { reasonFor, UpstreamFailure } from './failure.ts'
import type { UpstreamServer } from './server.ts'
import type { Questions, UpstreamLine } from './upstream.ts'

export interface OwnQuestionsOptions {
  readonly servers: readonly UpstreamServer[]
  /** The least busy server that is not one of these. */
  readonly choose: (tried: ReadonlySet<UpstreamServer>) => UpstreamServer
  readonly call: (
    server: UpstreamServer,
    request: UpstreamCall,
    as: UpstreamIdentity,
  ) => Promise<UpstreamAnswer>
  readonly openLine: (server: UpstreamServer) => UpstreamLine
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Questions by outcome; `withheld` were not sent. */
export type QuestionCounts = Record<'answered' | 'busy' | 'failed' | 'withheld', number>

const pauses = { firstMs: 500, maxMs: 10_000 }

interface Standing {
  readonly pause: Pause
  /** The reason for the pause. */
  error: UpstreamFailure | undefined
}

export class OwnQuestions implements Questions {
  readonly #options: OwnQuestionsOptions
  readonly #standings: ReadonlyMap<UpstreamServer, Standing>
  readonly #outage: Outage
  #onAnswersAgain = (): void => {}
  readonly #counts: QuestionCounts = { answered: 0, busy: 0, failed: 0, withheld: 0 }

  constructor(options: OwnQuestionsOptions) {
    this.#options = options
    const { servers, clock, random } = options
    this.#standings = new Map(
      servers.map(server => [
        server,
        { pause: new Pause(clock, random, pauses), error: undefined },
      ]),
    )
    this.#outage = new Outage({
      ...options,
      begins:
        'the upstream has no answers to our own questions: what is known of it is kept, and it is asked less often',
      ends: 'the upstream answers our own questions again',
    })
  }

  get counts(): Readonly<QuestionCounts> {
    return { ...this.#counts }
  }

  /** Calls the listener when a server that was left alone has answered. */
  onAnswersAgain(listener: () => void): void {
    this.#onAnswersAgain = listener
  }

  /** A health check has found the server well. */
  isWell(server: UpstreamServer): void {
    const standing = this.#standings.get(server)
    if (standing?.error?.fault === 'unreachable') this.#answered(standing)
  }

  async call(request: UpstreamCall, as: UpstreamIdentity): Promise<UpstreamAnswer> {
    const { servers, choose, call } = this.#options
    const left = new Set(servers.filter(server => !this.#mayAsk(server)))
    const server = choose(left.size < servers.length ? left : new Set())
    return this.#ask(server, () => call(server, request, as))
  }

  callEach(
    request: UpstreamCall,
    as: UpstreamIdentity,
  ): Promise<readonly (UpstreamAnswer | CacheError)[]> {
    const { servers, call } = this.#options
    // The next request uses another connection, which may lead to another server.
    const last = { ...request, headers: { ...request.headers, connection: 'close' } }
    const failure = (error: unknown): CacheError => CacheError.from(error, 'upstream_failed')
    return Promise.all(
      servers.map(server => this.#ask(server, () => call(server, last, as)).catch(failure)),
    )
  }

  line(): UpstreamLine {
    const { choose, openLine } = this.#options
    const server = choose(new Set())
    const line = openLine(server)
    return {
      call: request => this.#ask(server, () => line.call(request)),
      get isOpen() {
        return line.isOpen
      },
      close: () => line.close(),
    }
  }

  #mayAsk(server: UpstreamServer): boolean {
    return this.#standings.get(server)?.pause.mayAsk !== false
  }

  async #ask(server: UpstreamServer, send: () => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    const standing = this.#standings.get(server)
    if (standing === undefined) return send()
    const { pause, error: reason } = standing
    if (reason !== undefined && !pause.mayAsk) {
      this.#counts.withheld++
      throw reason
    }
    const isTrial = pause.isOn
    pause.begin()
    try {
      const answer = await send()
      this.#take(standing, answer)
      return answer
    } catch (error) {
      this.#counts.failed++
      const isGone = error instanceof UpstreamFailure && error.fault === 'unreachable'
      if (isGone) this.#leave(standing, error, 0)
      throw error
    } finally {
      if (isTrial) pause.giveUp()
    }
  }

  #take(standing: Standing, { code, headers }: UpstreamAnswer): void {
    if (code !== 429) {
      this.#counts.answered++
      this.#answered(standing)
      return
    }
    this.#counts.busy++
    const error = new UpstreamFailure('busy', 'the upstream is too busy for it (429)')
    this.#leave(standing, error, retryAfterMs(headers['retry-after']) ?? 0)
  }

  /** Leaves a server alone. Of several refusals that were under way at once, the first counts. */
  #leave(standing: Standing, error: UpstreamFailure, afterMs: number): void {
    this.#outage.failed(reasonFor(error))
    if (standing.pause.leftMs === 0) standing.error = error
    standing.pause.begins(afterMs)
  }

  #answered(standing: Standing): void {
    const { pause } = standing
    const wasLeft = pause.isOn
    pause.reset()
    pause.end()
    standing.error = undefined
    if (wasLeft) this.#onAnswersAgain()
    if ([...this.#standings.values()].every(one => !one.pause.isOn)) {
      this.#outage.answered()
    }
  }
}
