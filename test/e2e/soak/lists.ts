/** Lists at a steady rate, in a thread of its own: over kept HTTP/1.1 connections, with requests
 *  that are written once, and answers that are mostly looked through, not parsed. So the client
 *  costs a fraction of what the servers do, and the rate is theirs to miss.
 *
 *  It repeats a request as Go's client does: only when a connection that has been used before ends
 *  without a byte of the answer. */

import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { type Answer, Connections } from './connections.ts'

export interface ListsOptions {
  readonly port: number
  readonly perSecond: number
  /** Objects on the first of two pages. */
  readonly firstPage: number
}

export interface ListsReport {
  readonly errors: readonly string[]
  readonly lists: number
  /** Lists for each second in which they were asked for. */
  readonly perSecond: number
  /** Times that clients waited for lists of two pages. */
  readonly medianListMs: number
  readonly p99ListMs: number
  readonly slowestListMs: number
  /** The longest time that the lists' own thread was busy with other things: lists waited for that,
   *  too. */
  readonly clientBusyMs: number
  readonly connections: number
  /** Requests that were sent again because their connection had just ended. */
  readonly repeated: number
}

/** Lists until it is stopped. */
export function startLists(options: ListsOptions): { stop(): Promise<ListsReport> } {
  const worker = new Worker(new URL(import.meta.url), { workerData: options })
  const report = new Promise<ListsReport>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return {
    async stop() {
      worker.postMessage('stop')
      return report
    },
  }
}

const path = '/api/v1/pods'
const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
/** The number of lists of which one is parsed. */
const parsedEach = 20
/** More than that at a time mean that the servers do not keep up. */
const atOnceMax = 400
const tickMs = 5

class Lists {
  readonly #options: ListsOptions
  readonly #connections: Connections
  readonly #errors: string[] = []
  readonly #times: number[] = []
  readonly #underWay = new Set<Promise<void>>()
  readonly #busy = monitorEventLoopDelay({ resolution: 10 })
  readonly #begunMs = performance.now()
  #begun = 0

  constructor(options: ListsOptions) {
    this.#options = options
    this.#connections = new Connections(options.port)
    this.#busy.enable()
  }

  /** As many lists as are due. */
  begin(): void {
    const due = ((performance.now() - this.#begunMs) * this.#options.perSecond) / 1000
    while (this.#begun < due && this.#underWay.size < atOnceMax) {
      const one = this.#list(this.#begun++ % parsedEach === 0).finally(() =>
        this.#underWay.delete(one),
      )
      this.#underWay.add(one)
    }
  }

  async end(): Promise<ListsReport> {
    const seconds = (performance.now() - this.#begunMs) / 1000
    await Promise.all(this.#underWay)
    this.#busy.disable()
    this.#connections.close()
    const times = this.#times.sort((a, b) => a - b)
    const at = (share: number): number =>
      Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0)
    return {
      errors: this.#errors,
      lists: times.length,
      perSecond: Math.round(times.length / seconds),
      medianListMs: at(0.5),
      p99ListMs: at(0.99),
      slowestListMs: at(1),
      clientBusyMs: Math.round(this.#busy.max / 1e6),
      connections: this.#connections.opened,
      repeated: this.#connections.repeated,
    }
  }

  async #list(isParsed: boolean): Promise<void> {
    const begunMs = performance.now()
    try {
      const first = await this.#page(`limit=${this.#options.firstPage}`)
      const token = textAfter(first.body, '"continue":"')
      assert.ok(token !== undefined, 'the first page has no token')
      const second = await this.#page(`limit=100000&continue=${encodeURIComponent(token)}`)
      assert.equal(revisionOf(second), revisionOf(first))
      assert.equal(textAfter(second.body, '"continue":"'), undefined)
      assert.equal(itemsOf(second), Number(textAfter(first.body, '"remainingItemCount":')))
      if (isParsed) noneTwice([first, second])
    } catch (error) {
      this.#errors.push(`${new Date().toISOString()} list: ${String(error)}`)
    }
    this.#times.push(performance.now() - begunMs)
  }

  async #page(query: string): Promise<Answer> {
    const answer = await this.#connections.get(`${path}?${query}`, accept)
    assert.equal(answer.status, 200, answer.body.toString())
    return answer
  }
}

/** The text after the first of a mark, up to the end of the value. */
function textAfter(body: Buffer, mark: string): string | undefined {
  // What is asked for is in the metadata of the list, which is before its items.
  const head = body.toString('latin1', 0, 1000).split('"items":')[0]!
  return new RegExp(`${mark}([^",}]*)`).exec(head)?.[1]
}

const revisionMark = '"resourceVersion":"'

function revisionOf({ body }: Answer): string | undefined {
  return textAfter(body, revisionMark)
}

/** Each object has one revision, and so has the list. */
function itemsOf({ body }: Answer): number {
  let count = -1
  for (let at = body.indexOf(revisionMark); at >= 0; at = body.indexOf(revisionMark, at + 1)) {
    count++
  }
  return count
}

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string }
}

function noneTwice(pages: readonly Answer[]): void {
  const names = pages
    .flatMap(({ body }) => (JSON.parse(body.toString()) as { items: readonly Item[] }).items)
    .map(({ metadata: { namespace, name } }) => `${namespace}/${name}`)
  assert.equal(new Set(names).size, names.length, 'an object is on both pages')
}

if (parentPort !== null) {
  const lists = new Lists(workerData as ListsOptions)
  const timer = setInterval(() => lists.begin(), tickMs)
  parentPort.once('message', () => {
    clearInterval(timer)
    void lists.end().then(report => parentPort?.postMessage(report))
  })
}
