/** The knowledge of the upstream, and which resources must not be answered from the mirror because
 *  of it. */

import { setMaxListeners } from 'node:events'
import {
  Backoff,
  type Clock,
  type Key,
  keyFromText,
  LinkedAbort,
  type Logger,
  Outage,
  type Random,
  type Revision,
  sleep,
} from '@watchglass/base'
import type { AggregatedResources } from '../aggregated/aggregated-resources.ts'
import { reasonFor } from '../upstream/failure.ts'
import type { Questions } from '../upstream/upstream.ts'
import {
  keyspaceOf,
  keyspacesOf,
  type PassReason,
  type Registry,
  type Resource,
} from '@watchglass/kube'
import type { MixedMinors } from '../minors/mixed-minors.ts'
import type { ListedResource, UpstreamResources } from '../aggregated/upstream-resources.ts'
import type { Snapshot } from '@watchglass/store'
import { FollowedVersion } from './followed-version.ts'
import { listUpstream } from './listing.ts'
import type { ServerVersion } from './server-versions.ts'
import { checkStorage } from './storage-check.ts'
import { VerifiedStorage, type StorageState } from './verified-storage.ts'

export interface KnowledgeOptions {
  readonly upstream: Questions
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly registry: () => Registry
  /** True if there is data of the minor version. */
  readonly hasDataOf: (minor: number) => boolean
  /** The versions of the upstream's servers; none while nothing is known. */
  readonly onVersions: (versions: readonly ServerVersion[]) => void
  /** Differences between these versions' answers; undefined while there is one version, or while
   *  one is unknown. */
  readonly mixed: () => MixedMinors | undefined
  /** Other minor versions that the operator declares to be compatible. */
  readonly compatibleMinors: ReadonlySet<number>
  /** True if the keyspace is mirrored here. */
  readonly isMirrored: (keyspace: Key) => boolean
  /** True if the keyspace has contents. */
  readonly isServed: (keyspace: Key) => boolean
  /** The mirror's contents at a revision. */
  readonly at: (keyspace: Key, revision: Revision, signal: AbortSignal) => Promise<Snapshot>
  /** The revision that the etcd of the keyspace has at some time during the call. */
  readonly revisionNow: (keyspace: Key, signal: AbortSignal) => Promise<Revision>
  /** Resources that only the upstream describes. */
  readonly aggregated: AggregatedResources
  /** Resources that the upstream lists and that are not declared are also served, although the
   *  upstream is a kube-apiserver. */
  readonly discoversResources: boolean
  /** The mirror follows the upstream itself: what it has is the upstream's, in the version that it
   *  was asked for. */
  readonly isSource: boolean
  readonly declared: (named: { readonly group: string; readonly resource: string }) => boolean
}

const listingIntervalMs = 30_000
/** A server without the core group is small, and may be started with other versions at any time. */
const smallListingIntervalMs = 5_000
/** Pauses while discovery cannot be read. */
const listingRetries = { firstMs: 1_000, maxMs: 10_000 }
/** A definition is served a moment after it is written. */
const redefinedDelayMs = 300

export class UpstreamKnowledge {
  readonly #options: KnowledgeOptions
  readonly #storage: VerifiedStorage
  readonly #stopped = new AbortController()
  #listed: UpstreamResources | undefined = undefined
  readonly #version: FollowedVersion
  readonly #outage: Outage
  #versionText = ''
  /** By resource: how often what it is written as has changed. */
  readonly #rewritten = new Map<string, number>()
  #rewrites = 0
  #cutPause = (): void => {}
  #isRedefined = false
  #unavailable = ''
  #hasListed = (): void => {}
  readonly #firstListing = new Promise<void>(resolve => (this.#hasListed = resolve))

  constructor(options: KnowledgeOptions) {
    this.#options = options
    // Each question under way listens to it, a dozen at a time, and stops listening.
    setMaxListeners(0, this.#stopped.signal)
    const { clock, random, logger, upstream, at, revisionNow } = options
    this.#outage = new Outage({
      clock,
      logger,
      begins:
        'discovery of the upstream cannot be read: what is known of it is kept, and it is asked again',
      ends: 'discovery of the upstream is read again',
    })
    this.#version = new FollowedVersion({
      upstream,
      clock,
      random,
      logger,
      isKubernetes: () => this.#listed?.hasCore === true,
      builtIns: () => this.#listedBuiltIns(),
      onChange: () => this.#versionsChanged(),
    })
    this.#storage = new VerifiedStorage({
      clock,
      random,
      logger,
      wanted: () => this.#wanted(),
      isPlaceKnown: ({ custom }) => custom !== undefined || this.isVersionCovered,
      checkStorage: (resource, signal) => {
        const keyspace = keyFromText(resource.storage?.prefix ?? '')
        return checkStorage({
          upstream,
          resource,
          at: revision => at(keyspace, revision, signal),
          revisionNow: () => revisionNow(keyspace, signal),
          signal,
        })
      },
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

  /** Why a resource must not be answered from the mirror in a namespace; undefined if it may be. If
   *  none is given: in any of them. */
  readonly objection = (resource: Resource, namespace?: string): PassReason | undefined => {
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
    if (custom === undefined && !this.#areVersionsAnswered) return 'version'
    if (this.#options.mixed()?.areApart(resource) === true) return 'versions-differ'
    if (this.#listed?.has(resource) !== true) return 'not-listed'
    if (this.#options.isSource) {
      const keyspaces =
        namespace === undefined ? keyspacesOf(resource) : [keyspaceOf(resource, namespace)]
      return keyspaces.some(isServed) ? undefined : 'not-ready'
    }
    const keyspace = keyFromText(storage.prefix)
    if (this.isVersionCovered && this.#version.isStoredOtherwise(resource)) return 'stored-version'
    if (this.#storage.isAnswered(keyspace)) return undefined
    return isServed(keyspace) ? 'unproven' : 'not-ready'
  }

  /** The code with which the upstream refuses our account to list a resource; undefined if it does
   *  not, or was not asked. */
  refusalOf({ storage }: Resource): number | undefined {
    return storage && this.#storage.refusalOf(keyFromText(storage.prefix))
  }

  /** All resources that may be answered from the mirror if evidence allows it, and the states of
   *  the upstream for which evidence is valid: by the version whose servers are to be asked
   *  (`upstreamOf`). */
  comparable(): ReadonlyMap<Resource, ReadonlyMap<string, string>> {
    const { aggregated, registry } = this.#options
    const comparable = new Map<Resource, ReadonlyMap<string, string>>()
    for (const resource of registry().resources) {
      const isLearnt = aggregated.has(resource)
      const states = this.#version.statesOf(resource)
      if (states.size === 0 || this.objection(resource) !== undefined) continue
      const own = isLearnt ? aggregated.stateOf(resource) : this.#rewritten.get(nameOf(resource))
      // It does not matter through which server an aggregated one is asked, and it cannot be chosen
      // everywhere.
      const isAny = isLearnt || this.#version.areInseparable
      const all = isAny ? new Map([['', [...states.values()].join('\n')]]) : states
      comparable.set(
        resource,
        new Map([...all].map(([version, state]) => [version, `${own ?? ''} ${state}`])),
      )
    }
    return comparable
  }

  /** Asks servers of one version of `comparable`. */
  upstreamOf(version: string): Pick<Questions, 'call'> {
    return this.#version.upstreamOf(version)
  }

  /** Objects are written as another one of these minors writes them from now on: evidence is kept
   *  where both write alike. */
  rewritten(minors: MixedMinors): void {
    this.#rewrites++
    for (const resource of this.#options.registry().resources) {
      const isAlike = minors.differences(resource).length === 0
      if (!isAlike) this.#rewritten.set(nameOf(resource), this.#rewrites)
    }
  }

  /** True if data of each version of the upstream is known, or the operator has declared it
   *  compatible; and if it has several, servers of each can be asked. */
  get isVersionCovered(): boolean {
    const { hasDataOf, compatibleMinors } = this.#options
    const { versions, areInseparable } = this.#version
    if (versions.length === 0) return this.#listed?.hasCore === false
    const areKnown = versions.every(
      ({ minor, emulatedMinor }) =>
        (minor === emulatedMinor && hasDataOf(minor)) || compatibleMinors.has(minor),
    )
    return areKnown && !areInseparable
  }

  /** Reads of built-in resources are answered here: objects of one version whatever it is, of
   *  several if they are known. */
  get #areVersionsAnswered(): boolean {
    const { length } = this.#version.versions
    return length === 1 || (length > 1 && this.isVersionCovered)
  }

  /** Number of keyspaces in each state of the storage check. */
  get storageStates(): Record<StorageState, number> {
    return this.#storage.counts()
  }

  /** Discovery is known and, of a kube-apiserver, the version. */
  get isKnown(): boolean {
    if (this.#listed === undefined) return false
    return !this.#listed.hasCore || this.#version.versions.length > 0
  }

  /** Time for which the upstream has not said which version it is, or what it serves: what is known
   *  is kept. 0 while it does. */
  get unansweredMs(): number {
    return Math.max(this.#outage.lastsMs, this.#version.unansweredMs)
  }

  /** Each version of the upstream's servers; none while nothing is known. */
  get versions(): readonly ServerVersion[] {
    return this.#version.versions
  }

  /** The resources that the upstream lists; undefined before they were read. */
  get listed(): UpstreamResources | undefined {
    return this.#listed
  }

  /** The upstream did not answer for a while, and may be another server now: everything is learnt
   *  again. */
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
    const { isServed, isMirrored, registry, isSource } = this.#options
    if (isSource) return wanted
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
    const { upstream, clock, random, aggregated } = this.#options
    const backoff = new Backoff(listingRetries, random)
    while (!signal.aborted) {
      let pauseMs: number
      try {
        this.#listed = await listUpstream(upstream, this.#listed, signal)
        this.#noteListing(this.#listed)
        aggregated.listed(this.#listed, one => this.#isAggregated(one))
        this.#outage.answered()
        backoff.reset()
        pauseMs = this.#listed.hasCore ? listingIntervalMs : smallListingIntervalMs
      } catch (error) {
        if (!signal.aborted) this.#outage.failed(reasonFor(error))
        pauseMs = backoff.nextMs()
      }
      this.#storage.look()
      await this.#pause(pauseMs)
      if (this.#isRedefined) await sleep(clock, redefinedDelayMs, signal)
      this.#isRedefined = false
    }
  }

  /** Logs once what cannot be read. */
  #noteListing({ unavailable }: UpstreamResources): void {
    this.#hasListed()
    const names = unavailable.join(', ')
    if (names === this.#unavailable) return
    this.#unavailable = names
    const { logger } = this.#options
    if (names === '') logger.info('the upstream serves all of the versions that it names')
    else {
      logger.warn(
        'the upstream names versions whose documents it does not serve now: those that were not read before pass',
        { names },
      )
    }
  }

  /** True for resources to be looked at in etcd. Of a kube-apiserver: those that are neither built
   *  in nor defined, if these are to be served. Of any other server: all resources. */
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

  /** The versions of the servers are known. */
  #versionsChanged(): void {
    const { versions } = this.#version
    this.#options.onVersions(versions)
    const text = JSON.stringify([versions, this.isVersionCovered])
    if (text === this.#versionText) return
    this.#versionText = text
    if (versions.length > 0) this.#sayVersions(versions)
  }

  #sayVersions(versions: readonly ServerVersion[]): void {
    const { logger, mixed, registry } = this.#options
    const minors = [...new Set(versions.map(({ minor }) => `1.${minor}`))].join(', ')
    const fields = { upstream: minors }
    if (versions.length > 1 && !this.isVersionCovered) {
      logger.warn(
        this.#version.areInseparable
          ? 'servers of the upstream have different versions, and each connection leads to several of them: requests for built-in resources pass to the upstream until they agree'
          : 'servers of the upstream have different versions, of which one is not known here: requests for built-in resources pass to the upstream until they agree',
        fields,
      )
    } else if (versions.length > 1) {
      const apart = registry().resources.filter(one => mixed()?.areApart(one) === true)
      logger.warn(
        'servers of the upstream have different versions: what these answer differently passes to the upstream until they agree, and everything else is answered here once it was compared with each version',
        { ...fields, passing: apart.map(({ resource }) => resource).join(', ') },
      )
    } else if (this.isVersionCovered) {
      logger.info(
        'the version of the upstream is known: its built-in resources are answered here',
        fields,
      )
    } else {
      logger.warn(
        'the version of the upstream is not known here: objects are answered here once they were compared, everything else passes to the upstream',
        fields,
      )
    }
  }
}

function nameOf({ group, version, resource }: Resource): string {
  return `${group}/${version}/${resource}`
}
