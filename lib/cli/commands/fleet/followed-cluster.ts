/** One cluster of a live view over several: its own live view, followed in the name of the caller,
 *  and asked for again when it ends. Here is its page as it is now; what was told of it, and when
 *  something is told, is the view's (`live-fleet-view.ts`).
 *
 *  ```
 *             a page                it ends early, or is late
 *   asking ───────────▶ following ─────────────────────────▶ waiting ── a pause ──▶ asking
 *       ▲───────────────────┘ it ends as watches do
 *  ``` */

import { Backoff, type CancelTimer, type Clock, type Random } from '@watchglass/base'
import type { HttpRequest } from '@watchglass/cache'
import type { FleetCluster } from './fleet-cluster.ts'
import {
  type ClusterGroup,
  type ClusterRow,
  type ClusterView,
  type FleetRowOrder,
  placeOfRow,
  strayIn,
  type Unanswered,
} from './merged-view.ts'
import { asCaller } from './request-of-caller.ts'
import { StreamedRequest } from './streamed-request.ts'

export interface FollowedClusterOptions {
  readonly cluster: FleetCluster
  /** The request of the view over all. */
  readonly caller: HttpRequest
  /** The live view of one cluster. */
  readonly target: string
  readonly order: Omit<FleetRowOrder, 'columns'>
  /** Bytes that its rows may have. */
  readonly fits: (bytes: number) => boolean
  /** Something is to be told. */
  readonly onChange: () => void
  readonly clock: Clock
  readonly random: Random
}

export interface FollowedRow {
  /** The name of the row among those of all clusters. */
  readonly key: string
  readonly place: string
  readonly row: ClusterRow & { readonly cluster: string }
  /** About as many as it has as JSON. */
  readonly bytes: number
}

/** The first page of a cluster that is slow, or starts for it. */
const firstMaxMs = 30_000
const lineMaxBytes = 1024 * 1024
/** A view that has ended sooner is asked for again after a pause only. */
const lastingMs = 10_000
/** Groups count as more than they have: those of all clusters are added up for each document. */
const groupBytes = 400
const pauses = { firstMs: 1_000, maxMs: 30_000 }

/** A document of the live view of one cluster. */
interface LiveLine extends Partial<ClusterView> {
  readonly type: 'PAGE' | 'CHANGE' | 'BOOKMARK' | 'ERROR'
  readonly left?: readonly string[]
  readonly removed?: readonly (readonly unknown[])[]
  readonly object?: RefusalDocument
}

interface RefusalDocument {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
}

interface ChangedRows {
  readonly rows?: readonly { readonly index: number; readonly row: ClusterRow }[]
}

export class FollowedCluster {
  readonly name: string
  rows: readonly FollowedRow[] = []
  readonly groups: Map<string, ClusterGroup> = new Map()
  /** Undefined while it is not followed. */
  counts: Pick<ClusterView, 'revision' | 'total' | 'matched'> | undefined
  columns: ClusterView['columns']
  by: ClusterView['by']
  /** Why it is not followed, or not level with its servers; undefined while nothing is known. */
  unanswered: Unanswered | undefined
  /** A refusal of the question itself: of a column by which rows cannot be sorted here. */
  stray: string | undefined
  readonly #options: FollowedClusterOptions
  readonly #backoff: Backoff
  #request: StreamedRequest | undefined
  #cancel: CancelTimer = () => {}
  #isOver = false
  #bytes = 0
  #begunAtMs = 0

  constructor(options: FollowedClusterOptions) {
    this.#options = options
    this.name = options.cluster.name
    this.#backoff = new Backoff(pauses, options.random)
  }

  get cluster(): FleetCluster {
    return this.#options.cluster
  }

  get bytes(): number {
    return this.#bytes
  }

  /** True once the cluster has answered, or has said that it does not. */
  get isSettled(): boolean {
    return this.counts !== undefined || this.unanswered !== undefined
  }

  ask(): void {
    if (this.#isOver) return
    const { caller, target, clock, cluster } = this.#options
    const request = new StreamedRequest({
      ...asCaller(caller, target),
      maxBytes: lineMaxBytes,
      onLine: line => this.#take(line),
    })
    this.#request = request
    this.#cancel = clock.setTimer(firstMaxMs, () => {
      this.#lost(504, 'Timeout', `no answer within ${firstMaxMs / 1000} s`)
    })
    request.onClose(() => {
      if (this.#request === request) this.#ended(request)
    })
    cluster.handle(request)
  }

  /** Looks whether it still follows its own servers. */
  look(): void {
    if (this.counts === undefined) return
    const isBehind = this.#options.cluster.service?.problem !== undefined
    if (isBehind === (this.unanswered !== undefined)) return
    const { revision } = this.counts
    const message = `the cluster does not follow its servers now: its rows are of revision ${revision}`
    this.unanswered = isBehind
      ? { name: this.name, code: 503, reason: 'NotReady', message }
      : undefined
    this.#options.onChange()
  }

  stop(): void {
    this.#isOver = true
    this.#cancel()
    this.#drop()
  }

  #drop(): void {
    const request = this.#request
    this.#request = undefined
    request?.abort()
  }

  #ended(request: StreamedRequest): void {
    const { clock } = this.#options
    const hasLasted = clock.monotonicMs() - this.#begunAtMs >= lastingMs
    if (request.isTooLarge) this.#tooLarge()
    // As watches do, it ends by itself now and then: its rows stay until there is a page again.
    else if (this.counts !== undefined && hasLasted) this.ask()
    else if (request.status === 200) this.#lost(503, 'Ended', 'its live view has ended')
    else {
      const { code, reason, message } = documentIn(request.rest) as RefusalDocument
      const unknown = request.status === 0 ? 'its answer was cut off' : 'it has not answered a view'
      this.#lost(code ?? (request.status || 502), reason ?? 'Unknown', message ?? unknown)
    }
  }

  #tooLarge(): void {
    this.#lost(413, 'TooLarge', 'its rows are too large: ask for fewer, or less')
  }

  /** Its rows leave, and it is asked again after a pause. */
  #lost(code: number, reason: string, message: string): void {
    const { clock, onChange } = this.#options
    this.#cancel()
    this.#drop()
    this.rows = []
    this.#bytes = 0
    this.groups.clear()
    this.counts = undefined
    this.unanswered = { name: this.name, code, reason, message }
    if (!this.#isOver) this.#cancel = clock.setTimer(this.#backoff.nextMs(), () => this.ask())
    onChange()
  }

  #take(line: string): void {
    const document = documentIn(line) as unknown as LiveLine
    switch (document.type) {
      case 'PAGE':
        this.#begin(document, line.length)
        break
      case 'CHANGE':
        this.#change(document, line.length)
        break
      case 'BOOKMARK':
        if (this.counts !== undefined && document.revision !== undefined) {
          this.counts = { ...this.counts, revision: document.revision }
        }
        break
      case 'ERROR': {
        const {
          code = 503,
          reason = 'Unknown',
          message = 'its live view has ended',
        } = document.object ?? {}
        this.#lost(code, reason, message)
        break
      }
      default:
        // Only what is no live view of ours has others.
        this.#lost(502, 'Unknown', 'its answer is none of a view')
    }
  }

  #begin(document: LiveLine, bytes: number): void {
    const { columns = [], rows = [], groups = [] } = document
    this.#cancel()
    this.#begunAtMs = this.#options.clock.monotonicMs()
    this.#backoff.reset()
    this.columns = columns
    this.by = document.by
    this.stray = this.by === undefined ? strayIn(this.#options.order.sort, columns) : undefined
    this.unanswered = undefined
    this.#count(document)
    const each = bytes / Math.max(1, rows.length)
    this.groups.clear()
    for (const group of groups) this.groups.set(JSON.stringify(group.values), group)
    const before = new Map(this.rows.map(row => [row.key, row]))
    this.#show(
      rows.map(row => {
        const fresh = this.#followed(row, each)
        const known = before.get(fresh.key)
        return known !== undefined && isSameRow(known, fresh) ? known : fresh
      }),
    )
  }

  #change(document: LiveLine, bytes: number): void {
    if (this.counts === undefined) return
    this.#count(document)
    const { left = [], removed = [], groups = [] } = document
    for (const values of removed) this.groups.delete(JSON.stringify(values))
    for (const group of groups) this.groups.set(JSON.stringify(group.values), group)
    const { rows = [] } = document as unknown as ChangedRows
    const each = bytes / Math.max(1, rows.length)
    const fresh = rows.map(({ index, row }) => ({ index, row: this.#followed(row, each) }))
    const gone = new Set([...left.map(key => this.#keyOf(key)), ...fresh.map(({ row }) => row.key)])
    const kept = this.rows.filter(({ key }) => !gone.has(key))
    for (const { index, row } of fresh) kept.splice(index, 0, row)
    this.#show(kept)
  }

  #show(rows: readonly FollowedRow[]): void {
    const bytes = rows.reduce((sum, row) => sum + row.bytes, this.groups.size * groupBytes)
    if (bytes > lineMaxBytes || !this.#options.fits(bytes - this.#bytes)) {
      this.#tooLarge()
      return
    }
    this.#bytes = bytes
    this.rows = rows
    this.#options.onChange()
  }

  #count({ revision, total, matched }: LiveLine): void {
    const before = this.counts
    this.counts = {
      revision: revision ?? before?.revision ?? '0',
      total: total ?? before?.total ?? 0,
      matched: matched ?? before?.matched ?? 0,
    }
  }

  #followed(row: ClusterRow, bytes: number): FollowedRow {
    const { order } = this.#options
    const columns = this.columns ?? []
    const { uid, namespace = '', name } = row
    return {
      key: this.#keyOf(uid || `${namespace}/${name}`),
      place: placeOfRow(this.name, row, { ...order, columns }),
      row: { cluster: this.name, ...row },
      bytes,
    }
  }

  #keyOf(key: string): string {
    return `${this.name}/${key}`
  }
}

function isSameRow({ row: one }: FollowedRow, { row: other }: FollowedRow): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Empty for what is no JSON object: a cluster's upstream may have answered. */
function documentIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}
