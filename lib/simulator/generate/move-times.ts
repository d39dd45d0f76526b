/** Moves the times in a stored object, so that one of last week looks as if it was written now: its
 *  age, its conditions, the renewals of its lease. */

import { textFromMilliseconds } from '@watchglass/go'
import { hasEnvelope, type MessageType, readEnvelope, type Schema } from '@watchglass/codec'
import {
  NotExact,
  varintLength,
  wireBytes,
  WireReader,
  wireVarint,
  writeVarint,
} from '@watchglass/base'

/** A copy with all times moved; the value itself where there are none, or where it cannot be
 *  read. */
export function moveTimes(value: Uint8Array, byMs: number, schema: Schema): Uint8Array {
  const bySeconds = Math.round(byMs / 1000)
  if (bySeconds === 0) return value
  if (!hasEnvelope(value, 0, value.length)) return moveTexts(value, byMs)
  const envelope = readEnvelope(value, 0, value.length)
  if (envelope instanceof NotExact) return value
  const kind = schema.findKind(envelope.apiVersion, envelope.kind)
  if (kind === undefined) return value
  const moved = new Uint8Array(value)
  const window = { start: envelope.rawStart, end: envelope.rawEnd }
  moveMessage({ bytes: moved, bySeconds }, kind.type, window)
  return moved
}

interface Move {
  readonly bytes: Uint8Array
  readonly bySeconds: number
}

interface Window {
  readonly start: number
  readonly end: number
}

/** Deeper messages stay as they are. */
const depthMax = 40

function moveMessage(move: Move, type: MessageType, { start, end }: Window, depth = 0): void {
  if (depth > depthMax) return
  const reader = new WireReader()
  reader.reset(move.bytes, start, end)
  while (reader.nextField()) {
    const field = type.fields.find(({ number }) => number === reader.field)
    const isMessage = reader.wire === wireBytes
    if (!reader.skip() || !isMessage || field === undefined || field.container === 'map') continue
    const window = { start: reader.start, end: reader.at }
    if (field.type === 'time' || field.type === 'microtime') moveTime(move, window)
    else if (field.type.includes('.')) {
      moveMessage(move, type.schema.messageType(field.type), window, depth + 1)
    }
  }
}

/** Seconds since 1970 take as many bytes between 1978 and 3058: they are written where they
 *  stand. */
function moveTime({ bytes, bySeconds }: Move, { start, end }: Window): void {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  if (!reader.nextField() || reader.field !== 1 || reader.wire !== wireVarint) return
  const { at } = reader
  const moved = reader.readVarint() + bySeconds
  if (!reader.isMalformed && moved > 0 && varintLength(moved) === reader.at - at) {
    writeVarint(bytes, at, moved)
  }
}

/** Times in JSON are texts by themselves, with or without a fraction. */
function moveTexts(value: Uint8Array, byMs: number): Uint8Array {
  const text = Buffer.from(value).toString('utf8')
  const moved = text.replace(
    /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)((?:\.\d{1,9})?)Z"/g,
    (whole, seconds: string, fraction: string) => {
      const time = Date.parse(`${seconds}Z`)
      return Number.isNaN(time)
        ? whole
        : `"${textFromMilliseconds(time + byMs).slice(0, -1)}${fraction}Z"`
    },
  )
  return moved === text ? value : Buffer.from(moved)
}
