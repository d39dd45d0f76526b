/** The version in which each resource is stored, as the hash in the upstream's discovery. Every
 *  server is asked: servers of one version may have been started with different flags. Aggregated
 *  documents have no hashes, so the document of each group version is read: when its state changes,
 *  and again from time to time. What a server has said counts for as long as it does not answer. */

import { groupVersionText, type Resource } from '@watchglass/kube'
import { resourcesOfVersion } from '../aggregated/upstream-resources.ts'
import type { Questions } from '../upstream/upstream.ts'
import { heardFrom } from '../upstream/ask.ts'
import { eachOf } from './listing.ts'

/** A document of some hundred resources at most. */
const documentMaxBytes = 4 * 1024 * 1024

/** By resource. */
type Hashes = ReadonlyMap<string, string>

interface ReadDocument {
  /** State of the upstream when the document was read; undefined if a server did not answer. */
  readonly state: string | undefined
  /** By server: what it has said. */
  readonly hashes: readonly Hashes[]
}

export class StoredVersions {
  readonly #upstream: Pick<Questions, 'callEach'>
  /** By group version. */
  readonly #read = new Map<string, ReadDocument>()

  constructor(upstream: Pick<Questions, 'callEach'>) {
    this.#upstream = upstream
  }

  /** Reads the documents of these resources, but for those that were read in the same state. One
   *  that a server does not answer is read again the next time; false if there is one. */
  async read(
    resources: Iterable<Resource>,
    stateOf: (resource: Resource) => string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const wanted = new Map<string, Resource>()
    for (const resource of resources) {
      const name = groupVersionText(resource.group, resource.version)
      if (this.#read.get(name)?.state !== stateOf(resource)) wanted.set(name, resource)
    }
    let isWhole = true
    await eachOf([...wanted], async ([name, resource]) => {
      const known = this.#read.get(name)?.hashes ?? []
      const { isAnswered, hashes } = await this.#readHashes(resource, known, signal)
      this.#read.set(name, { state: isAnswered ? stateOf(resource) : undefined, hashes })
      isWhole &&= isAnswered
    })
    return isWhole
  }

  /** True if a server stores the resource in another version than it is known to. */
  differs({ group, version, resource, storageVersionHash: known }: Resource): boolean {
    const hashes = this.#read.get(groupVersionText(group, version))?.hashes ?? []
    if (known === undefined) return false
    return hashes.some(one => (one.get(resource) ?? known) !== known)
  }

  /** A server that is gone is asked again when it is back. */
  async #readHashes(
    { group, version }: Resource,
    known: readonly Hashes[],
    signal: AbortSignal,
  ): Promise<{ readonly isAnswered: boolean; readonly hashes: readonly Hashes[] }> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const headers = { accept: 'application/json' }
    const call = { method: 'GET', path, headers, maxBytes: documentMaxBytes, signal }
    const answers = await this.#upstream.callEach(call, 'ourselves')
    const heard = answers.map(answer => heardFrom(path, answer))
    const hashes = heard.map((one, i) => {
      if (one.type === 'unanswered') return known[i] ?? noHashes
      return one.type === 'none' ? noHashes : hashesIn(group, version, one.document)
    })
    const isAny = heard.some(({ type }) => type !== 'unanswered')
    const isAnswered = isAny && heard.every(one => one.type !== 'unanswered' || one.isGone)
    return { isAnswered, hashes }
  }
}

const noHashes: Hashes = new Map()

function hashesIn(group: string, version: string, document: unknown): Hashes {
  const hashes = new Map<string, string>()
  for (const { resource, storageVersionHash } of resourcesOfVersion(group, version, document)) {
    if (storageVersionHash !== undefined) hashes.set(resource, storageVersionHash)
  }
  return hashes
}
