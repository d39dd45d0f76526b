/** The version in which each resource is stored, as the hash in the upstream's discovery. Every
 *  server is asked: servers of one version may have been started with different flags. Aggregated
 *  documents have no hashes, so the document of each group version is read: when its state changes,
 *  and again from time to time. */

import { groupVersionText, type Resource } from '../../kube/resources/resource.ts'
import { resourcesOfVersion } from '../aggregated/upstream-resources.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { readableDocument } from '../upstream/ask.ts'
import { eachOf } from './listing.ts'

/** A document of some hundred resources at most. */
const documentMaxBytes = 4 * 1024 * 1024

interface ReadDocument {
  /** State of the upstream when the document was read. */
  readonly state: string
  /** By resource: what the servers said. */
  readonly hashes: ReadonlyMap<string, ReadonlySet<string>>
}

export class StoredVersions {
  readonly #upstream: Pick<Upstream, 'callEach'>
  /** By group version. */
  readonly #read = new Map<string, ReadDocument>()

  constructor(upstream: Pick<Upstream, 'callEach'>) {
    this.#upstream = upstream
  }

  /** Reads the documents of these resources, but for those that were read in the same state. One
   *  that cannot be read is left for the next time. */
  async read(
    resources: Iterable<Resource>,
    stateOf: (resource: Resource) => string,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = new Map<string, Resource>()
    for (const resource of resources) {
      const name = groupVersionText(resource.group, resource.version)
      if (this.#read.get(name)?.state !== stateOf(resource)) wanted.set(name, resource)
    }
    await eachOf([...wanted], async ([name, resource]) => {
      const hashes = await this.#readHashes(resource, signal)
      if (hashes !== undefined) this.#read.set(name, { state: stateOf(resource), hashes })
    })
  }

  /** True if a server stores the resource in another version than it is known to. */
  differs({ group, version, resource, storageVersionHash: known }: Resource): boolean {
    const hashes = this.#read.get(groupVersionText(group, version))?.hashes.get(resource)
    if (known === undefined || hashes === undefined) return false
    return [...hashes].some(hash => hash !== known)
  }

  async #readHashes(
    { group, version }: Resource,
    signal: AbortSignal,
  ): Promise<ReadDocument['hashes'] | undefined> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    const headers = { accept: 'application/json' }
    const call = { method: 'GET', path, headers, maxBytes: documentMaxBytes, signal }
    const answers = await this.#upstream.callEach(call, 'ourselves')
    const hashes = new Map<string, Set<string>>()
    let isRead = false
    for (const answer of answers) {
      const document = readableDocument(path, answer)
      if (document === undefined) continue
      isRead = true
      for (const { resource, storageVersionHash } of resourcesOfVersion(group, version, document)) {
        if (storageVersionHash === undefined) continue
        hashes.set(resource, (hashes.get(resource) ?? new Set()).add(storageVersionHash))
      }
    }
    return isRead ? hashes : undefined
  }
}
