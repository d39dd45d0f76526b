/** The resources of a mirrored Kubernetes API, as etcd's API sees them: a part for each, with an
 *  order of revisions of its own. Nothing is said of one of them by what is known of another. */

import { CacheError, type Key, type KeyRange, prefixRange, type Revision } from '@watchglass/base'
import { coversRange, type MirrorSink, type OwnMirrors, type ResetReason } from '@watchglass/cache'
import type { HeaderMessage, ResponseHeader } from '@watchglass/etcd'
import type { Batch } from '@watchglass/store'
import type { MirroredEtcd, PartFollower } from '../answers/mirrored.ts'
import { LastHeader } from '../view/last-header.ts'
import { ResourcePart } from './resource-part.ts'

/** The keys of a keyspace, which are all or some of a resource's. */
export interface ServedKeyspace {
  readonly name: Key
  /** The prefix of the resource. */
  readonly resource: Key
}

export interface ApiResourcesOptions {
  readonly mirrors: OwnMirrors
  /** The keyspaces that the API may have. */
  readonly keyspaces: () => readonly ServedKeyspace[]
}

type AnsweredEtcd = Omit<MirroredEtcd, 'checkRevision'>
type Header = Omit<ResponseHeader, 'revision'>

const noHeader: Header = { clusterId: 0n, memberId: 0n, raftTerm: 0n }

export class ApiResources implements AnsweredEtcd, MirrorSink {
  readonly #options: ApiResourcesOptions
  readonly #parts = new Map<string, ResourcePart>()
  readonly #followers: PartFollower[] = []
  readonly #headers = new LastHeader()
  #header: Header | undefined = undefined
  /** A revision of everything is not known. */
  readonly revision = 0 as Revision

  constructor(options: ApiResourcesOptions) {
    this.#options = options
  }

  /** The parts that somebody has asked for. */
  get asked(): Iterable<ResourcePart> {
    return this.#parts.values()
  }

  partOf(range: KeyRange): ResourcePart | undefined {
    const found = this.#find(range)
    return typeof found === 'string' ? undefined : found
  }

  /** The part that has all keys of a range, once it is mirrored. Fails with `unsupported` where no
   *  resource has all of them, and with `not_ready`. */
  async served(range: KeyRange, signal: () => AbortSignal): Promise<ResourcePart> {
    const part = this.#find(range)
    if (typeof part === 'string') throw new CacheError('unsupported', `watchglass: ${part}`)
    part.want()
    if (!part.isServed) await part.begin(signal)
    return part
  }

  header(revision: number): HeaderMessage {
    this.#header ??= this.#options.mirrors.mirrors.find(
      ({ header }) => header.clusterId !== 0n,
    )?.header
    return this.#headers.at(this.#header ?? noHeader, revision)
  }

  /** An API has no leader. */
  lookAgain(): void {}

  follow(follower: PartFollower): void {
    this.#followers.push(follower)
  }

  applied(keyspace: string, batch: Batch): void {
    this.#tell(keyspace, (part, follower) => follower.applied?.(part, batch))
  }

  progressed(keyspaces: Iterable<string>): void {
    for (const name of keyspaces) {
      this.#tell(name, (part, follower) => follower.progressed?.(part))
    }
  }

  reset(keyspace: string, reason: ResetReason): void {
    this.#header = undefined
    this.#tell(keyspace, (part, follower) => {
      // What is mirrored next may be another history.
      if (reason === 'new epoch' || reason === 'dropped') follower.epochEnded?.(part)
      // Of what is dropped there are no contents, and nobody follows it any more.
      if (reason !== 'dropped') follower.reset?.(part)
    })
  }

  stateChanged(keyspace: string): void {
    this.#tell(keyspace, (part, follower) => follower.stateChanged?.(part))
  }

  /** Only those that somebody has asked for have a part. */
  #tell(keyspace: string, task: (part: ResourcePart, follower: PartFollower) => void): void {
    const part = this.#parts.get(keyspace)
    if (part === undefined) return
    for (const follower of this.#followers) task(part, follower)
  }

  /** The part, or why there is none. */
  #find(range: KeyRange): ResourcePart | string {
    const met = this.#options
      .keyspaces()
      .filter(({ resource }) => meets(prefixRange(resource), range))
    const whole = met.find(({ name }) => coversRange(prefixRange(name), range))
    if (whole !== undefined) return this.#part(whole.name)
    const [first] = met
    if (first === undefined) return 'the keys are of no resource that the API is known to have'
    if (met.every(({ name }) => name === first.resource)) return this.#part(first.name)
    return 'the keys are of several resources, and a Kubernetes API has an order of revisions for each resource only: ask for the keys of one'
  }

  #part(name: Key): ResourcePart {
    const known = this.#parts.get(name)
    if (known !== undefined) return known
    const part = new ResourcePart(this.#options.mirrors, name)
    this.#parts.set(name, part)
    return part
  }
}

function meets(some: KeyRange, other: KeyRange): boolean {
  const isBefore = (one: KeyRange, next: KeyRange): boolean =>
    one.end !== undefined && one.end <= next.start
  return !isBefore(some, other) && !isBefore(other, some)
}
