/** The contents that mirrors have of a keyspace now, or had at a revision. */

import { CacheError, type Key, type Revision } from '@watchglass/base'
import type { Keyspace, Snapshot } from '@watchglass/store'
import type { Mirrors } from './mirrors.ts'
import type { ReadOptions } from './reads/read.ts'

/** The store of a keyspace. Undefined also while the keyspace is being dropped. */
export function storeIn(mirrors: Mirrors, keyspace: Key): Keyspace | undefined {
  try {
    return mirrors.keyspace(keyspace).store
  } catch (error) {
    if (error instanceof CacheError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The newest contents of all keyspaces. */
export function snapshotsIn(mirrors: Mirrors): Snapshot[] {
  return keyspacesOf(mirrors).flatMap(name => storeIn(mirrors, name)?.latest() ?? [])
}

/** The names of all keyspaces. */
export function keyspacesOf(mirrors: Mirrors): Key[] {
  return mirrors.statuses().map(({ name }) => name as Key)
}

export interface HeldContents {
  readonly snapshot: Snapshot
  /** The revision up to which nothing is missing. */
  readonly proven: Revision
}

/** The newest contents of a keyspace; undefined while it is not served. */
export function heldIn(mirrors: Mirrors, keyspace: Key): HeldContents | undefined {
  if (!mirrors.has(keyspace)) return undefined
  const { isServed, store } = mirrors.keyspace(keyspace)
  return isServed ? { snapshot: store.latest(), proven: mirrors.proven(keyspace) } : undefined
}

/** Reads what a keyspace had at a revision. Fails with `not_ready` if the mirror does not hold
 *  it. */
export function contentsAt(
  mirrors: Mirrors,
): (keyspace: Key, revision: Revision, signal: AbortSignal) => Promise<Snapshot> {
  return async (keyspace, revision, signal) => {
    const read: ReadOptions = {
      freshness: { type: 'exact', revision },
      elsewhere: 'nowhere',
      reader: { signal },
    }
    const outcome = await mirrors.read(keyspace, read)
    if (outcome.from === 'mirror') return outcome.snapshot
    throw new CacheError('not_ready', `the mirror does not hold revision ${revision}`)
  }
}

/** Reads the revision that the etcd of a keyspace has at some time during the call. Fails with
 *  `not_ready` while the mirror cannot tell. */
export function revisionIn(
  mirrors: Mirrors,
): (keyspace: Key, signal: AbortSignal) => Promise<Revision> {
  return async (keyspace, signal) => {
    const outcome = await mirrors.read(keyspace, {
      freshness: { type: 'consistent' },
      elsewhere: 'nowhere',
      reader: { signal },
    })
    if (outcome.from === 'mirror') return mirrors.proven(keyspace)
    throw new CacheError('not_ready', 'the mirror cannot tell the revision of its etcd')
  }
}
