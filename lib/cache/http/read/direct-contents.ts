/** Reads that the mirror cannot answer, such as those at a revision from before it started. They
 *  are answered from etcd itself, page by page. However large the range, only two pages are in
 *  memory: the one that is being sent and the next one. A list with a limit is one page, which ends
 *  early when it is too large to hold.
 *
 *  The body is written by the same code as any other list (list.ts). That code never waits while it
 *  walks the runs, so it gets an empty run wherever it has to wait for etcd. */

import { CacheError, type KeyRange, NotExact, type Revision } from '@watchglass/base'
import { type Run, runEntries, runsOfEntries } from '@watchglass/codec'
import {
  compileFilter,
  type DirectPage,
  type DirectSource,
  type Filter,
  listMeta,
  type ListPlan,
  type MakeReader,
  notExactly,
  type Page,
  pageEntries,
  readFailure,
  type ReadPlan,
  type TokenEncryption,
} from '@watchglass/kube'
import { BTreeBuilder, type KeyValue, Snapshot } from '@watchglass/store'
import type { ListContents } from './list.ts'

/** Lists without a selector up to this limit are a single page of the source, and count as small
 *  reads. */
const smallLimitMax = 500
/** A list with a limit is held until it is complete, and ends early at this size. */
const heldMaxBytes = 16 * 1024 * 1024

/** A read, and the means to answer it for its client. */
export interface DirectRead<Plan extends ReadPlan> {
  readonly plan: Plan
  readonly source: DirectSource
  readonly makeReader: MakeReader
  readonly tokenEncryption: TokenEncryption | undefined
  /** Aborted when the client leaves, or the request's time is up. */
  readonly signal: AbortSignal
}

/** The contents of a list. Resolves when the first page has come, so that early failures can be
 *  answered with a Status. */
export async function directList(read: DirectRead<ListPlan>): Promise<ListContents> {
  if (read.plan.limit === 0) {
    const runs = await DirectRuns.begin(read)
    const meta = {
      resourceVersion: String(runs.revision),
      shardSelector: read.plan.shards?.text,
    }
    return { meta, runs, isMirrored: false, more: () => runs.more(), end: () => runs.end() }
  }
  const page = await directPage(read)
  const meta = listMeta(read.plan, page, read.tokenEncryption)
  return { meta, runs: runsOfEntries([...pageEntries(page)]), isMirrored: false }
}

/** All entries of a range: for a single object, and for the initial events of a watch. */
export async function directSnapshot(
  read: DirectRead<ReadPlan>,
  range: KeyRange,
): Promise<Snapshot> {
  const { plan, source, signal } = read
  const builder = new BTreeBuilder<KeyValue>()
  let revision: Revision | undefined
  const limit = plan.type === 'get' ? 1 : undefined
  try {
    for await (const page of source.pages({ range, limit, signal })) {
      revision = page.revision
      for (const entry of page.entries) builder.add(entry)
    }
  } catch (error) {
    throw failureOf(read, error)
  }
  if (revision === undefined) throw new CacheError('source_failed', 'etcd answered no page')
  const { root, height } = builder.finish()
  return new Snapshot({ revision, root, height, indexes: new Map() })
}

/** The page of a list with a limit. */
async function directPage(read: DirectRead<ListPlan>): Promise<Page> {
  const { plan, source, signal, makeReader } = read
  const { range, limit } = plan
  const filter = compileFilter(plan, makeReader)
  const isSmall = filter === undefined && limit <= smallLimitMax
  const entries: KeyValue[] = []
  let bytes = 0
  let before = 0
  try {
    for await (const page of source.pages({ range, limit: isSmall ? limit : undefined, signal })) {
      for (const [i, entry] of page.entries.entries()) {
        if (!isSelected(entry, filter, plan)) continue
        entries.push(entry)
        bytes += entry.valueLength
        if (entries.length < limit && bytes < heldMaxBytes) continue
        const isLast = page.remaining + page.entries.length - i - 1 === 0
        const rest = before + page.entries.length + page.remaining - entries.length
        return pageOf(plan, page, { entries, last: isLast ? undefined : entry, rest })
      }
      if (page.remaining === 0) return pageOf(plan, page, { entries, last: undefined, rest: 0 })
      before += page.entries.length
    }
  } catch (error) {
    throw failureOf(read, error)
  }
  throw new CacheError('source_failed', 'etcd ended before its last page')
}

interface Taken {
  readonly entries: readonly KeyValue[]
  readonly last: KeyValue | undefined
  /** Entries of the range, without those that were taken. */
  readonly rest: number
}

function pageOf(plan: ListPlan, { revision }: DirectPage, { entries, last, rest }: Taken): Page {
  const isCounted = last !== undefined && plan.isCounted
  return {
    content: { type: 'entries', entries },
    revision,
    last: last?.key,
    remaining: isCounted ? rest : undefined,
  }
}

function isSelected(entry: KeyValue, filter: Filter | undefined, plan: ListPlan): boolean {
  if (filter === undefined) return true
  const result = filter(entry)
  if (result instanceof NotExact) throw notExactly(plan.resource, result)
  return result
}

function failureOf({ plan, tokenEncryption }: DirectRead<ReadPlan>, error: unknown): CacheError {
  return readFailure(plan, CacheError.from(error, 'source_failed'), tokenEncryption)
}

/** The entries of a list without a limit, as far as they have arrived. */
class DirectRuns implements Iterable<Run> {
  readonly #read: DirectRead<ListPlan>
  readonly #filter: Filter | undefined
  readonly revision: Revision
  #first: DirectPage | undefined
  #pages: AsyncIterator<DirectPage>
  #waiting: KeyValue[] = []
  #isComplete = false
  #isBegun = false

  private constructor(
    read: DirectRead<ListPlan>,
    pages: AsyncIterator<DirectPage>,
    first: DirectPage,
  ) {
    this.#read = read
    this.#filter = compileFilter(read.plan, read.makeReader)
    this.#pages = pages
    this.#first = first
    this.revision = first.revision
    // It is also stopped if the list is never sent.
    read.signal.addEventListener('abort', () => void this.end(), { once: true })
  }

  /** Resolves when the first page has arrived, so that an early failure can be answered with a
   *  Status. */
  static async begin(read: DirectRead<ListPlan>): Promise<DirectRuns> {
    const pages = pagesOf(read, undefined)
    const first = await nextPage(read, pages)
    if (first === undefined) throw new CacheError('source_failed', 'etcd answered no page')
    return new DirectRuns(read, pages, first)
  }

  /** Iterating again reads everything again. This is needed where the length of the whole list is
   *  written before its first item. */
  *[Symbol.iterator](): Generator<Run, void, undefined> {
    if (this.#isBegun) this.#restart()
    this.#isBegun = true
    while (!this.#isComplete || this.#waiting.length > 0) {
      const entries = this.#waiting.splice(0, runEntries)
      yield { entries, from: 0, to: entries.length, leaf: undefined }
    }
  }

  /** Waits for more. Called after an empty run. */
  async more(): Promise<void> {
    const page = this.#first ?? (await nextPage(this.#read, this.#pages))
    this.#first = undefined
    if (page === undefined) this.#isComplete = true
    for (const entry of page?.entries ?? []) {
      if (isSelected(entry, this.#filter, this.#read.plan)) this.#waiting.push(entry)
    }
  }

  /** Stops reading: no more pages are needed. */
  async end(): Promise<void> {
    await this.#pages.return?.()
  }

  #restart(): void {
    void this.end()
    this.#pages = pagesOf(this.#read, this.revision)
    this.#first = undefined
    this.#waiting = []
    this.#isComplete = false
  }
}

function pagesOf(
  { source, plan, signal }: DirectRead<ListPlan>,
  revision: Revision | undefined,
): AsyncIterator<DirectPage> {
  const request = { range: plan.range, signal }
  return source
    .pages(revision === undefined ? request : { ...request, revision })
    [Symbol.asyncIterator]()
}

async function nextPage(
  read: DirectRead<ListPlan>,
  pages: AsyncIterator<DirectPage>,
): Promise<DirectPage | undefined> {
  try {
    const next = await pages.next()
    return next.done === true ? undefined : next.value
  } catch (error) {
    throw failureOf(read, error)
  }
}
