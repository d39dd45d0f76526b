/** The answers of an API that are refusals: a Status in JSON or protobuf, and which failure it is
 *  for whoever follows a resource. */

import {
  CacheError,
  NotExact,
  numberOf,
  objectOf,
  listOf,
  textFromBytes,
  textOf,
  wireBytes,
  WireReader,
  wireVarint,
} from '@watchglass/base'
import { hasEnvelope, readEnvelope } from '@watchglass/codec'

export interface ApiAnswer {
  /** 0 where only the Status says it. */
  readonly code: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
}

/** The code of a Status that stands for a resource which we may not follow: it is forbidden, or
 *  there is none, or it has no lists or watches. */
export class RefusedResource extends CacheError {
  readonly answered: number

  constructor(answered: number, message: string) {
    super('unauthorized', message)
    this.answered = answered
  }
}

/** A server that asks to be left alone for longer is asked after this time all the same. */
const retryAfterMaxMs = 30_000

/** The failure that an answer is. */
export function failureFromAnswer(answer: ApiAnswer): CacheError {
  const status = statusOf(answer.body)
  const code = answer.code === 0 ? status.code : answer.code
  const message = `the upstream answers ${code}${status.message === '' ? '' : `: ${status.message.slice(0, 500)}`}`
  const seconds = Number(answer.headers['retry-after'] ?? status.retryAfterSeconds)
  const isSeconds = Number.isFinite(seconds) && seconds > 0
  const retryAfterMs = isSeconds ? Math.min(retryAfterMaxMs, seconds * 1000) : undefined
  if (status.causes.includes('ResourceVersionTooLarge')) {
    return new CacheError('future_revision', message, { retryAfterMs })
  }
  switch (code) {
    case 410:
      return new CacheError('expired', message)
    case 429:
      return new CacheError('overloaded', message, { retryAfterMs: retryAfterMs ?? 1000 })
    case 403:
    case 404:
    case 405:
    case 406:
      return new RefusedResource(code, message)
    default:
      return new CacheError('source_failed', message, { retryAfterMs })
  }
}

interface ReadStatus {
  readonly code: number
  readonly message: string
  readonly retryAfterSeconds: number
  readonly causes: readonly string[]
}

function statusOf(body: Uint8Array): ReadStatus {
  return hasEnvelope(body, 0, body.length) ? protobufStatus(body) : jsonStatus(body)
}

function jsonStatus(body: Uint8Array): ReadStatus {
  let parsed: unknown
  const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString()
  try {
    parsed = JSON.parse(text)
  } catch {
    return { ...noStatus, message: text.trim() }
  }
  const status = objectOf(parsed)
  const details = objectOf(status['details'])
  return {
    code: numberOf(status['code']),
    message: textOf(status['message']),
    retryAfterSeconds: numberOf(details['retryAfterSeconds']),
    causes: listOf(details['causes']).map(cause => textOf(objectOf(cause)['reason'])),
  }
}

const noStatus: ReadStatus = { code: 0, message: '', retryAfterSeconds: 0, causes: [] }

/** `{3 message, 5 details {4 causes {1 reason}, 5 retryAfterSeconds}, 6 code}` */
function protobufStatus(body: Uint8Array): ReadStatus {
  const envelope = readEnvelope(body, 0, body.length)
  if (envelope instanceof NotExact) return noStatus
  let [code, message, retryAfterSeconds] = [0, '', 0]
  const causes: string[] = []
  eachField(body, envelope.rawStart, envelope.rawEnd, outer => {
    if (outer.field === 6 && outer.wire === wireVarint) code = outer.value
    if (outer.field === 3) message = textFromBytes(body, outer.start, outer.end)
    if (outer.field !== 5) return
    eachField(body, outer.start, outer.end, inner => {
      if (inner.field === 5 && inner.wire === wireVarint) retryAfterSeconds = inner.value
      if (inner.field !== 4) return
      eachField(body, inner.start, inner.end, cause => {
        if (cause.field === 1) causes.push(textFromBytes(body, cause.start, cause.end))
      })
    })
  })
  return { code, message, retryAfterSeconds, causes }
}

interface ReadField {
  readonly field: number
  readonly wire: number
  readonly value: number
  readonly start: number
  readonly end: number
}

function eachField(
  bytes: Uint8Array,
  start: number,
  end: number,
  take: (field: ReadField) => void,
): void {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  while (reader.nextField()) {
    const { field, wire } = reader
    const value = wire === wireVarint ? reader.readVarint() : 0
    if (wire !== wireVarint && !reader.skip()) return
    const isBytes = wire === wireBytes
    take({ field, wire, value, start: isBytes ? reader.start : 0, end: isBytes ? reader.at : 0 })
  }
}
