/** What is known of the upstream, and which resources must not be answered from the mirror because of it. */

import { type Clock, sleep } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { type Key, keyFromText } from '../../base/keys.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Random } from '../../base/random.ts'
import type { Revision } from '../../base/revision.ts'
import type { AggregatedResources } from '../aggregated/aggregated-resources.ts'
import type { Upstream } from '../upstream.ts'
import type { PassReason } from '../../kube/decide.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Registry } from '../../kube/resources/registry.ts'
import type { ListedResource, UpstreamResources } from '../../kube/resources/upstream-resources.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { FollowedVersion } from './followed-version.ts'
import { listUpstream } from './listing.ts'
import type { ServerVersion } from './server-versions.ts'
import { checkStorage } from './storage-check.ts'
import { VerifiedStorage, type StorageState } from './verified-storage.ts'

export interface KnowledgeOptions {
  readonly upstream: Upstream
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly registry: () => Registry
  /** True if there is data of the minor version. */
  readonly hasDataOf: (minor: number) => boolean
  /** The version of the upstream's servers; undefined while it is not known, or while they differ. */
  readonly onVersion: (version: ServerVersion | undefined) => void
  /** Other minor versions that the operator declares to be compatible. */
  readonly compatibleMinors: ReadonlySet<number>
  /** True if the keyspace is mirrored here. */
  readonly isMirrored: (keyspace: Key) => boolean
  /** True if the keyspace has contents. */
  readonly isServed: (keyspace: Key) => boolean
  /** The mirror's contents at a revision. */
  readonly at: (keyspace: Key, revision: Revision, signal: AbortSignal) => Promise<Snapshot>
  /** Resources that only the upstream describes. */
  readonly aggregated: AggregatedResources
  /** Resources that the upstream lists and that are not declared are also served, although the upstream is a kube-apiserver. */
  readonly discoversResources: boolean
  readonly declared: (named: { readonly group: string; readonly resource: string }) => boolean
}

const listingIntervalMs = 30_000
/** A server without the core group is small, and may be started with other versions at any time. */
const smallListingIntervalMs = 5_000
/** The interval while something is not known. */
const firstIntervalMs = 1_000
/** A definition is served a moment after it is written. */
const redefinedDelayMs = 300

export class UpstreamKnowledge {
  readonly #options: KnowledgeOptions
  readonly #storage: VerifiedStorage
  readonly #stopped = new AbortController()
  #listed: UpstreamResources | undefined = undefined
  readonly #version: FollowedVersion
  #versionText = ''
  #cutPause = (): void => {}
  #isRedefined = false
  #unavailable = ''
  #hasListed = (): void => {}
  readonly #firstListing = new Promise<void>(resolve => (this.#hasListed = resolve))

  constructor(options: KnowledgeOptions) {
    this.#options = options
    const { clock, random, logger, upstream, at } = options
    this.#version = new FollowedVersion({
      upstream,
      clock,
      logger,
      isKubernetes: () => this.#listed?.hasCore === true,
      builtIns: () => this.#listedBuiltIns(),
      onChange: () => this.#versionChanged(),
    })
    this.#storage = new VerifiedStorage({
      clock,
      random,
      logger,
      wanted: () => this.#wanted(),
      checkStorage: (resource, signal) =>
        checkStorage({
          upstream,
          resource,
          at: revision => at(keyFromText(resource.storage?.prefix ?? ''), revision, signal),
          signal,
        }),
    })
  }

  start(): void {
    void this.#firstListing.then(() => this.#version.follow(this.#stopped.signal))
    void this.#followListing()
  }

  stop(): void {
    this.#stopped.abort()
    this.#storage.stop()
    this.#options.aggregated.stop()
  }

  /** Why a resource must not be answered from the mirror; undefined if it may be. */
  readonly objection = (resource: Resource): PassReason | undefined => {
    const { aggregated, isServed } = this.#options
    const { storage, custom } = resource
    if (aggregated.has(resource)) {
      const standing = aggregated.standingOf(resource)
      if (standing !== undefined) return standing.reason
      if (storage === undefined || !isServed(keyFromText(storage.prefix))) return 'not-ready'
      return this.#listed?.has(resource) === true ? undefined : 'not-listed'
    }
    if (storage === undefined) return 'not-stored'
    if (this.#listed?.hasCore === false) return 'not-listed'
    if (custom === undefined && this.#version.version === undefined) return 'version'
    if (this.#listed?.has(resource) !== true) return 'not-listed'
    if (this.isVersionCovered && this.#version.isStoredOtherwise(resource)) return 'stored-version'
    const keyspace = keyFromText(storage.prefix)
    if (this.#storage.stateOf(keyspace) === 'proven') return undefined
    return isServed(keyspace) ? 'unproven' : 'not-ready'
  }

  /** All resources that may be answered from the mirror if evidence allows it, and the state of the upstream for which evidence is valid. */
  comparable(): ReadonlyMap<Resource, string> {
    const { aggregated, registry } = this.#options
    const comparable = new Map<Resource, string>()
    for (const resource of registry().resources) {
      const own = this.#version.stateOf(resource)
      const isLearnt = aggregated.has(resource)
      const state = isLearnt ? `${aggregated.stateOf(resource)} ${own ?? ''}` : own
      const isAnswered = state !== undefined && this.objection(resource) === undefined
      if (isAnswered) comparable.set(resource, state)
    }
    return comparable
  }

  /** There is data of the upstream's version, or the operator has declared it compatible. */
  get isVersionCovered(): boolean {
    const { hasDataOf, compatibleMinors } = this.#options
    const { version } = this.#version
    if (version === undefined) return this.#listed?.hasCore === false
    const { minor, emulatedMinor } = version
    return (minor === emulatedMinor && hasDataOf(minor)) || compatibleMinors.has(minor)
  }

  /** How many keyspaces are in each state of the storage check. */
  get storageStates(): Record<StorageState, number> {
    return this.#storage.counts()
  }

  /** Discovery is known and, of a kube-apiserver, the version. */
  get isKnown(): boolean {
    if (this.#listed === undefined) return false
    return !this.#listed.hasCore || this.#version.version !== undefined || this.#version.differ
  }

  /** The resources that the upstream lists; undefined before they were read. */
  get listed(): UpstreamResources | undefined {
    return this.#listed
  }

  /** The upstream did not answer for a while, and may be another server now: everything is learnt again. */
  upstreamIsBack(): void {
    this.#options.aggregated.serverIsBack()
    this.#version.askAgain()
    this.#isRedefined = true
    this.#cutPause()
  }

  /** A keyspace has changed, or is now served. */
  changed(keyspace: Key): void {
    this.#storage.changed(keyspace)
    this.#options.aggregated.changed(keyspace)
  }

  /** A keyspace has a new state. */
  served(): void {
    this.#storage.look()
    this.#options.aggregated.served()
  }

  /** Definitions or keyspaces were added or removed. */
  redefined(): void {
    this.#isRedefined = true
    this.#cutPause()
    this.#storage.look()
  }

  /** One resource for each keyspace that can be compared. */
  #wanted(): ReadonlyMap<Key, Resource> {
    const wanted = new Map<Key, Resource>()
    const { isServed, isMirrored, registry } = this.#options
    for (const { prefix, resources } of registry().keyspaces()) {
      const listed = resources.find(
        one => this.#listed?.has(one) === true && one.storage?.conversion !== 'webhook',
      )
      if (listed !== undefined && this.#options.aggregated.has(listed)) continue
      if (listed !== undefined && isMirrored(prefix) && isServed(prefix)) wanted.set(prefix, listed)
    }
    return wanted
  }

  async #followListing(): Promise<void> {
    const { signal } = this.#stopped
    const { upstream, clock, logger, aggregated } = this.#options
    let hasFailed = false
    while (!signal.aborted) {
      try {
        this.#listed = await listUpstream(upstream, signal)
        this.#noteListing(this.#listed)
        aggregated.listed(this.#listed, one => this.#isAggregated(one))
        hasFailed = false
      } catch (error) {
        const { message } = CacheError.from(error, 'upstream_failed')
        if (!hasFailed && !signal.aborted) {
          logger.warn('discovery of the upstream cannot be read: trying again', { reason: message })
        }
        hasFailed = true
      }
      this.#storage.look()
      await this.#pause(this.#listingPauseMs())
      if (this.#isRedefined) await sleep(clock, redefinedDelayMs, signal)
      this.#isRedefined = false
    }
  }

  #listingPauseMs(): number {
    if (this.#listed === undefined) return firstIntervalMs
    return this.#listed.hasCore ? listingIntervalMs : smallListingIntervalMs
  }

  /** Logs once what cannot be read. */
  #noteListing({ unavailable }: UpstreamResources): void {
    this.#hasListed()
    const names = unavailable.join(', ')
    if (names === this.#unavailable) return
    this.#unavailable = names
    const { logger } = this.#options
    if (names === '') logger.info('the upstream serves all of the versions that it names')
    else logger.warn('the upstream names versions that it does not serve now: they pass', { names })
  }

  /** Of a kube-apiserver: resources that are neither built in nor defined, if these are to be served. Of any other server: all resources. */
  #isAggregated({ group, version, resource }: ListedResource): boolean {
    const { registry, aggregated, discoversResources, declared } = this.#options
    if (group === '') return false
    const known = registry().find(group, version, resource)
    if (known !== undefined && !aggregated.has(known)) return false
    if (this.#listed?.hasCore !== true) return true
    return declared({ group, resource }) || (discoversResources && !this.#isGroupKnown(group))
  }

  /** Other resources of the group are built in, or defined. */
  #isGroupKnown(group: string): boolean {
    const { registry, aggregated } = this.#options
    return registry().resources.some(one => one.group === group && !aggregated.has(one))
  }

  #listedBuiltIns(): readonly Resource[] {
    const { registry, aggregated } = this.#options
    return registry().resources.filter(
      one => one.custom === undefined && !aggregated.has(one) && this.#listed?.has(one) === true,
    )
  }

  /** Waits; a change of definitions ends the wait. */
  async #pause(pauseMs: number): Promise<void> {
    if (this.#isRedefined) return
    const pause = new LinkedAbort(this.#stopped.signal)
    this.#cutPause = () => pause.abort()
    await sleep(this.#options.clock, pauseMs, pause.signal)
    pause.release()
    this.#cutPause = () => {}
  }

  /** The version of the servers is known, or it is known that they differ. */
  #versionChanged(): void {
    const { logger, onVersion } = this.#options
    const { version, differ } = this.#version
    const text = differ ? 'differ' : (version?.text ?? '')
    if (text !== this.#versionText) {
      this.#versionText = text
      const fields = { upstream: version === undefined ? undefined : `1.${version.minor}` }
      if (differ) {
        logger.warn(
          'servers of the upstream have different versions: requests for built-in resources pass to the upstream until they agree',
        )
      } else if (version !== undefined && this.isVersionCovered) {
        logger.info(
          'the version of the upstream is known: its built-in resources are answered here',
          fields,
        )
      } else if (version !== undefined) {
        logger.warn(
          'the version of the upstream is not known here: objects are answered here once they were compared, everything else passes to the upstream',
          fields,
        )
      }
    }
    onVersion(version)
  }
}
