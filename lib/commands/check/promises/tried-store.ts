/** An etcd, or what speaks its API, as promises are tried on it: reads, watches, and writes in a
 *  folder of its own that is emptied at the end. */

import { CacheError } from '../../../base/errors.ts'
import { type Key, type KeyRange, keyFromText, prefixRange } from '../../../base/keys.ts'
import type { Revision } from '../../../base/revision.ts'
import type { Client, Operation, RevisionChanges } from '../../../etcd/client.ts'

export interface TriedStoreOptions {
  /** A client of each endpoint. */
  readonly clients: readonly [Client, ...Client[]]
  /** Folder of the keys that are written, with a slash at its end. */
  readonly folder: string
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

export class TriedStore {
  readonly clients: readonly [Client, ...Client[]]
  readonly client: Client
  readonly range: KeyRange
  readonly #options: TriedStoreOptions

  constructor(options: TriedStoreOptions) {
    this.#options = options
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

  /** Deletes what is in the folder. */
  async clear(): Promise<void> {
    await this.client.txn(
      { compares: [], success: [{ type: 'delete', range: this.range }], failure: [] },
      AbortSignal.timeout(this.#options.stepMaxMs),
    )
  }

  /** Watches the folder, from a revision or from now on; resolves when etcd has taken it. */
  async watch(startRevision?: Revision): Promise<WatchLog> {
    const log = new Log(this.client, this.range, startRevision, this.#options)
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
    startRevision: Revision | undefined,
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
