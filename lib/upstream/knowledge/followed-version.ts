/** Follows of which version the upstream is, and what else decides how it writes its objects. */

import { type Clock, sleep } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Upstream, UpstreamAnswer } from '../upstream.ts'
import { documentOf } from './ask.ts'
import { type ServerVersion, ServerVersions } from './server-versions.ts'
import { UpstreamState } from './upstream-state.ts'

export interface FollowedVersionOptions {
  readonly upstream: Pick<Upstream, 'call' | 'callEach'>
  readonly clock: Clock
  readonly logger: Logger
  /** The upstream is a kube-apiserver; the version of any other server is its own, and says nothing of Kubernetes. */
  readonly isKubernetes: () => boolean
  /** Something is known that was not known, or is another. */
  readonly onChange: () => void
}

/** A server that is replaced is noticed within this, if its health check has not noticed it before. */
const intervalMs = 10_000
/** As long as not all is known, or servers differ. */
const doubtfulIntervalMs = 500
const openApiIntervalMs = 30_000
const gatesIntervalMs = 600_000

export class FollowedVersion {
  readonly #options: FollowedVersionOptions
  readonly #versions = new ServerVersions()
  readonly #state: UpstreamState
  #isStateRead = false
  #gatesDueMs = 0
  #openApiDueMs = 0
  #hasFailed = false
  #cutPause = (): void => {}

  constructor(options: FollowedVersionOptions) {
    this.#options = options
    this.#state = new UpstreamState(options.upstream)
  }

  /** What all servers are; undefined while that is not known, or they differ. */
  get version(): ServerVersion | undefined {
    return this.#versions.agreed
  }

  /** Servers of different versions answer. */
  get differ(): boolean {
    return this.#versions.differ
  }

  /** Equal for as long as a resource is written in the same way, as far as this can be seen; undefined while too little is known. */
  stateOf(resource: Resource): string | undefined {
    if (!this.#isStateRead) return undefined
    return `${this.version?.text ?? ''}\n${this.#state.stateOf(resource)}`
  }

  /** The upstream may be another one by now. */
  askAgain(): void {
    this.#gatesDueMs = 0
    this.#openApiDueMs = 0
    this.#cutPause()
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { clock, isKubernetes, onChange } = this.#options
    while (!signal.aborted) {
      const before = this.version?.text
      if (isKubernetes()) await this.#askVersions(signal)
      if (this.version?.text !== before) this.#gatesDueMs = this.#openApiDueMs = 0
      await this.#askState(signal)
      if (signal.aborted) return
      onChange()
      const isDoubtful = isKubernetes() && !this.#versions.isSettled
      const pause = new LinkedAbort(signal)
      this.#cutPause = () => pause.abort()
      await sleep(clock, isDoubtful ? doubtfulIntervalMs : intervalMs, pause.signal)
      pause.release()
    }
  }

  async #askVersions(signal: AbortSignal): Promise<void> {
    const { upstream, logger } = this.#options
    const path = '/version'
    const headers = { accept: 'application/json' }
    const answers = await upstream.callEach({ method: 'GET', path, headers, signal }, 'ourselves')
    const documents = answers.map(answer => readVersion(path, answer))
    this.#versions.take(documents)
    const isAnswered = documents.some(document => document !== undefined)
    if (!isAnswered && !this.#hasFailed && !signal.aborted) {
      logger.warn('the upstream does not say its version')
    }
    this.#hasFailed = !isAnswered
  }

  async #askState(signal: AbortSignal): Promise<void> {
    const { clock, isKubernetes } = this.#options
    const nowMs = clock.monotonicMs()
    const asked: Promise<void>[] = []
    if (isKubernetes() && nowMs >= this.#gatesDueMs) {
      asked.push(this.#state.readGates(signal))
      this.#gatesDueMs = nowMs + gatesIntervalMs
    }
    if (nowMs >= this.#openApiDueMs) {
      asked.push(this.#state.readOpenApi(signal))
      this.#openApiDueMs = nowMs + openApiIntervalMs
    }
    // What is not to be had is done without: versions and comparisons remain.
    await Promise.allSettled(asked)
    this.#isStateRead = true
  }
}

function readVersion(path: string, answer: UpstreamAnswer | undefined): unknown {
  if (answer === undefined) return undefined
  try {
    return documentOf(path, answer)
  } catch (error) {
    if (error instanceof CacheError) return undefined
    throw error
  }
}
