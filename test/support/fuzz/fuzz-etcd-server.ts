/** Both etcd servers under made-up calls, through their real listeners: an embedded
 *  engine, for everybody, and a mirror of another, for a certificate with limited rights. Whoever
 *  has limited rights reads and changes nothing beyond them. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { rangeCodec } from '../../../lib/etcd/proto/kv-messages.ts'
import type { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { startTestReplica } from '../etcd/test-replica.ts'
import { createTestEngine } from '../etcd/test-engine.ts'
import { bareCall, framed } from '../etcd/bare-grpc.ts'
import { patient } from '../patience.ts'
import { silentLogger } from '../silent-logger.ts'
import type { Test } from 'tap'
import { type EtcdCall, etcdCall, openKeys, secretKeys, secretText } from './etcd-calls.ts'
import type { FuzzOptions } from './fuzz.ts'

export interface EtcdReport {
  readonly sent: number
  /** Number of calls that ended with each status of gRPC. */
  readonly statuses: Readonly<Record<string, number>>
  readonly findings: readonly string[]
  /** The longest that a plain read had to wait meanwhile. */
  readonly slowestMs: number
}

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)

/** The rights of the name on the client's certificate. */
const rules = new Map([['alice', { read: ['/r'], write: ['/a'] }]])

/** Statuses of a server that has not done what it should: unknown, internal, and lost data. */
const faults = new Set(['2', '13', '15'])

/** Said, as etcd does, to a client that ends in the middle of a message. */
const cutOff = /^(?:unexpected )?EOF$/

const atOnce = 16
/** Calls that a connection has before the next one is opened. */
const callsOfSession = 40
/** A stream is left so long after its last request. */
const listenMs = 10
/** The status of what may be asked again. */
const unavailable = '14'
const hangMs = 10_000

interface Target {
  readonly name: string
  readonly connect: () => http2.ClientHttp2Session
  readonly isLimited: boolean
}

export async function fuzzEtcdServer(
  t: Pick<Test, 'teardown'>,
  { requests, seed }: FuzzOptions,
): Promise<EtcdReport> {
  const findings: string[] = []
  const { client, targets } = await startTargets(t, findings)
  const before = await secretsOf(client)
  const statuses: Record<string, number> = {}
  let sent = 0
  let slowestMs = 0
  const work = async (target: Target): Promise<void> => {
    let session: http2.ClientHttp2Session | undefined
    while (sent < requests) {
      const number = seed + sent++
      if (number % callsOfSession === 0) session?.destroy()
      if (session === undefined || session.destroyed || session.closed) session = target.connect()
      const call = etcdCall(createRandom(number))
      const what = `seed ${number}, ${call.path} at ${target.name}`
      const { status, message, bytes } = await answerOf(session, call)
      statuses[status] = (statuses[status] ?? 0) + 1
      if (faults.has(status) && !cutOff.test(message)) {
        findings.push(`${what}: status ${status} ${message}`)
      }
      if (status === 'none') findings.push(`${what}: no answer`)
      if (target.isLimited && bytes.includes(secretText)) findings.push(`${what}: tells a secret`)
      if (number % 200 === 0) slowestMs = Math.max(slowestMs, await plainMs(target, findings))
    }
    session?.destroy()
  }
  const workers = Array.from({ length: atOnce }, (_, i) => targets[i % targets.length]!)
  await Promise.all(workers.map(work))
  for (const target of targets) slowestMs = Math.max(slowestMs, await plainMs(target, findings))
  if (slowestMs > patient(hangMs)) findings.push(`a plain read took ${Math.round(slowestMs)} ms`)
  if ((await secretsOf(client)) !== before) findings.push('keys of others were changed')
  return { sent, statuses, findings, slowestMs }
}

async function startTargets(
  t: Pick<Test, 'teardown'>,
  findings: string[],
): Promise<{ client: EngineClient; targets: readonly Target[] }> {
  const open = createTestEngine(t)
  const alone = await startEtcdServer({ engine: open.engine, listen: '127.0.0.1:0' })
  t.teardown(() => alone.close())
  const { engine, client } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => server.close())
  for (const one of [open.client, client]) {
    const values = [
      ...openKeys.map(key => [key, 'open'] as const),
      ...secretKeys.map(key => [key, secretText] as const),
    ]
    for (const [key, value] of values) {
      await one.txn({
        compares: [],
        success: [{ type: 'put', key: keyFromText(key), value: Buffer.from(value) }],
        failure: [],
      })
    }
  }
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: object) =>
      void findings.push(`${message} ${JSON.stringify(fields)}`),
  }
  const certs = 'test/support/certs'
  const tlsFiles = {
    certFile: `${certs}/server.pem`,
    keyFile: `${certs}/server.key`,
    clientCaFile: `${certs}/ca.pem`,
  }
  const endpoints = [`http://${server.address}`]
  const replica = await startTestReplica(t, endpoints, { logger, listen: { tlsFiles, rules } })
  await replica.ready()
  const [ca, cert, key] = ['ca.pem', 'client.pem', 'client.key'].map(pem) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const secure = `https://${replica.address.replace('127.0.0.1', 'localhost')}`
  return {
    client,
    targets: [
      {
        name: 'the engine',
        connect: () => quiet(http2.connect(`http://${alone.address}`)),
        isLimited: false,
      },
      {
        name: 'the replica',
        connect: () => quiet(http2.connect(secure, { ca, cert, key })),
        isLimited: true,
      },
    ],
  }
}

function quiet(session: http2.ClientHttp2Session): http2.ClientHttp2Session {
  return session.on('error', () => undefined)
}

/** The keys that nobody attacked may change, as text. */
async function secretsOf(client: EngineClient): Promise<string> {
  const { entries } = await client.range({ range: allKeys })
  const found = entries
    .filter(({ key }) => !key.startsWith('/a'))
    .map(entry => `${entry.key} ${entry.modRevision}`)
  return found.join('\n')
}

interface EtcdAnswer {
  /** The status of the call; `left` of one that went on, `refused` of one that HTTP/2 refuses. */
  readonly status: string
  readonly message: string
  readonly bytes: Buffer
}

async function answerOf(session: http2.ClientHttp2Session, call: EtcdCall): Promise<EtcdAnswer> {
  let stream: http2.ClientHttp2Stream
  try {
    stream = session.request({ ':method': 'POST', ':path': call.path, ...call.headers })
  } catch {
    return { status: 'refused', message: '', bytes: Buffer.alloc(0) }
  }
  const chunks: Buffer[] = []
  let status = 'refused'
  let message = ''
  const note = (headers: http2.IncomingHttpHeaders): void => {
    status = String(headers['grpc-status'] ?? status)
    message = String(headers['grpc-message'] ?? message)
  }
  stream.on('response', note)
  stream.on('trailers', note)
  stream.on('error', () => undefined)
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = once(stream, 'close').then(() => true)
  for (const piece of call.pieces) if (!stream.destroyed) stream.write(piece)
  stream.end()
  const waitMs = call.isStream ? listenMs : patient(hangMs)
  const late = new AbortController()
  const isClosed = await Promise.race([closed, pause(waitMs, late.signal)])
  late.abort()
  if (!isClosed) {
    status = call.isStream ? 'left' : 'none'
    stream.close(http2.constants.NGHTTP2_CANCEL)
    await closed
  }
  return { status, message, bytes: Buffer.concat(chunks) }
}

function pause(ms: number, signal: AbortSignal): Promise<false> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms, false)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}

/** The time of a read that is as it should be. On a busy machine etcd may not answer the replica in
 *  time: such a read is asked again, and its time goes on. */
async function plainMs(target: Target, findings: string[]): Promise<number> {
  const startMs = performance.now()
  let answer = await plainRead(target)
  while (answer.status === unavailable && performance.now() - startMs < patient(hangMs)) {
    answer = await plainRead(target)
  }
  const { status, message } = answer
  if (status !== '0') findings.push(`a plain read at ${target.name}: ${status} ${message}`)
  return performance.now() - startMs
}

async function plainRead({ connect }: Target): Promise<{ status: string; message: string }> {
  const session = connect()
  const bytes = rangeCodec.encode({
    ...rangeCodec.decode(Buffer.alloc(0)),
    key: keyFromText(openKeys[0]!),
  })
  const answer = await bareCall(session, '/etcdserverpb.KV/Range', framed(bytes))
  session.destroy()
  const { 'grpc-status': status, 'grpc-message': message } = {
    ...answer.headers,
    ...answer.trailers,
  }
  return { status: String(status), message: String(message) }
}
