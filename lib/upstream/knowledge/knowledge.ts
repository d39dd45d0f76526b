/** What is known of the upstream, and what it speaks against: it decides what exists. */

import { type Clock, sleep } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { type Key, keyFromText } from '../../base/keys.ts'
import { LinkedAbort } from '../../base/linked-abort.ts'
import type { Logger } from '../../base/logger.ts'
import type { Random } from '../../base/random.ts'
import type { Revision } from '../../base/revision.ts'
import type { Upstream } from '../upstream.ts'
import type { PassReason } from '../../kube/decide.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Registry } from '../../kube/resources/registry.ts'
import { objectOf, textOf } from '../../base/untyped.ts'
import type { UpstreamResources } from '../../kube/resources/upstream-resources.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { askDocument } from './ask.ts'
import { listUpstream } from './listing.ts'
import { checkStorage } from './storage-check.ts'
import { VerifiedStorage, type StorageState } from './verified-storage.ts'

export interface KnowledgeOptions {
  readonly upstream: Upstream
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly registry: () => Registry
  /** The minor version that our data is of. */
  readonly ownMinor: number
  /** Other minor versions that the operator vouches for. */
  readonly compatibleMinors: ReadonlySet<number>
  /** The keyspace is kept here. */
  readonly isMirrored: (keyspace: Key) => boolean
  /** The keyspace has contents. */
  readonly isServed: (keyspace: Key) => boolean
  /** The mirror's contents at a revision. */
  readonly at: (keyspace: Key, revision: Revision, signal: AbortSignal) => Promise<Snapshot>
  /** The upstream lists other resources than before. */
  readonly onListed?: ((listed: UpstreamResources) => void) | undefined
}

const listingIntervalMs = 30_000
const versionIntervalMs = 60_000
/** As long as something is not known at all. */
const firstIntervalMs = 1_000
/** A definition is served a moment after it is written. */
const redefinedDelayMs = 300

export class UpstreamKnowledge {
  readonly #options: KnowledgeOptions
  readonly #storage: VerifiedStorage
  readonly #stopped = new AbortController()
  #listed: UpstreamResources | undefined = undefined
  #minor: number | undefined = undefined
  #cutPause = (): void => {}
  #isRedefined = false

  constructor(options: KnowledgeOptions) {
    this.#options = options
    const { clock, random, logger, upstream, at } = options
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
    void this.#followVersion()
    void this.#followListing()
  }

  stop(): void {
    this.#stopped.abort()
    this.#storage.stop()
  }

  /** What speaks against answering for a resource from the mirror. */
  readonly objection = (resource: Resource): PassReason | undefined => {
    const { storage, custom } = resource
    if (storage === undefined) return 'not-stored'
    if (custom === undefined && !this.isVersionCovered) return 'version'
    if (this.#listed?.has(resource) !== true) return 'not-listed'
    const keyspace = keyFromText(storage.prefix)
    if (this.#storage.stateOf(keyspace) === 'proven') return undefined
    return this.#options.isServed(keyspace) ? 'unproven' : 'not-ready'
  }

  /** Our data is of the upstream's version, or of one that is said to be like it. */
  get isVersionCovered(): boolean {
    const { ownMinor, compatibleMinors } = this.#options
    return (
      this.#minor !== undefined && (this.#minor === ownMinor || compatibleMinors.has(this.#minor))
    )
  }

  /** How many keyspaces are in each state of the storage check. */
  get storageStates(): Record<StorageState, number> {
    return this.#storage.counts()
  }

  /** Discovery and version are known. */
  get isKnown(): boolean {
    return this.#listed !== undefined && this.#minor !== undefined
  }

  /** A keyspace has changed, or is served now. */
  changed(keyspace: Key): void {
    this.#storage.changed(keyspace)
  }

  /** A keyspace has another state. */
  served(): void {
    this.#storage.look()
  }

  /** Definitions or keyspaces have come or gone. */
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
      if (listed !== undefined && isMirrored(prefix) && isServed(prefix)) wanted.set(prefix, listed)
    }
    return wanted
  }

  async #followListing(): Promise<void> {
    const { signal } = this.#stopped
    const { upstream, clock, logger, onListed } = this.#options
    let hasFailed = false
    while (!signal.aborted) {
      try {
        this.#listed = await listUpstream(upstream, signal)
        onListed?.(this.#listed)
        hasFailed = false
      } catch (error) {
        const { message } = CacheError.from(error, 'upstream_failed')
        if (!hasFailed && !signal.aborted) {
          logger.warn('the upstream does not say what it serves', { reason: message })
        }
        hasFailed = true
      }
      this.#storage.look()
      await this.#pause(this.#listed === undefined ? firstIntervalMs : listingIntervalMs)
      if (this.#isRedefined) await sleep(clock, redefinedDelayMs, signal)
      this.#isRedefined = false
    }
  }

  /** Waits, but not when definitions change. */
  async #pause(pauseMs: number): Promise<void> {
    if (this.#isRedefined) return
    const pause = new LinkedAbort(this.#stopped.signal)
    this.#cutPause = () => pause.abort()
    await sleep(this.#options.clock, pauseMs, pause.signal)
    pause.release()
    this.#cutPause = () => {}
  }

  async #followVersion(): Promise<void> {
    const { signal } = this.#stopped
    const { upstream, clock, logger } = this.#options
    let hasFailed = false
    while (!signal.aborted) {
      try {
        this.#noteVersion(await askDocument(upstream, { path: '/version', signal }))
        hasFailed = false
      } catch (error) {
        const { message } = CacheError.from(error, 'upstream_failed')
        if (!hasFailed && !signal.aborted) {
          logger.warn('the upstream does not say its version', { reason: message })
        }
        hasFailed = true
      }
      await sleep(clock, this.#minor === undefined ? firstIntervalMs : versionIntervalMs, signal)
    }
  }

  /** Vendors write `29+`. */
  #noteVersion(document: unknown): void {
    const { logger, ownMinor } = this.#options
    const digits = /^\d+/.exec(textOf(objectOf(document)['minor']))?.[0]
    if (digits === undefined) {
      throw new CacheError('upstream_failed', '/version has no minor version')
    }
    const minor = Number(digits)
    if (minor === this.#minor) return
    this.#minor = minor
    const fields = { upstream: `1.${minor}`, covered: `1.${ownMinor}` }
    if (this.isVersionCovered) logger.info('the upstream is of a version that is covered', fields)
    else {
      logger.warn(
        'the upstream is of another minor version: built-in resources pass (--compatible-with answers them here)',
        fields,
      )
    }
  }
}
