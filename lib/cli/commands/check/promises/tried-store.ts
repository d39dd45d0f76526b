/** An etcd, or what speaks its API, as promises are tried on it: reads, watches, and writes in a
 *  folder of its own that is emptied at the end. */

import {
  CacheError,
  type Key,
  keyFromText,
  type KeyRange,
  nextRevision,
  prefixRange,
  type Revision,
} from '@watchglass/base'
import type { Client, Operation, RevisionChanges } from '@watchglass/etcd'

export interface TriedStoreOptions {
  /** A client of each endpoint. */
  readonly clients: readonly [Client, ...Client[]]
  /** Folder of the keys that are written, with a slash at its end. */
  readonly folder: string
  /** Keys that are there, and are only read. */
  readonly mirrored: KeyRange
  /** Time that each step may take. */
  readonly stepMaxMs: number
  readonly signal: AbortSignal
}

/** An open watch, and all that it has told of. */
export interface WatchLog {
  readonly batches: readonly RevisionChanges[]
  /** Revisions of progress marks, each with how many batches had come before it. */
  readonly progress: readonly { readonly revision: Revision; readonly after: number }[]
  requestProgress(): void
  /** Resolves as soon as the condition holds; fails when it does not in time, or the watch ends. */
  until(what: string, condition: () => boolean): Promise<void>
  close(): void
}

/** Keys that are deleted at a time, and the steps that all may take. */
const [pageKeys, clearSteps] = [100, 6]

export class TriedStore {
  readonly clients: readonly [Client, ...Client[]]
  readonly client: Client
  readonly range: KeyRange
  readonly mirrored: KeyRange
  readonly #options: TriedStoreOptions

  constructor(options: TriedStoreOptions) {
    this.#options = options
    this.mirrored = options.mirrored
    this.clients = options.clients
    this.client = options.clients[0]
    this.range = prefixRange(keyFromText(options.folder))
  }

  key(name: string): Key {
    return keyFromText(`${this.#options.folder}${name}`)
  }

  /** A signal for one step. */
  step(): AbortSignal {
    return AbortSignal.any([this.#options.signal, AbortSignal.timeout(this.#options.stepMaxMs)])
  }

  /** Writes a key as kube-apiserver does: if it has the revision that is known, 0 for none. */
  async put(
    name: string,
    value: string | Uint8Array = name,
    { known = 0, lease }: { readonly known?: number; readonly lease?: bigint } = {},
  ): Promise<{ readonly succeeded: boolean; readonly revision: Revision }> {
    const key = this.key(name)
    const put: Operation = { type: 'put', key, value: Buffer.from(value as string), lease }
    const { succeeded, header } = await this.client.txn(
      {
        compares: [{ key, target: 'modRevision', result: 'equal', value: known }],
        success: [put],
        failure: [{ type: 'range', request: { range: { start: key, end: undefined }, limit: 1 } }],
      },
      this.step(),
    )
    return { succeeded, revision: header.revision }
  }

  /** Deletes what is in the folder, each key as kube-apiserver does: stores over SQL know no
   *  other way. */
  async clear(): Promise<void> {
    const signal = AbortSignal.timeout(clearSteps * this.#options.stepMaxMs)
    for (let more = true; more;) {
      const page = await this.client.range({ range: this.range, limit: pageKeys }, signal)
      for (const { key, modRevision } of page.entries) {
        const range = { start: key, end: undefined }
        await this.client.txn(
          {
            compares: [{ key, target: 'modRevision', result: 'equal', value: modRevision }],
            success: [{ type: 'delete', range }],
            failure: [{ type: 'range', request: { range, limit: 1 } }],
          },
          signal,
        )
      }
      more = page.more
    }
  }

  /** The revision that the store has now. */
  async revision(): Promise<Revision> {
    const { header } = await this.client.range({ range: this.range, limit: 1 }, this.step())
    return header.revision
  }

  /** Watches the folder from a revision, or from the next one on as a mirror does: some stores tell
   *  everything again to who names none. Resolves when etcd has taken it. */
  async watch(startRevision?: Revision): Promise<WatchLog> {
    const start = startRevision ?? nextRevision(await this.revision())
    const log = new Log(this.client, this.range, start, this.#options)
    await log.until('the watch to be taken', () => log.isCreated)
    return log
  }
}

class Log implements WatchLog {
  readonly batches: RevisionChanges[] = []
  readonly progress: { revision: Revision; after: number }[] = []
  isCreated = false
  readonly #options: TriedStoreOptions
  readonly #stream: ReturnType<Client['watch']>
  #failure: CacheError | undefined
  #wake: () => void = () => {}

  constructor(
    client: Client,
    range: KeyRange,
    startRevision: Revision,
    options: TriedStoreOptions,
  ) {
    this.#options = options
    this.#stream = client.watch(
      { range, startRevision },
      {
        created: () => {
          this.isCreated = true
          this.#wake()
        },
        changed: batches => {
          this.batches.push(...batches)
          this.#wake()
        },
        progress: ({ revision }) => {
          this.progress.push({ revision, after: this.batches.length })
          this.#wake()
        },
        ended: failure => {
          this.#failure = failure
          this.#wake()
        },
      },
    )
  }

  requestProgress(): void {
    this.#stream.requestProgress()
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    const { signal, stepMaxMs } = this.#options
    const wake = (): void => this.#wake()
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      wake()
    }, stepMaxMs)
    signal.addEventListener('abort', wake)
    try {
      while (!condition()) {
        if (this.#failure !== undefined) throw this.#failure
        if (signal.aborted) throw new CacheError('closed', 'the check was stopped')
        if (isLate) throw new CacheError('source_failed', `waited ${stepMaxMs} ms for ${what}`)
        await new Promise<void>(resolve => (this.#wake = resolve))
      }
    } finally {
      clearTimeout(limit)
      signal.removeEventListener('abort', wake)
    }
  }

  close(): void {
    this.#stream.cancel()
  }
}
