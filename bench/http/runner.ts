/** Who sends the requests: h2load, a client of others, whose log has the time of each request; or
 *  our own client where h2load is not installed, and in the tests. */

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Load } from '../list/processes.ts'
import type { RequestHeaders } from '../list/http1-client.ts'
import type { Shape } from './shapes.ts'

export interface RunOrder {
  /** Without a slash at the end. */
  readonly url: string
  readonly version: '1.1' | '2'
  readonly paths: readonly string[]
  readonly headers: RequestHeaders
  readonly shape: Shape
  readonly seconds: number
  /** Time of the processor that the server has taken since it started. */
  readonly cpuSeconds: () => Promise<number>
}

export interface RunReport {
  /** The times of answered requests, in milliseconds. */
  readonly timesMs: readonly number[]
  /** Requests that were not answered with 200. */
  readonly failed: number
  readonly seconds: number
  /** Time of the server's processor while these were answered. */
  readonly cpuSeconds: number
}

export interface Runner {
  readonly name: string
  run(order: RunOrder): Promise<RunReport>
  stop(): Promise<void>
}

const execute = promisify(execFile)

/** h2load where it is installed. */
export async function findH2load(): Promise<Runner | undefined> {
  try {
    const { stdout } = await execute('h2load', ['--version'])
    return new H2load(stdout.trim())
  } catch {
    return undefined
  }
}

/** Connections are open and code is compiled after this: each one has a handshake of some
 *  milliseconds, for which both sides have two processors. h2load has a time of its own to warm up,
 *  which does not say when it is over. */
function warmUpSecondsOf({ clients }: Shape): number {
  return 1 + clients / 200
}

/** Requests go on for so much longer than is measured. */
const spareSeconds = 0.2

class H2load implements Runner {
  readonly name: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'bench-http-'))

  constructor(name: string) {
    this.name = name
  }

  async run(order: RunOrder): Promise<RunReport> {
    const { url, version, paths, headers, shape, seconds } = order
    const [log, input] = ['log', 'paths'].map(name => join(this.#folder, name)) as [string, string]
    writeFileSync(input, paths.map(path => `${url}${path}\n`).join(''))
    writeFileSync(log, '')
    const secure = url.startsWith('https:')
    // Only what is chosen is offered, so that a server cannot answer in the other version.
    const protocol = version === '1.1' ? ['--h1'] : secure ? ['--npn-list=h2'] : []
    const args = [
      ...protocol,
      `--clients=${shape.clients}`,
      `--max-concurrent-streams=${shape.streams}`,
      `--duration=${Math.round(1000 * (warmUpSecondsOf(shape) + seconds + spareSeconds))}ms`,
      `--log-file=${log}`,
      `--input-file=${input}`,
      ...Object.entries(headers).map(([name, value]) => `--header=${name}: ${value}`),
    ]
    // It is not waited for: with 500 connections on a busy machine it may never end.
    const enough = new AbortController()
    const { signal } = enough
    const ended = execute('h2load', args, { maxBuffer: 64 * 1024 * 1024, signal }).catch(
      (error: unknown) => {
        if (!signal.aborted) throw error
      },
    )
    const [{ cpuSeconds, ...span }] = await Promise.all([
      measure(order).finally(() => enough.abort()),
      ended,
    ])
    const lasted = (span.toMs - span.fromMs) / 1000
    return { ...readLog(readFileSync(log, 'utf8'), span), seconds: lasted, cpuSeconds }
  }

  async stop(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A while, by the clock of the system. */
interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** Waits for the time to measure, and until it is over. */
async function measure({
  shape,
  seconds,
  cpuSeconds,
}: RunOrder): Promise<Span & Pick<RunReport, 'cpuSeconds'>> {
  await sleep(1000 * warmUpSecondsOf(shape))
  const [fromMs, before] = [Date.now(), await cpuSeconds()]
  await sleep(1000 * seconds)
  const [toMs, after] = [Date.now(), await cpuSeconds()]
  return { fromMs, toMs, cpuSeconds: after - before }
}

/** Lines of when a request began, its status, and the microseconds that it took. What has ended in
 *  the span counts. */
export function readLog(
  text: string,
  { fromMs, toMs }: Span,
): Pick<RunReport, 'timesMs' | 'failed'> {
  const timesMs: number[] = []
  let failed = 0
  for (const line of text.split('\n')) {
    const [began, status, microseconds] = line.split('\t')
    if (status === undefined || microseconds === undefined) continue
    const tookMs = Number(microseconds) / 1000
    const endedMs = Number(began) / 1000 + tookMs
    if (endedMs < fromMs || endedMs > toMs) continue
    if (status === '200') timesMs.push(tookMs)
    else failed++
  }
  return { timesMs, failed }
}

/** Our own client: over HTTP/2 all streams are on one connection, over HTTP/1.1 each request has
 *  one. */
export class OwnClient implements Runner {
  readonly name = 'our own client, a few requests at once'
  readonly #load = new Load()

  async run(order: RunOrder): Promise<RunReport> {
    const { url, version, paths, headers, shape, seconds } = order
    const port = Number(new URL(url).port)
    const inFlight = Math.min(ownInFlightMax, shape.clients * shape.streams)
    const target = { type: 'api' as const, port, version }
    const before = await order.cpuSeconds()
    const report = await this.#load.run({ target, paths, headers, inFlight, ms: seconds * 1000 })
    const cpuSeconds = (await order.cpuSeconds()) - before
    return { timesMs: report.timesMs, failed: 0, seconds: report.seconds, cpuSeconds }
  }

  stop(): Promise<void> {
    return this.#load.stop()
  }
}

const ownInFlightMax = 4
