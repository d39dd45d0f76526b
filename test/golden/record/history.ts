/** Everything that happens in etcd while a server is recorded, from the first revision on. */

import { allKeys, keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import type { RevisionChanges, WatchStream } from '../../../lib/etcd/client.ts'
import type { Change } from '../../../lib/store/event.ts'
import type { HistoryLine } from '../load.ts'

/** Kept in etcd by kube-apiserver: where it has compacted. */
const compactionKey = 'compact_rev_key'

export class RecordedHistory {
  readonly lines: HistoryLine[] = []
  readonly #client: GrpcClient
  readonly #stream: WatchStream
  readonly #waiting = new Set<() => void>()
  #failure: Error | undefined

  constructor(endpoints: readonly string[]) {
    this.#client = new GrpcClient({ endpoints })
    this.#stream = this.#client.watch(
      { range: allKeys, startRevision: revision(1) },
      {
        created: () => undefined,
        changed: batches => this.#add(batches),
        progress: () => undefined,
        ended: failure => {
          this.#failure = failure
          this.#wake()
        },
      },
    )
  }

  async revisionNow(): Promise<Revision> {
    const { header } = await this.#client.range({ range: allKeys, countOnly: true })
    return header.revision
  }

  /** Resolves once everything up to a revision is in `lines`. */
  async upTo(wanted: number): Promise<void> {
    while ((this.lines.at(-1)?.rev ?? 1) < wanted) {
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>(resolve => this.#waiting.add(resolve))
    }
  }

  /** Compacts as kube-apiserver does: notes the revision, then compacts. */
  async compact(at: Revision): Promise<void> {
    const put = {
      type: 'put',
      key: keyFromText(compactionKey),
      value: Buffer.from(String(at)),
    } as const
    await this.#client.txn({ compares: [], success: [put], failure: [] })
    await this.#client.compact(at)
  }

  async close(): Promise<void> {
    this.#stream.cancel()
    await this.#client.close()
  }

  #add(batches: readonly RevisionChanges[]): void {
    for (const batch of batches) {
      for (const change of batch.changes) this.lines.push(lineOf(batch.revision, change))
    }
    this.#wake()
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

function lineOf(rev: Revision, change: Change): HistoryLine {
  if (change.type === 'delete') return { rev, type: 'delete', key: textFromKey(change.key) }
  const { key, value, createRevision, modRevision, version, lease } = change.entry
  return {
    rev,
    type: 'put',
    key: textFromKey(key),
    value: Buffer.from(value).toString('base64'),
    create_revision: createRevision,
    mod_revision: modRevision,
    version,
    lease: String(lease),
  }
}
