/** The whole door under made-up requests: a service in this process with its real listener, an upstream, and between the two somebody who
 *  reads strictly. */

import type { Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { silentLogger } from '../silent-logger.ts'
import { connect, type Face } from '../attacks/faces.ts'
import { openRaw, request } from '../attacks/raw-http2.ts'
import { createTestEngine } from '../etcd/test-engine.ts'
import { ask } from '../http/served.ts'
import { answeredHere, configMap, startFront } from '../upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../upstream/upstream.ts'
import { json } from '../upstream/answers.ts'
import { createGrammar, type Grammar } from './grammar.ts'
import { openTap } from './strict-tap.ts'

export interface FuzzOptions {
  readonly requests: number
  readonly seed: number
  /** Ends it earlier. */
  readonly maxMs?: number | undefined
}

export interface FuzzReport {
  readonly sent: number
  /** Requests that reached the upstream. */
  readonly passed: number
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>
  /** What must not happen; each names the seed of its request. */
  readonly findings: readonly string[]
  /** The longest that a plain request had to wait meanwhile. */
  readonly slowestMs: number
}

const atOnce = 32
/** For an answer to begin, and to go on. */
const idleMs = 150
const goneOnMs = 10
const hangMs = 10_000

export async function fuzz(
  t: Pick<Test, 'teardown'>,
  { requests, seed, maxMs = Infinity }: FuzzOptions,
): Promise<FuzzReport> {
  const findings: string[] = []
  const { client } = createTestEngine(t)
  const upstream = await TestUpstream.start({ client })
  await upstreamReady(upstream)
  await upstream.create('/api/v1/namespaces/default/configmaps', configMap('a', '1'))
  upstream.before = async ({ method }, body) => {
    upstream.seen.length = 0
    if (method === 'GET' || method === 'HEAD') return undefined
    // A body that breaks off has no answer that matters.
    await body().catch(() => undefined)
    return json({})
  }
  const tap = await openTap(upstream.port)
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: object) =>
      void findings.push(`${message} ${JSON.stringify(fields)}`),
  }
  const service = await startFront(client, { url: tap.url } as TestUpstream, {
    service: { logger },
  })
  t.teardown(async () => {
    await service.stop()
    tap.close()
    await upstream.stop()
  })
  await answeredHere({ service }, '', 'v1', 'configmaps')
  const face: Face = { protocol: 'http', port: service.port }
  const endMs = performance.now() + maxMs
  const statuses: Record<string, number> = {}
  let sent = 0
  let slowestMs = 0
  const work = async (): Promise<void> => {
    while (sent < requests && performance.now() < endMs) {
      const number = sent++
      const grammar = createGrammar(createRandom(seed + number))
      for (const status of await (number % 4 === 3 ? over2 : over1)(face, grammar)) {
        statuses[status] = (statuses[status] ?? 0) + 1
        // A 500 of ours is logged; others are the upstream's, for paths that it cannot make sense of.
        if (status > '500') findings.push(`seed ${seed + number}: a ${status}`)
      }
      if (tap.findings.length > 0) {
        findings.push(
          ...tap.findings.map(what => `seed ${seed + number} or shortly before: ${what}`),
        )
        return
      }
      if (number % 200 === 0) slowestMs = Math.max(slowestMs, await plain(service.port))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  slowestMs = Math.max(slowestMs, await plain(service.port))
  if (slowestMs > hangMs) findings.push(`a plain request took ${Math.round(slowestMs)} ms`)
  return { sent, passed: tap.requests, statuses, findings, slowestMs }
}

/** How long a request takes that is as it should be. */
async function plain(port: number): Promise<number> {
  const startMs = performance.now()
  const { status } = await ask(port, { path: '/api/v1/namespaces/default/configmaps/a' })
  return status === 200 ? performance.now() - startMs : Infinity
}

/** Sends one request as HTTP/1.1; the statuses of what comes back until nothing does. */
async function over1(face: Face, grammar: Grammar): Promise<string[]> {
  const socket = await connect(face)
  let text = ''
  await new Promise<void>(resolve => {
    const done = (): void => {
      socket.destroy()
      resolve()
    }
    let timer = setTimeout(done, idleMs)
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1')
      clearTimeout(timer)
      timer = setTimeout(done, goneOnMs)
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve()
    })
    socket.write(grammar.request())
  })
  return [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(match => match[1]!)
}

/** Sends a few requests as HTTP/2. Answers are not looked at: what is wrong is seen at the upstream, and in the log. */
async function over2(face: Face, grammar: Grammar): Promise<string[]> {
  const socket = await openRaw(face)
  for (let stream = 1; stream < 8; stream += 2) socket.write(request(stream, grammar.lines()))
  await new Promise(resolve => setTimeout(resolve, idleMs))
  socket.destroy()
  return []
}
