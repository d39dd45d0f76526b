/** A process of its own: attacks the program in one way, until it is told to stop. It is as fast as
 *  it can be with half of a processor: an attacker has machines of his own, and what this one uses
 *  is missing to the program and to the administrator. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { bytesOf, type EtcdBody, pathOf } from '../../test/support/attacks/etcd-bodies.ts'
import { maps } from '../../test/support/attacks/door.ts'
import { connect, type Address, openSession } from '../../test/support/attacks/ask.ts'
import {
  frame,
  frameTypes,
  headerBlock,
  openRaw,
  request,
} from '../../test/support/attacks/raw-http2.ts'

export type AttackName =
  | 'tokens that nobody has, HTTP/2'
  | 'tokens that nobody has, a connection each'
  | 'long selectors'
  | 'bodies that do not come'
  | 'bodies of nobody that do not come'
  | 'answers that nobody reads'
  | 'watches with selectors'
  | 'rapid resets'
  | 'endless headers'
  | 'windows of zero'
  | 'handshakes'
  | 'frames that carry nothing'
  | 'watch creates at etcd’s API'
  | 'unfinished messages at etcd’s API'

/** The order to a flood. */
export interface FloodOrder {
  readonly attack: AttackName
  readonly port: number
  readonly etcdPort: number
  /** Share of the attack: 1 is all. */
  readonly share: number
}

/** Some of an attack: repeated until the flood is over. */
type Step = (address: Target) => Promise<unknown>

/** The attacked program: its API, and the port of etcd's. */
interface Target extends Address {
  readonly etcdPort: number
}

interface Attack {
  /** So many do it side by side. */
  readonly atOnce: number
  readonly step: Step
}

let isOver = false
let done = 0
const open = new Set<{ destroy(): unknown }>()

const mallory = { authorization: 'Bearer mallory' }

const processorShare = 0.5
/** It may be so far ahead of its share. */
const aheadMaxMs = 5
let since = { atMs: 0, usage: process.cpuUsage() }

/** Resolves when this process has used no more of the processor than its share. */
async function paced(): Promise<void> {
  const { user, system } = process.cpuUsage(since.usage)
  const usedMs = (user + system) / 1_000
  const aheadMs = usedMs / processorShare - (performance.now() - since.atMs)
  if (aheadMs > aheadMaxMs) await sleep(aheadMs)
}

function junk(): { authorization: string } {
  return { authorization: `Bearer ${randomBytes(24).toString('base64url')}` }
}

/** Streams of one connection, until it ends. */
async function streams(
  address: Address,
  atOnce: number,
  lines: () => http2.OutgoingHttpHeaders,
): Promise<void> {
  const session = openSession(address)
  open.add(session)
  const one = async (): Promise<void> => {
    while (!isOver && !session.closed && !session.destroyed) {
      await paced()
      if (session.closed || session.destroyed) break
      const stream = session.request(lines())
      stream.on('error', () => {})
      stream.resume()
      await once(stream, 'close')
      done++
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  session.destroy()
  open.delete(session)
}

async function opened(address: Address, bytes: string): Promise<Socket> {
  const socket = await connect(address)
  open.add(socket)
  socket.on('close', () => open.delete(socket))
  socket.write(bytes)
  done++
  return socket
}

function head(
  method: string,
  path: string,
  who: Record<string, string>,
  ...more: string[]
): string {
  const lines = Object.entries(who).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${path} HTTP/1.1`, 'host: localhost', ...lines, ...more, '', ''].join('\r\n')
}

const heldMs = 1_000

/** Sends calls to etcd's API over one connection, and holds them for a while. Responses are
 *  read. */
async function called({ etcdPort }: Target, body: EtcdBody, calls: number): Promise<void> {
  const session = http2.connect(`http://127.0.0.1:${etcdPort}`, { maxSessionMemory: 1_024 })
  session.on('error', () => {})
  open.add(session)
  const ended = new Promise(resolve => session.once('close', resolve))
  for (let i = 0; i < calls && !isOver && !session.destroyed; i++) {
    await paced()
    if (session.destroyed) break
    const stream = session.request({
      ':method': 'POST',
      ':path': pathOf(body),
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('error', () => {})
    stream.resume()
    stream.write(bytesOf(body))
    done++
  }
  await Promise.race([ended, sleep(heldMs)])
  session.destroy()
  open.delete(session)
}

/** Holds connections for a while, and then others. */
async function held(address: Address, bytes: string, isRead: boolean): Promise<void> {
  const socket = await opened(address, bytes)
  if (isRead) socket.resume()
  else socket.pause()
  const ended = new Promise(resolve => socket.once('close', resolve))
  await Promise.race([ended, sleep(heldMs)])
  socket.destroy()
}

async function raw(
  address: Address,
  frames: readonly Buffer[],
  ...pairs: [number, number][]
): Promise<void> {
  const socket = await openRaw(address, ...pairs)
  open.add(socket)
  const ended = new Promise(resolve => socket.once('close', resolve))
  for (const one of frames) {
    await paced()
    if (isOver || socket.destroyed) break
    done++
    if (!socket.write(one)) {
      await Promise.race([ended, new Promise(resolve => socket.once('drain', resolve))])
    }
  }
  await Promise.race([ended, sleep(100)])
  socket.destroy()
  open.delete(socket)
}

type Line = readonly [string, string]
const lines: readonly Line[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'localhost'],
  [':path', maps],
]
const selector = Array.from({ length: 5_000 }, (_, i) => `k${i}`).join(',')
const cancel = Buffer.from([0, 0, 0, 8])
const resets = Array.from({ length: 1_000 }, (_, i) =>
  Buffer.concat([request(2 * i + 1, lines), frame(frameTypes.reset, 0, 2 * i + 1, cancel)]),
)
const begun = frame(frameTypes.headers, 1, 1, headerBlock(lines).subarray(0, 10))
const more = frame(frameTypes.continuation, 0, 1, headerBlock([['a', 'b'.repeat(100)]]))
const endless = [begun, ...Array.from({ length: 2_000 }, () => more)]
const mine: readonly Line[] = [...lines, ['authorization', mallory.authorization]]
const lists = Array.from({ length: 100 }, (_, i) => request(2 * i + 1, mine))
const priority = frame(frameTypes.priority, 0, 1, Buffer.from([0, 0, 0, 0, 15]))
const idle = Array.from({ length: 1_000 }, () =>
  Buffer.concat(Array.from({ length: 1_000 }, () => priority)),
)
let count = 0

const attacks: Readonly<Record<AttackName, Attack>> = {
  'tokens that nobody has, HTTP/2': {
    atOnce: 16,
    step: address => streams(address, 100, () => ({ ':path': `${maps}/map-1`, ...junk() })),
  },
  'tokens that nobody has, a connection each': {
    atOnce: 64,
    step: async address => {
      const socket = await opened(
        address,
        head('GET', `${maps}/map-1`, junk(), 'connection: close'),
      )
      socket.resume()
      await once(socket, 'close')
    },
  },
  'long selectors': {
    atOnce: 16,
    step: address =>
      streams(address, 20, () => ({ ':path': `${maps}?labelSelector=${selector}`, ...junk() })),
  },
  'bodies that do not come': {
    atOnce: 300,
    step: address => held(address, `${head('POST', '/echo', mallory, 'content-length: 9')}x`, true),
  },
  'bodies of nobody that do not come': {
    atOnce: 300,
    step: address => held(address, `${head('POST', '/echo', {}, 'content-length: 9')}x`, true),
  },
  'answers that nobody reads': {
    atOnce: 100,
    step: address => held(address, head('GET', maps, mallory), false),
  },
  'watches with selectors': {
    atOnce: 16,
    step: address =>
      streams(address, 50, () => {
        const path = `${maps}?watch=1&resourceVersion=0&timeoutSeconds=1&labelSelector=a${count++}%3Db`
        return { ':path': path, ...mallory }
      }),
  },
  'rapid resets': { atOnce: 4, step: address => raw(address, resets) },
  'endless headers': { atOnce: 4, step: address => raw(address, endless) },
  'windows of zero': { atOnce: 16, step: address => raw(address, lists, [4, 0]) },
  handshakes: {
    atOnce: 64,
    step: async address => (await opened(address, '')).destroy(),
  },
  'frames that carry nothing': { atOnce: 4, step: address => raw(address, idle) },
  'watch creates at etcd’s API': {
    atOnce: 4,
    step: target => called(target, { type: 'creates', count: 5_000, startRevision: 0 }, 4),
  },
  'unfinished messages at etcd’s API': {
    atOnce: 16,
    step: target =>
      called(target, { type: 'unfinished', path: '/etcdserverpb.KV/Txn', bytes: 1_000_000 }, 20),
  },
}

async function run({ attack, port, etcdPort, share }: FloodOrder): Promise<void> {
  const { atOnce, step } = attacks[attack]
  const address: Target = { protocol: 'https', port, etcdPort }
  isOver = false
  done = 0
  since = { atMs: performance.now(), usage: process.cpuUsage() }
  const repeat = async (): Promise<void> => {
    while (!isOver) {
      await paced()
      // A connection that is refused is what an attacker must expect.
      await step(address).catch(() => sleep(10))
    }
  }
  await Promise.all(Array.from({ length: Math.ceil(atOnce * share) }, repeat))
  process.send?.(done)
}

process.on('message', (order: FloodOrder | 'stop') => {
  if (order !== 'stop') {
    void run(order)
    return
  }
  isOver = true
  for (const one of open) one.destroy()
})
process.on('disconnect', () => process.exit(0))
