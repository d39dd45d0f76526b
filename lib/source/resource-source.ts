/** One resource of a Kubernetes API, as a mirror follows it: ranges are lists, a page at a time and
 *  all at one resourceVersion; the present revision is that of a consistent list of one object;
 *  watches are those of the resource. The mirror and everything behind it are the same as with
 *  etcd. */

import {
  CacheError,
  type Clock,
  inSlices,
  type Key,
  keyAfter,
  type KeyRange,
  type Random,
  type Revision,
} from '@watchglass/base'
import type {
  RangeRequest,
  RangeResponse,
  ResponseHeader,
  Source,
  WatchRequest,
  WatchSink,
  WatchStream,
} from '@watchglass/etcd'
import { RefusedResource } from './api/answers.ts'
import type { ApiServer } from './api/api-server.ts'
import type { ClusterIdentity } from './api/cluster-identity.ts'
import { acceptOf, type FollowedResource, listPath, objectOfKey } from './api/followed-resource.ts'
import type { WatchLimits } from './watch/limits.ts'
import { type SourcePage, readSourcePage } from './objects/source-page.ts'
import { type ProgressProof, ResourceWatch } from './watch/resource-watch.ts'

export interface ResourceSourceOptions {
  readonly server: Pick<ApiServer, 'ask' | 'askPage' | 'watch'>
  readonly identity: Pick<ClusterIdentity, 'id'>
  readonly resource: FollowedResource
  readonly clock: Clock
  readonly random: Random
  readonly limits: WatchLimits
  /** The API refuses the resource: it is forbidden, or there is none. */
  readonly onRefused: (refusal: RefusedResource) => void
  readonly onProof: (proof: ProgressProof) => void
  readonly onFailed: (failure: CacheError) => void
  /** Ends everything. */
  readonly signal: AbortSignal
}

/** Continuations that are kept: a list that is read has one at a time, and a self-check another. */
const continuationsMax = 8

/** Lists of metadata alone: for the present revision, and for the self-check. */
const metadataAccept =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

export class ResourceSource implements Source {
  readonly called = 'the upstream'
  readonly provesAhead = true
  readonly isOneResource = true
  readonly #options: ResourceSourceOptions
  /** The revision that the API was last said to be at. */
  #lastPresent = 0
  /** Questions and watches that have failed: the next one may reach a server whose store was
   *  restored. */
  #failures = 0
  /** By revision and first key: where a page goes on. */
  readonly #continuations = new Map<string, string>()

  constructor(options: ResourceSourceOptions) {
    this.#options = options
  }

  async range(request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse> {
    const { identity, onRefused } = this.#options
    const ends = signal ?? this.#options.signal
    try {
      const clusterId = await identity.id()
      const header = { clusterId, memberId: 0n, raftTerm: 1n }
      if (request.countOnly === true) return await this.#present(header, ends)
      const { range, revision, limit } = request
      const isSingle = range.end === keyAfter(range.start)
      if (isSingle) return await this.#object(range.start, { header, revision, signal: ends })
      return await this.#page(request, { header, limit: limit ?? 0, signal: ends })
    } catch (error) {
      if (error instanceof RefusedResource) onRefused(error)
      this.#noteFailure(error)
      throw error
    }
  }

  get connections(): number {
    return this.#failures
  }

  watch(request: WatchRequest, sink: WatchSink): WatchStream {
    const { identity, onRefused } = this.#options
    const watch = new ResourceWatch(
      {
        ...this.#options,
        header: async () => ({ clusterId: await identity.id(), memberId: 0n, raftTerm: 1n }),
      },
      request,
      {
        created: header => sink.created(header),
        changed: (batches, header) => sink.changed(batches, header),
        progress: header => sink.progress(header),
        ended: failure => {
          if (failure instanceof RefusedResource) onRefused(failure)
          this.#noteFailure(failure)
          sink.ended(failure)
        },
      },
    )
    void watch.begin()
    return watch
  }

  /** The revision of now. */
  async #present(
    header: Omit<ResponseHeader, 'revision'>,
    signal: AbortSignal,
  ): Promise<RangeResponse> {
    const { server, resource } = this.#options
    const path = `${listPath(resource)}?limit=1`
    const { body } = await server.ask({ path, accept: metadataAccept, signal })
    const { revision, entries, remaining } = await this.#read(body, 'json')
    const count = entries.length + remaining
    this.#lastPresent = revision
    return { header: { ...header, revision }, entries: [], more: false, count }
  }

  #noteFailure(error: unknown): void {
    if (!(error instanceof CacheError) || error.code === 'closed') return
    if (error.code === 'source_failed') this.#failures++
    this.#options.onFailed(error)
  }

  /** One object, now or at a revision. */
  async #object(
    key: Key,
    { header, revision, signal }: Asked & { readonly revision: Revision | undefined },
  ): Promise<RangeResponse> {
    const { server, resource } = this.#options
    const named = objectOfKey(resource, key)
    if (named === undefined) {
      throw new CacheError('invalid_request', `a key of ${resource.name} names no object`)
    }
    const selector = encodeURIComponent(`metadata.name=${named.name}`)
    const exact = revision === undefined ? '' : exactly(revision)
    const path = `${listPath(resource, named.namespace)}?fieldSelector=${selector}${exact}`
    const { body } = await server.ask({ path, accept: acceptOf(resource), signal })
    const page = await this.#read(body)
    const entries = page.entries.filter(entry => entry.key === key)
    const { length: count } = entries
    return { header: this.#headerAt(header, page), entries, more: false, count }
  }

  async #page(
    { range, revision, keysOnly }: RangeRequest,
    { header, limit, signal }: Asked & { readonly limit: number },
  ): Promise<RangeResponse> {
    const { server, resource } = this.#options
    const isKeysOnly = keysOnly === true
    const from = this.#from(range, revision)
    const path = `${listPath(resource)}?limit=${limit}${from}`
    const accept = isKeysOnly ? metadataAccept : acceptOf(resource)
    const { body } = await server.askPage({ path, accept, signal })
    const page = await this.#read(body, isKeysOnly ? 'json' : resource.encoding)
    const { entries, remaining, continuation } = page
    const last = entries.at(-1)
    if (last !== undefined && continuation !== '') {
      this.#keep(keyAfter(last.key), page.revision, continuation)
    }
    return {
      header:
        revision === undefined
          ? { ...header, revision: page.revision }
          : this.#headerAt(header, page),
      entries,
      more: continuation !== '',
      count: entries.length + remaining,
    }
  }

  /** Header of a list. One at a revision does not say how far the API is, as etcd does. */
  #headerAt(header: Asked['header'], { revision }: SourcePage): ResponseHeader {
    return { ...header, revision: Math.max(revision, this.#lastPresent) as Revision }
  }

  /** The place where a page begins: the start of the list, or the end of an earlier page. */
  #from({ start }: KeyRange, revision: Revision | undefined): string {
    if (start === this.#options.resource.keyspace) {
      return revision === undefined ? '' : exactly(revision)
    }
    // Kept, as a page that failed is asked for again.
    const token = this.#continuations.get(nameOf(start, revision))
    if (token === undefined) {
      throw new CacheError('expired', 'the continuation of a list is not known any more')
    }
    return `&continue=${encodeURIComponent(token)}`
  }

  #keep(start: Key, revision: Revision, token: string): void {
    for (const [oldest] of this.#continuations) {
      if (this.#continuations.size < continuationsMax) break
      this.#continuations.delete(oldest)
    }
    this.#continuations.set(nameOf(start, revision), token)
  }

  /** The page in a body, whose entries are in the order of their keys. */
  async #read(body: Uint8Array, encoding = this.#options.resource.encoding): Promise<SourcePage> {
    const { clock, resource } = this.#options
    return inSlices(readSourcePage({ ...resource, encoding }, body), clock)
  }
}

interface Asked {
  readonly header: Omit<ResponseHeader, 'revision'>
  readonly signal: AbortSignal
}

function exactly(revision: Revision): string {
  return `&resourceVersion=${revision}&resourceVersionMatch=Exact`
}

function nameOf(start: Key, revision: Revision | undefined): string {
  return `${revision ?? ''} ${start}`
}
