/** Follows the version of the upstream, and what else decides how it writes its objects. */

import { type Clock, sleep } from '../../base/clock.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Upstream } from '../upstream.ts'
import { readableDocument } from './ask.ts'
import { type ServerVersion, ServerVersions } from './server-versions.ts'
import { StoredVersions } from './stored-versions.ts'
import { UpstreamState } from './upstream-state.ts'

export interface FollowedVersionOptions {
  readonly upstream: Pick<Upstream, 'call' | 'callEach'>
  readonly clock: Clock
  readonly logger: Logger
  /** The upstream is a kube-apiserver. Any other server has its own version numbers, which say nothing about Kubernetes. */
  readonly isKubernetes: () => boolean
  /** The built-in resources that the upstream lists. */
  readonly builtIns: () => Iterable<Resource>
  /** Called when something is newly known, or has changed. */
  readonly onChange: () => void
}

/** A server that is replaced is noticed within this, if its health check has not noticed it before. */
const intervalMs = 10_000
/** The interval while something is unknown, or while servers differ. */
const doubtfulIntervalMs = 500
const openApiIntervalMs = 30_000
const gatesIntervalMs = 600_000

export class FollowedVersion {
  readonly #options: FollowedVersionOptions
  readonly #versions = new ServerVersions()
  readonly #state: UpstreamState
  readonly #stored: StoredVersions
  #isStateRead = false
  #gatesDueMs = 0
  #openApiDueMs = 0
  #hasFailed = false
  #cutPause = (): void => {}

  constructor(options: FollowedVersionOptions) {
    this.#options = options
    this.#state = new UpstreamState(options.upstream)
    this.#stored = new StoredVersions(options.upstream)
  }

  /** The version of all servers; undefined while it is not known, or while they differ. */
  get version(): ServerVersion | undefined {
    return this.#versions.agreed
  }

  /** True if servers of different versions answer. */
  get differ(): boolean {
    return this.#versions.differ
  }

  /** A text that changes when the upstream may write a resource in another way; undefined while too little is known. */
  stateOf(resource: Resource): string | undefined {
    if (!this.#isStateRead) return undefined
    return `${this.version?.text ?? ''}\n${this.#state.stateOf(resource)}`
  }

  /** True if a server stores the resource in another version than servers of its minor do. */
  isStoredOtherwise(resource: Resource): boolean {
    return this.#stored.differs(resource)
  }

  /** The upstream may be another server now. */
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
    const documents = answers.map(answer => readableDocument(path, answer))
    this.#versions.take(documents)
    const isAnswered = documents.some(document => document !== undefined)
    if (!isAnswered && !this.#hasFailed && !signal.aborted) {
      logger.warn('the version of the upstream cannot be read: trying again')
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
    // What cannot be read is left out: versions and comparisons remain.
    await Promise.allSettled(asked)
    if (isKubernetes()) await this.#readStored(signal)
    this.#isStateRead = true
  }

  /** Reads the versions in which resources are stored, whenever a server may have been started anew, and with the gates. */
  async #readStored(signal: AbortSignal): Promise<void> {
    const { builtIns } = this.#options
    const epoch = `${this.version?.text ?? ''} ${this.#gatesDueMs}`
    const stateOf = (resource: Resource): string => `${epoch} ${this.#state.stateOf(resource)}`
    await Promise.allSettled([this.#stored.read(builtIns(), stateOf, signal)])
  }
}
