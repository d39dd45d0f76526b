/** Sends the response of a range: its length first, then the entries as they are written, as
 *  fast as the client reads; or the same in parts (KEP-5966), each a message. Only a few hundred
 *  kilobytes of a response are in memory at once, and other work gets its turn in between. */

import { type Clock, Slice, varintLength, writeVarint } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import { EntryPieces, entryLength } from './entry-bytes.ts'
import { type HeaderMessage, messagePrefix, rangeResponseCodec } from '@watchglass/etcd'
import type { GrpcCall } from '../listen/grpc-call.ts'

export interface RangeBody {
  readonly header: HeaderMessage | undefined
  /** The entries; walked twice for a whole response, with the same result. */
  readonly entries: () => Iterable<KeyValue>
  readonly withValues: boolean
  readonly more: boolean
  readonly count: number
}

/** The clock is read once for this many entries. */
const clockCheckEntries = 128

/** Bytes that are written before they are sent. */
const sendBytes = 256 * 1024

/** gRPC has four bytes for the length; clients in Go take no more than this. */
const messageMaxBytes = 2 ** 31 - 1

/** Sends the response and ends the call. False, with nothing sent, if it does not fit into a
 *  message. */
export async function sendRange(call: GrpcCall, body: RangeBody, clock: Clock): Promise<boolean> {
  const head = rangeResponseCodec.encode({ ...noEntries, header: body.header })
  const tail = rangeResponseCodec.encode({ ...noEntries, more: body.more, count: body.count })
  const slice = new Slice(clock)
  const length = head.length + tail.length + (await lengthOf(call, body, slice))
  if (length > messageMaxBytes) return false
  const pieces = new EntryPieces(body.withValues)
  if (!call.write(messagePrefix(length), head)) await call.drained()
  let walked = 0
  for (const entry of body.entries()) {
    pieces.add(entry)
    if (pieces.bytes >= sendBytes && !call.write(...pieces.take())) await call.drained()
    walked++
    if (walked % clockCheckEntries !== 0 || !slice.isOver) continue
    await slice.next()
    if (call.isOver) return true
  }
  call.write(...pieces.take(), tail)
  call.finish()
  return true
}

/** Sends the response in parts and ends the call. The last part has the header and the counts, as
 *  etcd's has: a client that joins all parts has the response of a range. */
export async function sendRangeParts(call: GrpcCall, body: RangeBody, clock: Clock): Promise<void> {
  const pieces = new EntryPieces(body.withValues)
  const slice = new Slice(clock)
  let walked = 0
  for (const entry of body.entries()) {
    if (pieces.bytes >= sendBytes && !sendPart(call, pieces.take())) await call.drained()
    pieces.add(entry)
    walked++
    if (walked % clockCheckEntries !== 0 || !slice.isOver) continue
    await slice.next()
    if (call.isOver) return
  }
  const head = rangeResponseCodec.encode({ ...noEntries, header: body.header })
  const tail = rangeResponseCodec.encode({ ...noEntries, more: body.more, count: body.count })
  sendPart(call, [head, ...pieces.take(), tail])
  call.finish()
}

/** The field of a part that has a piece of the response. */
const partField = (1 << 3) | 2

function sendPart(call: GrpcCall, pieces: readonly Buffer[]): boolean {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const head = Buffer.alloc(1 + varintLength(length))
  head[0] = partField
  writeVarint(head, 1, length)
  return call.send(head, ...pieces)
}

const noEntries = { header: undefined, entries: [], more: false, count: 0 }

async function lengthOf(call: GrpcCall, body: RangeBody, slice: Slice): Promise<number> {
  let length = 0
  let walked = 0
  for (const entry of body.entries()) {
    length += entryLength(entry, body.withValues)
    walked++
    if (walked % clockCheckEntries !== 0 || !slice.isOver) continue
    await slice.next()
    if (call.isOver) return length
  }
  return length
}
