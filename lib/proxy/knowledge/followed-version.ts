/** Follows the versions of the upstream's servers, and what else decides how they write their
 *  objects.
 *
 *  While an answer cannot be had, what is known stays known, and is asked for less and less often:
 *  a busy upstream must not get all reads of our clients because it had no time to say its
 *  version. */

import {
  Backoff,
  type Clock,
  LinkedAbort,
  type Logger,
  Outage,
  type Random,
  sleep,
} from '@watchglass/base'
import type { Resource } from '@watchglass/kube'
import { reasonFor } from '../upstream/failure.ts'
import type { Questions } from '../upstream/upstream.ts'
import type { UpstreamAnswer, UpstreamCall } from '@watchglass/cache'
import { heardFrom } from '../upstream/ask.ts'
import { type ServerVersion, ServerVersions } from './server-versions.ts'
import { StoredVersions } from './stored-versions.ts'
import { UpstreamState } from './upstream-state.ts'
import { VersionLines } from './version-lines.ts'

export interface FollowedVersionOptions {
  readonly upstream: Questions
  readonly clock: Clock
  readonly random: Random
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
/** Pauses before a fact is asked for again that had no answer. */
const retries = { firstMs: 500, maxMs: 10_000 }
/** Everything is asked for anew when the upstream may have become another server, but not more
 *  often than this if it fails its health checks now and then: its metrics have megabytes. */
const anewIntervalMs = 5_000
/** Everything is asked for anew after this time in any case. */
const anewMaxMs = 600_000

/** A fact that is asked for again and again. */
interface Followed {
  dueMs: number
  readonly backoff: Backoff
}

/** The knowledge of the servers of one version. */
interface FollowedState {
  readonly state: UpstreamState
  isRead: boolean
  readonly gates: Followed
  readonly openApi: Followed
}

export class FollowedVersion {
  readonly #options: FollowedVersionOptions
  readonly #versions = new ServerVersions()
  readonly #lines: VersionLines
  /** By version; by an empty text where the versions of the upstream say nothing, or are not
   *  known. */
  readonly #states = new Map<string, FollowedState>()
  readonly #stored: StoredVersions
  readonly #storedDue: Followed
  readonly #versionBackoff: Backoff
  readonly #outage: Outage
  /** Number of times that everything was asked for anew. */
  #epoch = 0
  #anewAtMs = Number.NEGATIVE_INFINITY
  #anewDueMs = Number.NEGATIVE_INFINITY
  #cutPause = (): void => {}

  constructor(options: FollowedVersionOptions) {
    this.#options = options
    this.#lines = new VersionLines(options.upstream)
    this.#stored = new StoredVersions(options.upstream)
    this.#storedDue = this.#followed()
    this.#versionBackoff = new Backoff(retries, options.random)
    this.#outage = new Outage({
      ...options,
      begins:
        'the version of the upstream cannot be read: what is known of it is kept, and it is asked again',
      ends: 'the version of the upstream is read again',
    })
  }

  /** Time for which no server has said its version; 0 while one does. */
  get unansweredMs(): number {
    return this.#outage.lastsMs
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
  upstreamOf(version: string): Pick<Questions, 'call'> {
    if (version === '' || this.versions.length < 2) return this.#options.upstream
    return { call: (request: UpstreamCall) => this.#lines.call(version, request) }
  }

  /** True if a server stores the resource in another version than servers of its minor do. */
  isStoredOtherwise(resource: Resource): boolean {
    return this.#stored.differs(resource)
  }

  /** The upstream may be another server now. */
  askAgain(): void {
    const nowMs = this.#options.clock.monotonicMs()
    const atMs = Math.max(nowMs, this.#anewAtMs + anewIntervalMs)
    this.#anewDueMs = Math.min(this.#anewDueMs, atMs)
    this.#versionBackoff.reset()
    this.#cutPause()
  }

  async follow(signal: AbortSignal): Promise<void> {
    const { clock, isKubernetes, onChange } = this.#options
    while (!signal.aborted) {
      const isAnswered = isKubernetes() ? await this.#askVersions(signal) : true
      // Another version counts at once: what else is to be known of it may take some seconds.
      onChange()
      // Who does not say which version it is has no answer to anything else.
      if (isAnswered || this.versions.length === 0) await this.#askStates(signal)
      if (signal.aborted) return
      onChange()
      const pause = new LinkedAbort(signal)
      this.#cutPause = () => pause.abort()
      await sleep(clock, isAnswered ? this.#pauseMs() : this.#versionBackoff.nextMs(), pause.signal)
      pause.release()
    }
  }

  #pauseMs(): number {
    this.#versionBackoff.reset()
    if (!this.#options.isKubernetes() || this.#versions.isSettled) return intervalMs
    return this.#versions.haveChanged ? changedIntervalMs : doubtfulIntervalMs
  }

  /** False if no server has answered. */
  async #askVersions(signal: AbortSignal): Promise<boolean> {
    const { upstream } = this.#options
    const path = '/version'
    const headers = { accept: 'application/json' }
    const answers = await upstream.callEach({ method: 'GET', path, headers, signal }, 'ourselves')
    if (signal.aborted) return false
    const heard = answers.map(answer => heardFrom(path, answer))
    this.#versions.take(heard)
    const isAnswered = heard.some(({ type }) => type !== 'unanswered')
    const [first] = heard
    if (isAnswered) this.#outage.answered()
    else if (first?.type === 'unanswered') this.#outage.failed(reasonFor(first.error))
    return isAnswered
  }

  async #askStates(signal: AbortSignal): Promise<void> {
    const isKubernetes = this.#options.isKubernetes()
    const known = new Set(isKubernetes ? this.versions.map(({ text }) => text) : [])
    if (known.size === 0) known.add('')
    this.#lines.forgetAllBut(known)
    for (const version of this.#states.keys()) {
      if (!known.has(version)) this.#states.delete(version)
    }
    this.#beginAnewWhenDue()
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
    const { isKubernetes } = this.#options
    const followed = this.#states.get(version) ?? {
      state: new UpstreamState({ call: request => this.#callSurely(version, request) }),
      isRead: false,
      gates: this.#followed(),
      openApi: this.#followed(),
    }
    this.#states.set(version, followed)
    const { state, gates, openApi } = followed
    await Promise.all([
      isKubernetes() && this.#askWhenDue(gates, anewMaxMs, () => state.readGates(signal)),
      this.#askWhenDue(openApi, openApiIntervalMs, () => state.readOpenApi(signal)),
    ])
    // What cannot be read is left out: versions and comparisons remain.
    followed.isRead = true
  }

  #followed(): Followed {
    return { dueMs: 0, backoff: new Backoff(retries, this.#options.random) }
  }

  /** The answer is false if there was none. */
  async #askWhenDue(
    followed: Followed,
    everyMs: number,
    read: () => Promise<boolean>,
  ): Promise<void> {
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs < followed.dueMs) return
    // It may become due earlier while it is asked for.
    followed.dueMs = nowMs + everyMs
    const isAnswered = await read().catch(() => false)
    if (isAnswered) followed.backoff.reset()
    else followed.dueMs = Math.min(followed.dueMs, clock.monotonicMs() + followed.backoff.nextMs())
  }

  #beginAnewWhenDue(): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs < this.#anewDueMs) return
    this.#epoch++
    this.#anewAtMs = nowMs
    this.#anewDueMs = nowMs + anewMaxMs
    for (const { gates, openApi } of this.#states.values()) gates.dueMs = openApi.dueMs = nowMs
  }

  /** Reads the versions in which resources are stored, which a server that was started anew may
   *  have changed. */
  async #readStored(signal: AbortSignal): Promise<void> {
    const { builtIns } = this.#options
    const epoch = String(this.#epoch)
    const stateOf = (resource: Resource): string =>
      [epoch, ...this.statesOf(resource).values()].join(' ')
    await this.#askWhenDue(this.#storedDue, 0, () => this.#stored.read(builtIns(), stateOf, signal))
  }
}
