/** The mirrors of a Kubernetes API: one for each resource, with its own order of revisions, its own
 *  progress and its own questions. Nothing is said of one resource by what is known of another, as
 *  they may be in different etcds.
 *
 *  A resource is mirrored from the start, or when somebody first reads it, and then until nobody
 *  has read it for a while. One that the API refuses us (forbidden, not served) is not mirrored, so
 *  that its requests pass; it is tried again later. */

import { setMaxListeners } from 'node:events'
import {
  CacheError,
  type CancelTimer,
  type Clock,
  type Key,
  type LogFields,
  type Logger,
  type Random,
  repeat,
  type Revision,
  silentLogger,
} from '@watchglass/base'
import {
  type DirectReadRequest,
  type KeyspaceDescription,
  type KeyspaceStatus,
  Mirror,
  MirroredKeyspace,
  type MirrorLimits,
  type MirrorMetrics,
  type MirrorSink,
  type OwnMirrors,
  type RangePage,
  type ReadOptions,
  type ReadOutcome,
} from '@watchglass/cache'
import type { Source } from '@watchglass/etcd'
import type { Resource } from '@watchglass/kube'
import type { RefusedResource } from './api/answers.ts'
import { ApiServer, type ApiServerOptions } from './api/api-server.ts'
import { ClusterIdentity } from './api/cluster-identity.ts'
import { type FollowedResource, followedResource } from './api/followed-resource.ts'
import { apiMirrorLimits, defaultWatchLimits, type WatchLimits } from './watch/limits.ts'
import { Refusals } from './refusals.ts'
import { ResourceSource } from './resource-source.ts'
import { type FollowedState, Troubles } from './troubles.ts'
import type { ProgressProof } from './watch/resource-watch.ts'

export interface ApiMirrorsOptions {
  readonly upstream: ApiServerOptions['upstream']
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly metrics: MirrorMetrics
  readonly sink: MirrorSink
  /** The versions in which the objects of a keyspace are served. */
  readonly versionsOf: (keyspace: Key) => readonly Resource[]
  /** True for a keyspace that is mirrored although nobody has read it yet. */
  readonly isWantedAtStart: (keyspace: Key) => boolean
  /** True for a keyspace whose changes somebody follows, in this thread. */
  readonly isWatched?: ((keyspace: Key) => boolean) | undefined
  readonly onProof?: ((proof: ProgressProof) => void) | undefined
  /** Called when a mirror has begun or ended, and when something has changed that the sink is not
   *  told. */
  readonly onFactsChanged?: (() => void) | undefined
  readonly limits?: MirrorLimits | undefined
  readonly watchLimits?: WatchLimits | undefined
}

/** A refused resource is tried again after this time, and one that is not served after the second:
 *  a definition is served a moment after it is written. */
const forbiddenForMs = 300_000
const absentForMs = 15_000

/** A resource that was mirrored because somebody read it is let go after so long without a read or
 *  a watch. Its watch costs the upstream something all the time, a list once: whoever looks at a
 *  resource each quarter of an hour has it kept, and what a person has looked at is given back. */
const unreadMaxMs = 1_800_000
const lookForUnreadMs = 60_000

interface Followed {
  readonly description: KeyspaceDescription
  /** Undefined for a resource that the API does not serve in the version that we know. */
  resource: FollowedResource | undefined
  mirror: Mirror | undefined
  client: Source | undefined
  keyspace: MirroredKeyspace
  isStarted: boolean
  isWanted: boolean
  readonly isWantedAtStart: boolean
  /** When it was last read, or seen to be watched. */
  readMs: number
  /** Until then it is not tried again. */
  refusedUntilMs: number
  /** The refusal that was said last. */
  refusal: number
  /** The way in which progress was last proven. */
  proofs: { last: ProgressProof | undefined }
  wasReady: boolean
}

export class ApiMirrors implements OwnMirrors {
  readonly isOnDemand = true
  readonly limits: MirrorLimits
  readonly #options: ApiMirrorsOptions
  readonly #server: ApiServer
  readonly #identity: ClusterIdentity
  readonly #stopped = new AbortController()
  readonly #followed = new Map<string, Followed>()
  readonly #cancelTimers = new Set<CancelTimer>()
  readonly #stopping = new Set<Promise<void>>()
  readonly #troubles: Troubles
  readonly #refusals: Refusals
  readonly outageCheck = 'source'
  #isRunning = false
  #isChanged = false
  #cancelLooking: CancelTimer = () => {}

  constructor(options: ApiMirrorsOptions) {
    const { clock, limits = apiMirrorLimits } = options
    this.#options = options
    this.limits = limits
    // All questions and watches under way listen to it.
    setMaxListeners(0, this.#stopped.signal)
    this.#server = new ApiServer(options)
    this.#refusals = new Refusals(options)
    this.#troubles = new Troubles({ clock, logger: options.logger, states: () => this.#states() })
    this.#identity = new ClusterIdentity(this.#server, clock, this.#stopped.signal)
  }

  get mirrors(): readonly Mirror[] {
    return [...this.#followed.values()].flatMap(({ mirror, isStarted }) =>
      isStarted && mirror !== undefined ? [mirror] : [],
    )
  }

  has(name: string): boolean {
    return this.#followed.get(name)?.isStarted === true
  }

  refusalOf(name: string): number | undefined {
    const followed = this.#followed.get(name)
    const isRefused = (followed?.refusedUntilMs ?? 0) > this.#options.clock.monotonicMs()
    return isRefused ? followed?.refusal : undefined
  }

  /** Resources of aggregated servers are not looked for here. */
  covers(): boolean {
    return false
  }

  add(description: KeyspaceDescription): void {
    const { name } = description
    if (this.#followed.has(name)) {
      throw new CacheError('invalid_request', `keyspace ${name} is mirrored already`)
    }
    const isWantedAtStart = this.#options.isWantedAtStart(name as Key)
    this.#followed.set(name, {
      description,
      isStarted: false,
      isWanted: isWantedAtStart,
      isWantedAtStart,
      wasReady: false,
      readMs: 0,
      refusedUntilMs: 0,
      refusal: 0,
      ...this.#create(description),
    })
    if (this.#isRunning) this.#startIfWanted(name)
  }

  drop(name: string): void {
    const followed = this.#place(name)
    this.#followed.delete(name)
    this.#end(followed)
    this.#mirrorsChanged()
  }

  /** Somebody reads a resource, or watches it in another thread: it is mirrored from now on. */
  want(name: Key): void {
    const followed = this.#followed.get(name)
    if (followed === undefined) return
    followed.readMs = this.#options.clock.monotonicMs()
    if (followed.isStarted) return
    followed.isWanted = true
    if (this.#isRunning) this.#startIfWanted(name)
  }

  start(): void {
    this.#isRunning = true
    for (const name of this.#followed.keys()) this.#startIfWanted(name)
    this.#troubles.start()
    this.#cancelLooking = repeat(this.#options.clock, lookForUnreadMs, () => this.#letGoUnread())
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelLooking()
    for (const cancel of this.#cancelTimers) cancel()
    this.#stopped.abort()
    this.#troubles.stop()
    this.#refusals.stop()
    for (const { mirror, isStarted } of this.#followed.values()) {
      if (isStarted && mirror !== undefined) this.#stop(mirror)
    }
    await Promise.all(this.#stopping)
  }

  read(name: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    const followed = this.#place(name)
    const { mirror, isStarted } = followed
    if (mirror === undefined || !isStarted) return { from: 'elsewhere', reason: 'not-ready' }
    followed.readMs = this.#options.clock.monotonicMs()
    return mirror.read(name, options)
  }

  keyspace(name: string): MirroredKeyspace {
    return this.#place(name).keyspace
  }

  proven(name: string): Revision {
    return this.#mirror(name).proven(name)
  }

  /** A bookmark tells the progress that is known: to ask for each would cost the upstream a watch,
   *  and it sends one itself each minute. */
  refresh(): void {}

  /** The API says only when it is asked for something older. */
  compactRevision(): Revision {
    return 0 as Revision
  }

  isOfOldEpoch(name: string, revision: Revision): boolean {
    return this.#mirror(name).isOfOldEpoch(revision)
  }

  readDirectly(name: string, request: DirectReadRequest): AsyncIterable<RangePage> {
    return this.#mirror(name).directReads.read(request)
  }

  statuses(): KeyspaceStatus[] {
    return [...this.#followed.values()].flatMap(({ mirror, isStarted }) =>
      isStarted ? (mirror?.statuses() ?? []) : [],
    )
  }

  proofOf(name: string): string | undefined {
    return this.#followed.get(name)?.proofs.last
  }

  /** The resources that are mirrored from the start and were never ready. Requests for all others
   *  pass until they are. */
  awaited(): KeyspaceStatus[] {
    return [...this.#followed.values()].flatMap(followed => {
      const { mirror, keyspace, isStarted, isWantedAtStart } = followed
      followed.wasReady ||= keyspace.state === 'ready'
      const isAwaited = isStarted && isWantedAtStart && !followed.wasReady
      return isAwaited ? (mirror?.statuses() ?? []) : []
    })
  }

  outage(): string | undefined {
    return this.#troubles.problem
  }

  get waitingReads(): number {
    let sum = 0
    for (const { mirror } of this.#followed.values()) sum += mirror?.waitingReads ?? 0
    return sum
  }

  /** The API serves other versions, or is known to: a resource that is followed in another one than
   *  before is read again. */
  redefined(): void {
    for (const followed of this.#followed.values()) {
      const resource = this.#resourceOf(followed.description)
      if (JSON.stringify(resource) === JSON.stringify(followed.resource)) continue
      this.#replace(followed)
      if (this.#isRunning) this.#startIfWanted(followed.description.name)
    }
  }

  #letGoUnread(): void {
    const { clock, isWatched = () => false, logger, sink } = this.#options
    const nowMs = clock.monotonicMs()
    for (const [name, followed] of this.#followed) {
      const { isStarted, isWantedAtStart, resource } = followed
      if (!isStarted || isWantedAtStart) continue
      if (isWatched(name as Key)) followed.readMs = nowMs
      if (nowMs - followed.readMs < unreadMaxMs) continue
      const fields = { resource: resource?.name, minutes: unreadMaxMs / 60_000 }
      logger.debug('a resource is not mirrored any more: nobody has read it', fields)
      followed.isWanted = false
      this.#replace(followed)
      sink.stateChanged(name, followed.keyspace.state)
    }
  }

  #states(): FollowedState[] {
    return [...this.#followed].flatMap(([name, { resource, keyspace, isStarted }]) =>
      isStarted ? [{ name, resource: resource?.name ?? name, state: keyspace.state }] : [],
    )
  }

  #place(name: string): Followed {
    const followed = this.#followed.get(name)
    if (followed === undefined) {
      throw new CacheError('not_found', `keyspace ${name} is not mirrored`)
    }
    return followed
  }

  #mirror(name: string): Mirror {
    const { mirror } = this.#place(name)
    if (mirror === undefined) throw new CacheError('not_found', `keyspace ${name} is not mirrored`)
    return mirror
  }

  #resourceOf({ name }: KeyspaceDescription): FollowedResource | undefined {
    return followedResource(name as Key, this.#options.versionsOf(name as Key))
  }

  /** A mirror that is not started. */
  #create(
    description: KeyspaceDescription,
  ): Pick<Followed, 'mirror' | 'client' | 'keyspace' | 'resource' | 'proofs'> {
    const { clock, random, metrics, sink, onProof = () => {} } = this.#options
    const { name, range } = description
    const resource = this.#resourceOf(description)
    if (resource === undefined) {
      const keyspace = new MirroredKeyspace(description, clock, sink)
      const proofs = { last: undefined }
      return { mirror: undefined, client: undefined, keyspace, resource, proofs }
    }
    const proofs: Followed['proofs'] = { last: undefined }
    const client = new ResourceSource({
      server: this.#server,
      identity: this.#identity,
      resource,
      clock,
      random,
      limits: this.#options.watchLimits ?? defaultWatchLimits,
      onRefused: refusal => queueMicrotask(() => this.#refused(name, client, refusal)),
      onFailed: failure => this.#troubles.failed(name, failure),
      onProof(proof) {
        proofs.last = proof
        onProof(proof)
      },
      signal: this.#stopped.signal,
    })
    const mirror = new Mirror({
      client,
      clock,
      random,
      limits: this.limits,
      logger: quieter(this.#options.logger, resource.name),
      outageLogger: silentLogger,
      metrics,
      sink,
      ranges: [range],
      keyspaceOf: () => name,
      onFactsChanged: this.#options.onFactsChanged,
    })
    return { mirror, client, keyspace: mirror.add(description).keyspace, resource, proofs }
  }

  #startIfWanted(name: string): void {
    const followed = this.#followed.get(name)
    if (followed?.mirror === undefined || followed.isStarted || !followed.isWanted) return
    const leftMs = followed.refusedUntilMs - this.#options.clock.monotonicMs()
    if (leftMs > 0) return
    followed.isStarted = true
    followed.mirror.start()
    this.#mirrorsChanged()
  }

  /** Mirrors have begun or ended: there may be many in the same moment. */
  #mirrorsChanged(): void {
    if (this.#isChanged) return
    this.#isChanged = true
    queueMicrotask(() => {
      this.#isChanged = false
      this.#options.onFactsChanged?.()
    })
  }

  /** The API does not let us follow a resource. */
  #refused(name: string, by: Source, { answered, message }: RefusedResource): void {
    const { clock, logger, random, sink } = this.#options
    const followed = this.#followed.get(name)
    if (followed?.isStarted !== true || followed.client !== by) return
    const isForbidden = answered === 403
    if (followed.refusal !== answered) {
      followed.refusal = answered
      const refused = { resource: followed.resource?.name ?? name, reason: message }
      if (isForbidden) this.#refusals.note(refused)
      else logger.debug('the upstream does not serve a resource: its requests pass', refused)
    }
    const forMs = (isForbidden ? forbiddenForMs : absentForMs) * (1 + random.next() / 2)
    followed.refusedUntilMs = clock.monotonicMs() + forMs
    this.#replace(followed)
    sink.stateChanged(name, followed.keyspace.state)
    const cancel = clock.setTimer(forMs, () => {
      this.#cancelTimers.delete(cancel)
      if (this.#isRunning) this.#startIfWanted(name)
    })
    this.#cancelTimers.add(cancel)
  }

  /** Puts a new mirror in the place of one, whose contents are not shown any more. */
  #replace(followed: Followed): void {
    this.#end(followed)
    followed.isStarted = false
    Object.assign(followed, this.#create(followed.description))
    this.#mirrorsChanged()
  }

  #end({ mirror, keyspace, isStarted, description }: Followed): void {
    if (mirror === undefined) keyspace.drop()
    else mirror.drop(description.name)
    if (mirror !== undefined && isStarted) this.#stop(mirror)
  }

  #stop(mirror: Mirror): void {
    const stopping: Promise<void> = mirror.stop().finally(() => this.#stopping.delete(stopping))
    this.#stopping.add(stopping)
  }
}

/** The log of one mirror among many: an outage is told once, for the upstream, and not for each
 *  resource. What must not be is told. */
function quieter(logger: Logger, resource: string): Logger {
  const debug = (message: string, fields: LogFields = {}): void =>
    logger.debug(message, { resource, ...fields })
  return {
    debug,
    info: debug,
    warn: debug,
    error: (message, fields = {}) => logger.error(message, { resource, ...fields }),
  }
}
