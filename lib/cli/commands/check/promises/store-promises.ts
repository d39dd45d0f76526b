/** The promises of etcd that Watchglass builds on, each with how it is tried and what follows where
 *  it is not kept. Stores that speak etcd's API (kine over SQL, TiKV- or FoundationDB-backed ones)
 *  keep some of them only. */

import { CacheError, type Revision } from '@watchglass/base'
import type { RevisionChanges } from '@watchglass/etcd'
import type { TriedStore, WatchLog } from './tried-store.ts'

export interface StorePromise {
  readonly name: string
  /** The attempt writes to etcd. */
  readonly needsWrites: boolean
  /** The consequence where it is not kept. */
  readonly otherwise: string
  /** Tries it: a text of what was seen, or a failure if the promise is not kept. */
  readonly attempt: (store: TriedStore) => Promise<string>
}

/** In the order in which they are tried. */
export const storePromises: readonly StorePromise[] = [
  {
    name: 'reads at a revision',
    needsWrites: false,
    otherwise: 'lists that are continued, and those at an exact revision, cannot be read from it',
    attempt: readAtRevision,
  },
  {
    name: 'counts beside a limit',
    needsWrites: false,
    otherwise: 'a start cannot say how far it is, and large ranges are read in one part',
    attempt: async store => {
      const range = store.mirrored
      const signal = store.step()
      const page = await store.client.range({ range, limit: 1 }, signal)
      const { header, count, entries, more } = page
      const whole = { range, revision: header.revision, countOnly: true }
      const { count: all } = await store.client.range(whole, signal)
      if (count !== all) throw broken(`${count} beside a limit, ${all} without one`)
      if (more !== count > entries.length) throw broken('more is not said beside a limit')
      if (count < 2) return `${count} keys: too few to tell`
      return `${count} keys`
    },
  },
  {
    name: 'streamed ranges (etcd 3.7)',
    needsWrites: false,
    otherwise: 'a start that reads a large resource may fail',
    attempt: async store => {
      try {
        const parts = store.client.rangeParts?.({ range: store.mirrored }, store.step())
        for await (const { header } of parts ?? []) {
          if (header !== undefined) return 'served'
        }
      } catch (error) {
        if (CacheError.from(error, 'source_failed').code !== 'unsupported') throw error
      }
      return 'none: large resources are read in pages at the start'
    },
  },
  {
    name: 'conditional writes',
    needsWrites: true,
    otherwise: '--writable would overwrite what others have written',
    attempt: async store => {
      const made = await store.put('conditional')
      if (!made.succeeded) throw broken('a key that was not there could not be made')
      const again = await store.put('conditional')
      if (again.succeeded) throw broken('a key was made twice')
      const changed = await store.put('conditional', 'changed', { known: made.revision })
      if (!changed.succeeded) throw broken('a key with the right revision was not changed')
      if (changed.revision <= made.revision) throw broken('a write has not raised the revision')
      return 'made once, changed by revision'
    },
  },
  {
    name: 'linearizable reads',
    needsWrites: true,
    otherwise: 'consistent reads may be older than a write that was answered before',
    attempt: async store => {
      for (let i = 0; i < writesTried; i++) {
        const { revision } = await store.put(`linearizable-${i}`)
        for (const client of store.clients) {
          const request = { range: store.range, countOnly: true }
          const { header, count } = await client.range(request, store.step())
          if (header.revision < revision || count <= i) {
            throw broken(`revision ${header.revision} was read after ${revision} was written`)
          }
        }
      }
      const { length } = store.clients
      return `${writesTried} writes, each read by ${length === 1 ? 'its client' : `${length} clients`}`
    },
  },
  {
    name: 'events in order, once each',
    needsWrites: true,
    otherwise: 'a mirror starts again at each violation, and serves nothing meanwhile',
    attempt: async store => {
      const { written, log } = await watchedWrites(store, 'ordered', () => {})
      log.close()
      sameRevisions(log.batches, written)
      return `${written.length} writes`
    },
  },
  {
    name: 'progress after events',
    needsWrites: true,
    otherwise: 'consistent reads may miss what was written before: they must not trust progress',
    attempt: async store => {
      const { log } = await watchedWrites(store, 'progress', log => log.requestProgress())
      log.close()
      for (const { revision, after } of log.progress) {
        const late = log.batches.slice(after).find(batch => batch.revision <= revision)
        if (late === undefined) continue
        throw broken(`progress ${revision} came before the event of revision ${late.revision}`)
      }
      return `${log.progress.length} progress marks among ${log.batches.length} events`
    },
  },
  {
    name: 'watches from a revision',
    needsWrites: true,
    otherwise: 'after each lost connection everything is read again',
    attempt: async store => {
      const { written, log: first } = await watchedWrites(store, 'replayed', () => {})
      first.close()
      const log = await store.watch(written[0])
      try {
        await log.until('the events of before', () => log.batches.length >= written.length)
        sameRevisions(log.batches, written)
        return `${written.length} events told again`
      } finally {
        log.close()
      }
    },
  },
  {
    name: 'a transaction is one revision',
    needsWrites: true,
    otherwise:
      'clients other than API servers fail, or what they write together is seen one by one',
    attempt: async store => {
      const log = await store.watch()
      try {
        const puts = ['a', 'b', 'c'].map(name => {
          return { type: 'put', key: store.key(name), value: Buffer.from(name) } as const
        })
        const request = { compares: [], success: puts, failure: [] }
        const { header } = await store.client.txn(request, store.step())
        const told = (): number => log.batches.reduce((sum, one) => sum + one.changes.length, 0)
        await log.until('the changes of a transaction', () => told() >= puts.length)
        sameRevisions(log.batches, [header.revision])
        return `${puts.length} keys at revision ${header.revision}`
      } finally {
        log.close()
      }
    },
  },
  {
    name: 'large responses in fragments',
    needsWrites: true,
    otherwise: 'a watch that is behind by much may end, and everything is read again',
    attempt: async store => {
      const written: Revision[] = []
      for (let i = 0; i < 4; i++) {
        written.push((await store.put(`large-${i}`, Buffer.alloc(largeBytes, i + 1))).revision)
      }
      const log = await store.watch(written[0])
      try {
        await log.until('large events', () => log.batches.length >= written.length)
        sameRevisions(log.batches, written)
        return `${written.length} events of 1 MB`
      } finally {
        log.close()
      }
    },
  },
  {
    name: 'leases',
    needsWrites: true,
    otherwise: 'Events never end',
    attempt: tryLease,
  },
  {
    name: 'leases that are kept alive',
    needsWrites: true,
    otherwise: '--simulate cannot agree on a leader',
    attempt: async store => {
      const { id } = await store.client.grantLease(60, 0n, store.step())
      const { ttlSeconds } = await store.client.keepLeaseAlive(id, store.step())
      await store.client.revokeLease(id, store.step())
      return `kept for ${ttlSeconds} s, and revoked`
    },
  },
]

const writesTried = 20
/** Shorter than a step: a lease that cannot be revoked is waited for. */
const leaseSeconds = 2
/** Below etcd's request limit; a few of them are above the size of a fragment. */
const largeBytes = 1024 * 1024

async function readAtRevision(store: TriedStore): Promise<string> {
  const { client, range } = store
  const { header } = await client.range({ range, countOnly: true }, store.step())
  await client.range({ range, revision: header.revision, limit: 1 }, store.step())
  const future = (header.revision + 1_000_000) as Revision
  const refusal = await client.range({ range, revision: future, limit: 1 }, store.step()).then(
    () => undefined,
    (error: unknown) => CacheError.from(error, 'source_failed'),
  )
  if (refusal === undefined) throw broken('a revision in the future was answered')
  if (refusal.code !== 'future_revision') throw refusal
  return `revision ${header.revision}; a future one is refused`
}

/** A key ends with its lease. It is revoked, or where a store only lets leases run out, waited
 *  for. */
async function tryLease(store: TriedStore): Promise<string> {
  const { client } = store
  const lease = await client.grantLease(leaseSeconds, 0n, store.step())
  const log = await store.watch()
  try {
    const { revision } = await store.put('leased', 'x', { lease: lease.id })
    const refusal = await client.revokeLease(lease.id, store.step()).then(
      () => undefined,
      (error: unknown) => CacheError.from(error, 'source_failed').message,
    )
    const isGone = (): boolean => log.batches.some(batch => batch.revision > revision)
    await log.until('the end of the key of a lease', isGone)
    const went = refusal === undefined ? 'it was revoked' : `it had run out (${refusal})`
    return `granted for ${lease.ttlSeconds} s, its key went when ${went}`
  } finally {
    log.close()
  }
}

/** Writes keys while a watch is open; both are whole in the end. */
async function watchedWrites(
  store: TriedStore,
  name: string,
  between: (log: WatchLog) => void,
): Promise<{ readonly written: readonly Revision[]; readonly log: WatchLog }> {
  const log = await store.watch()
  try {
    const written: Revision[] = []
    for (let i = 0; i < writesTried; i++) {
      between(log)
      written.push((await store.put(`${name}-${i}`)).revision)
    }
    await log.until('the events of what was written', () => log.batches.length >= written.length)
    return { written, log }
  } catch (error) {
    log.close()
    throw error
  }
}

function sameRevisions(batches: readonly RevisionChanges[], written: readonly Revision[]): void {
  const told = batches.map(({ revision }) => revision)
  if (told.length === written.length && told.every((one, i) => one === written[i])) return
  throw broken(`written were the revisions ${written.join(', ')}, told ${told.join(', ')}`)
}

function broken(text: string): CacheError {
  return new CacheError('source_failed', text)
}
