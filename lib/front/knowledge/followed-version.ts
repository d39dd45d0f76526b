/** Follows the versions of the upstream's servers, and what else decides how they write their
 *  objects. */

import { type Clock, sleep } from '../../base/clock.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { UpstreamAnswer, UpstreamCall } from '../../http/auth/upstream-calls.ts'
import { readableDocument } from '../upstream/ask.ts'
import { type ServerVersion, ServerVersions } from './server-versions.ts'
import { StoredVersions } from './stored-versions.ts'
import { UpstreamState } from './upstream-state.ts'
import { VersionLines } from './version-lines.ts'

export interface FollowedVersionOptions {
  readonly upstream: Pick<Upstream, 'call' | 'callEach' | 'line'>
  readonly clock: Clock
  readonly logger: Logger
  /** The upstream is a kube-apiserver. Any other server has its own version numbers, which say
   *  nothing about Kubernetes. */
  readonly isKubernetes: () => boolean
  /** The built-in resources that the upstream lists. */
  readonly builtIns: () => Iterable<Resource>
  /** Called when something is newly known, or has changed. */
  readonly onChange: () => void
}

/** A server that is replaced is noticed within this, if its health check has not noticed it
 *  before. */
const intervalMs = 10_000
/** The interval while something is unknown, or while servers differ. */
const doubtfulIntervalMs = 500
/** The interval when something has changed: a server that was started anew is known as what it is
 *  now within two seconds. */
const changedIntervalMs = 125
const openApiIntervalMs = 30_000
const gatesIntervalMs = 600_000

/** The knowledge of the servers of one version. */
interface FollowedState {
  readonly state: UpstreamState
  isRead: boolean
  gatesDueMs: number
  openApiDueMs: number
}

export class FollowedVersion {
  readonly #options: FollowedVersionOptions
  readonly #versions = new ServerVersions()
  readonly #lines: VersionLines
  /** By version; by an empty text where the versions of the upstream say nothing, or are not
   *  known. */
  readonly #states = new Map<string, FollowedState>()
  readonly #stored: StoredVersions
  #hasFailed = false
  #cutPause = (): void => {}

  constructor(options: FollowedVersionOptions) {
    this.#options = options
    this.#lines = new VersionLines(options.upstream)
    this.#stored = new StoredVersions(options.upstream)
  }

  /** Each version that answers, oldest first; none while nothing is known. */
  get versions(): readonly ServerVersion[] {
    return this.#versions.all
  }

  /** True if servers of several versions answer, and none of them can be chosen: requests of one
   *  connection go to several. */
  get areInseparable(): boolean {
    return this.versions.length > 1 && this.#lines.isShared
  }

  /** For each version that answers, a text that changes when its servers may write a resource in
   *  another way; none while too little is known. */
  statesOf(resource: Resource): ReadonlyMap<string, string> {
    const states = [...this.#states].filter(([, { isRead }]) => isRead)
    return new Map(
      states.map(([version, { state }]) => [version, `${version}\n${state.stateOf(resource)}`]),
    )
  }

  /** Asks servers of one version, or any if the text is empty, or if there is no other. */
  upstreamOf(version: string): Pick<Upstream, 'call'> {
    if (version === '' || this.versions.length < 2) return this.#options.upstream
    return { call: (request: UpstreamCall) => this.#lines.call(version, request) }
  }

  /** True if a server stores the resource in another version than servers of its minor do. */
  isStoredOtherwise(resource: Resource): boolean {
    return this.#stored.differs(resource)
  }

  /** The upstream may be another server now. */
  askAgain(): void {
    for (const state of this.#states.values()) state.gatesDueMs = state.openApiDueMs = 0
    this.#cutPause()
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { clock, isKubernetes, onChange } = this.#options
    while (!signal.aborted) {
      if (isKubernetes()) await this.#askVersions(signal)
      await this.#askStates(signal)
      if (signal.aborted) return
      onChange()
      const pause = new LinkedAbort(signal)
      this.#cutPause = () => pause.abort()
      await sleep(clock, isKubernetes() ? this.#pauseMs() : intervalMs, pause.signal)
      pause.release()
    }
  }

  #pauseMs(): number {
    if (this.#versions.isSettled) return intervalMs
    return this.#versions.haveChanged ? changedIntervalMs : doubtfulIntervalMs
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

  async #askStates(signal: AbortSignal): Promise<void> {
    const isKubernetes = this.#options.isKubernetes()
    const known = new Set(isKubernetes ? this.versions.map(({ text }) => text) : [])
    if (known.size === 0) known.add('')
    this.#lines.forgetAllBut(known)
    for (const version of this.#states.keys()) {
      if (!known.has(version)) this.#states.delete(version)
    }
    await Promise.all([...known].map(version => this.#askState(version, signal)))
    if (isKubernetes) await this.#readStored(signal)
  }

  /** A server of another version may have joined and not be known yet: this must not be taken for a
   *  change of the others. */
  async #callSurely(version: string, request: UpstreamCall): Promise<UpstreamAnswer> {
    try {
      if (version !== '') return await this.#lines.call(version, request)
    } catch (error) {
      if (this.versions.length > 1) throw error
    }
    return this.#options.upstream.call(request, 'ourselves')
  }

  async #askState(version: string, signal: AbortSignal): Promise<void> {
    const { clock, isKubernetes } = this.#options
    const followed = this.#states.get(version) ?? {
      state: new UpstreamState({ call: request => this.#callSurely(version, request) }),
      isRead: false,
      gatesDueMs: 0,
      openApiDueMs: 0,
    }
    this.#states.set(version, followed)
    const nowMs = clock.monotonicMs()
    const asked: Promise<void>[] = []
    if (isKubernetes() && nowMs >= followed.gatesDueMs) {
      asked.push(followed.state.readGates(signal))
      followed.gatesDueMs = nowMs + gatesIntervalMs
    }
    if (nowMs >= followed.openApiDueMs) {
      asked.push(followed.state.readOpenApi(signal))
      followed.openApiDueMs = nowMs + openApiIntervalMs
    }
    // What cannot be read is left out: versions and comparisons remain.
    await Promise.allSettled(asked)
    followed.isRead = true
  }

  /** Reads the versions in which resources are stored, whenever a server may have been started
   *  anew, and with the gates. */
  async #readStored(signal: AbortSignal): Promise<void> {
    const { builtIns } = this.#options
    const epoch = [...this.#states.values()].map(({ gatesDueMs }) => gatesDueMs).join(' ')
    const stateOf = (resource: Resource): string =>
      [epoch, ...this.statesOf(resource).values()].join(' ')
    await Promise.allSettled([this.#stored.read(builtIns(), stateOf, signal)])
  }
}
