/** The whole door under made-up requests: a service in this process with its real listener, an
 *  upstream, and between the two somebody who reads strictly. */

import type { Socket } from 'node:net'
import type { Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { silentLogger } from '../silent-logger.ts'
import { connect, type Address } from '../attacks/ask.ts'
import { openRaw, request } from '../attacks/raw-http2.ts'
import { createTestEngine } from '../etcd/test-engine.ts'
import { ask } from '../http/served.ts'
import { answeredHere, configMap, startFront } from '../upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../upstream/upstream.ts'
import { json } from '../upstream/answers.ts'
import { createGrammar, type Grammar } from './grammar.ts'
import { http2Answers } from './http2-answers.ts'
import { openTap } from './strict-tap.ts'
import { patient } from '../patience.ts'

export interface FuzzOptions {
  readonly requests: number
  readonly seed: number
}

export interface FuzzReport {
  readonly sent: number
  /** Requests that reached the upstream. */
  readonly passed: number
  /** Number of answers with each status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Findings that must not be; each names the seed of its request. */
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
  { requests, seed }: FuzzOptions,
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
    service: { logger, isKept: undefined },
  })
  t.teardown(async () => {
    await service.stop()
    tap.close()
    await upstream.stop()
  })
  await answeredHere({ service }, '', 'v1', 'configmaps')
  const address: Address = { protocol: 'http', port: service.port }
  const statuses: Record<string, number> = {}
  let sent = 0
  let slowestMs = 0
  const work = async (): Promise<void> => {
    while (sent < requests) {
      const number = sent++
      const grammar = createGrammar(createRandom(seed + number))
      const { answers, problem } = await ((seed + number) % 4 === 0 ? over2 : over1)(
        address,
        grammar,
      )
      if (problem !== undefined) findings.push(`seed ${seed + number}: ${problem}`)
      for (const { status, excused } of answers) {
        statuses[status] = (statuses[status] ?? 0) + 1
        // A 500 of ours is logged; others are the upstream's, for paths that it cannot make sense
        // of.
        const isOurs = status > '500' && !excused.includes(status)
        if (isOurs) findings.push(`seed ${seed + number}: a ${status}`)
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
  if (slowestMs > patient(hangMs)) findings.push(`a plain request took ${Math.round(slowestMs)} ms`)
  return { sent, passed: tap.requests, statuses, findings, slowestMs }
}

/** The time of a request that is as it should be. */
async function plain(port: number): Promise<number> {
  const startMs = performance.now()
  const { status } = await ask(port, { path: '/api/v1/namespaces/default/configmaps/a' })
  return status === 200 ? performance.now() - startMs : Infinity
}

interface Answered {
  readonly status: string
  /** Statuses that are right for this request, although we give them. */
  readonly excused: readonly string[]
}

interface Answers {
  readonly answers: readonly Answered[]
  readonly problem?: string | undefined
}

/** Requests with a short time limit may be told that it is over. */
const timeLimit = /timeout=/

/** Sends one request as HTTP/1.1; what comes back until nothing does. */
async function over1(address: Address, grammar: Grammar): Promise<Answers> {
  const socket = await connect(address)
  const bytes = grammar.request()
  const text = (await received(socket, bytes, goneOnMs)).toString('latin1')
  const excused = timeLimit.test(bytes.toString('latin1')) ? ['504'] : []
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(match => match[1]!)
  return { answers: statuses.map(status => ({ status, excused })) }
}

/** Sends a few requests as HTTP/2, now and then with bytes changed. */
async function over2(address: Address, grammar: Grammar): Promise<Answers> {
  // Without a dynamic table of headers each response can be read by itself.
  const socket = await openRaw(address, [1, 0])
  const all = [1, 3, 5, 7].map(stream => ({ stream, lines: grammar.lines() }))
  const frames = all.map(({ stream, lines }) => request(stream, lines))
  const bytes = grammar.changed(Buffer.concat(frames))
  const isWhole = (got: Buffer): boolean => {
    const { statuses, resets, isEnded } = http2Answers(got)
    return isEnded || all.every(({ stream }) => statuses.has(stream) || resets.has(stream))
  }
  const { statuses, problem } = http2Answers(await received(socket, bytes, idleMs, isWhole))
  const answers = [...statuses].map(([stream, status]) => {
    const { lines = [] } = all.find(one => one.stream === stream) ?? {}
    const isLate = lines.some(([, value]) => timeLimit.test(value))
    return { status, excused: isLate ? ['504'] : [] }
  })
  return { answers, problem }
}

/** Sends bytes, and closes the connection when what has come back is whole, or goes on no more. */
async function received(
  socket: Socket,
  bytes: Buffer,
  pauseMs: number,
  isWhole: (got: Buffer) => boolean = () => false,
): Promise<Buffer> {
  let got: Buffer = Buffer.alloc(0)
  await new Promise<void>(resolve => {
    const done = (): void => {
      socket.destroy()
      resolve()
    }
    let timer = setTimeout(done, idleMs)
    socket.on('data', (piece: Buffer) => {
      got = Buffer.concat([got, piece])
      clearTimeout(timer)
      timer = setTimeout(done, isWhole(got) ? 0 : pauseMs)
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve()
    })
    socket.write(bytes)
  })
  return got
}
