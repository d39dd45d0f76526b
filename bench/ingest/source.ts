/** A process of its own that is an etcd as far as a mirror asks: its keyspaces are empty at first,
 *  and it pours changes that were encoded before, as fast as they are taken or at a rate:
 *  `source.js KIND OBJECTS NODES DELETESHARE`. */

import { setImmediate } from 'node:timers/promises'
import {
  type HeaderMessage,
  type Message,
  rangeResponseCodec,
  statusResponseCodec,
  watchRequestCodec,
  watchResponseCodec,
} from '../../lib/etcd/index.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { GrpcCall } from '../../lib/etcd-server/listen/grpc-call.ts'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { answerOrders } from '../watch/child.ts'
import { nowMicroseconds, stampDigits, stampOf } from '../watch/orders.ts'
import type { PourOrder, PourReport, PrepareOrder } from './orders.ts'
import { ChangeMaker, type PouredChange, type PouredKind, pouredObjects } from './poured-changes.ts'

const kind = process.argv[2] as PouredKind
const [objects = 0, nodes = 0, deleteShare = 0] = process.argv.slice(3).map(Number)

let revision = 1
// They are made before anybody asks: a mirror notices an etcd that does not answer for a second.
const maker = new ChangeMaker(pouredObjects(kind, objects, nodes), {
  revision,
  deleteShare,
  header: headerAt,
})

function headerAt(at: number): HeaderMessage {
  return { clusterId: 1n, memberId: 1n, revision: at, raftTerm: 2n }
}

interface Watch {
  readonly call: GrpcCall
  readonly id: bigint
}

/** The watch of each keyspace, by its prefix. */
const watches = new Map<string, Watch>()
let lastId = 0n

const server = await GrpcServer.listen({ listen: '127.0.0.1:0', clock: systemClock, handle })

function handle(call: GrpcCall): void {
  const answer = (body: Buffer): void => {
    call.start()
    call.send(body)
    call.finish()
  }
  switch (call.path) {
    case '/etcdserverpb.KV/Range':
      readOne(call, () => {
        const none = { header: headerAt(revision), entries: [], more: false, count: 0 }
        answer(rangeResponseCodec.encode(none))
      })
      return
    case '/etcdserverpb.Maintenance/Status':
      readOne(call, () => answer(status()))
      return
    case '/etcdserverpb.Watch/Watch':
      call.start()
      call.read({ message: message => takeWatch(call, message), ended: () => undefined })
      return
    default:
      readOne(call, () => call.finish({ code: 12, details: `${call.path} is not there` }))
  }
}

function readOne(call: GrpcCall, then: () => void): void {
  call.read({ isSingle: true, message: () => undefined, ended: then })
}

function status(): Buffer {
  return statusResponseCodec.encode({
    header: headerAt(revision),
    version: '3.6.9',
    databaseBytes: 1,
    leader: 1n,
    raftIndex: 1n,
    raftTerm: 2n,
    raftAppliedIndex: 1n,
    errors: [],
    databaseBytesInUse: 1,
    isLearner: false,
  })
}

function takeWatch(call: GrpcCall, message: Message): void {
  const { request } = watchRequestCodec.decode(message.bytes)
  if (request === undefined) return
  if (request.type === 'create') {
    const id = ++lastId
    watches.set(Buffer.from(request.value.key, 'latin1').toString(), { call, id })
    call.send(responseTo(id, true))
  } else if (request.type === 'progress') {
    call.send(responseTo(-1n, false))
  }
}

function responseTo(watchId: bigint, created: boolean): Buffer {
  return watchResponseCodec.encode({
    header: headerAt(revision),
    watchId,
    created,
    canceled: false,
    compactRevision: 0,
    cancelReason: '',
    fragment: false,
    events: [],
  })
}

let prepared: PouredChange[] = []
let watch: Watch | undefined

async function prepare({ changes }: PrepareOrder): Promise<void> {
  const prefix = [...watches.keys()].find(key => `/registry/${kind}/`.startsWith(key))
  watch = prefix === undefined ? undefined : watches.get(prefix)
  if (watch === undefined) throw new Error(`nobody watches ${kind}`)
  prepared = []
  while (prepared.length < changes) {
    prepared.push(maker.next(watch.id))
    if (prepared.length % 1_000 === 0) await setImmediate()
  }
}

const pieceBytes = 64 * 1024

async function pour({ perSecond }: PourOrder): Promise<PourReport> {
  const startMs = performance.now()
  const bytes = perSecond === undefined ? await pourAll() : await pourAt(perSecond)
  const ms = performance.now() - startMs
  return { changes: prepared.length, bytes, ms, revision }
}

async function pourAll(): Promise<number> {
  let [sent, piece, size] = [0, [] as Buffer[], 0]
  const first = revision
  for (const [i, { bytes }] of prepared.entries()) {
    piece.push(bytes)
    size += bytes.length
    if (size < pieceBytes && i < prepared.length - 1) continue
    revision = first + i + 1
    sent += size
    if (!watch!.call.write(Buffer.concat(piece))) await watch!.call.drained()
    ;[piece, size] = [[], 0]
    await setImmediate()
  }
  return sent
}

/** Each change has the moment in which it is written. */
async function pourAt(perSecond: number): Promise<number> {
  const startMs = performance.now()
  let [next, sent] = [0, 0]
  while (next < prepared.length) {
    const due = Math.min(
      prepared.length,
      Math.ceil(((performance.now() - startMs) * perSecond) / 1000),
    )
    const stamp = stampOf(nowMicroseconds())
    const piece: Buffer[] = []
    for (; next < due; next++) {
      const { bytes, stampAt } = prepared[next]!
      if (stampAt >= 0) bytes.write(stamp, stampAt, stampDigits, 'latin1')
      piece.push(bytes)
      sent += bytes.length
      revision++
    }
    if (piece.length > 0 && !watch!.call.write(Buffer.concat(piece))) await watch!.call.drained()
    await new Promise(resolve => {
      setTimeout(resolve, 1)
    })
  }
  return sent
}

answerOrders((order: PrepareOrder | PourOrder) =>
  order.type === 'prepare' ? prepare(order) : pour(order),
)
process.send?.(`http://${server.address}`)
