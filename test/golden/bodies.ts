/** Takes recorded bodies apart without changing a byte: the texts of list items, the messages of
 *  protobuf lists, the objects in watch frames. */

import { WireReader } from '../../lib/base/bytes/reader.ts'
import { readEnvelope } from '../../lib/codec/transcode/envelope.ts'
import { NotExact } from '../../lib/base/not-exact.ts'

/** One object of a body: its exact bytes, and how to find what it was made from. */
export interface RecordedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
  readonly isItem: boolean
  readonly bytes: Buffer
}

/** Kinds of bodies that hold no objects as they are. */
const notStored = /^(Table|PartialObjectMetadata|Status|API(?!Service))/

/** The objects in a JSON body that is an object or a list; none for Tables, metadata, statuses,
 *  discovery. */
export function objectsOfJson(body: string): RecordedObject[] {
  const parsed = JSON.parse(body) as JsonBody
  const { kind = '', apiVersion = '' } = parsed
  if (notStored.test(kind)) return []
  if (!Array.isArray(parsed.items)) {
    if (parsed.metadata?.resourceVersion === undefined) return []
    return [recordedObject(parsed, { apiVersion, kind, isItem: false }, body.trimEnd())]
  }
  const texts = itemTexts(body)
  return parsed.items.map((item, i) => {
    const itemKind = kind.replace(/List$/, '')
    return recordedObject(item, { apiVersion, kind: itemKind, isItem: true }, texts[i] ?? '')
  })
}

/** The texts of the elements of the top-level member `items`. */
export function itemTexts(body: string): string[] {
  const at = memberStart(body, 'items')
  const texts: string[] = []
  if (body[at] !== '[' || body[at + 1] === ']') return texts
  for (let from = at + 1; ;) {
    const end = valueEnd(body, from)
    texts.push(body.slice(from, end))
    if (body[end] === ']') return texts
    from = end + 1
  }
}

/** The beginning of a top-level member's value. The body is compact JSON. */
function memberStart(body: string, name: string): number {
  let at = 1
  while (body[at] === '"') {
    const keyEnd = valueEnd(body, at)
    if (body.slice(at + 1, keyEnd - 1) === name) return keyEnd + 1
    at = valueEnd(body, keyEnd + 1) + 1
  }
  return body.length
}

/** The end of the value that begins at `start`. */
export function valueEnd(body: string, start: number): number {
  let depth = 0
  for (let at = start; at < body.length; at++) {
    const char = body[at]
    if (char === '"') {
      at++
      while (body[at] !== '"') at += body[at] === '\\' ? 2 : 1
    } else if (char === '{' || char === '[') {
      depth++
    } else if (char === '}' || char === ']') {
      depth--
      if (depth < 0) return at
    } else if (depth > 0 || (char !== ',' && char !== ':')) {
      continue
    }
    if (depth === 0) return char === ',' || char === ':' ? at : at + 1
  }
  return body.length
}

/** The objects in a protobuf body: one in its envelope, or the bare messages of a list. */
export function objectsOfProtobuf(body: Buffer): RecordedObject[] {
  const envelope = readEnvelope(body, 0, body.length)
  if (envelope instanceof NotExact) throw new Error(envelope.reason)
  const { apiVersion, kind, rawStart, rawEnd } = envelope
  if (notStored.test(kind)) return []
  if (!kind.endsWith('List')) {
    return [recordedMessage(body, { apiVersion, kind, isItem: false }, rawStart, rawEnd)]
  }
  const items: RecordedObject[] = []
  const reader = new WireReader()
  reader.reset(body, rawStart, rawEnd)
  while (reader.nextField()) {
    const isWindow = reader.readWindow()
    if (!isWindow || reader.field !== 2) continue
    const described = { apiVersion, kind: kind.replace(/List$/, ''), isItem: true }
    items.push(recordedMessage(body, described, reader.start, reader.at))
  }
  return items
}

interface JsonMeta {
  readonly name?: string
  readonly namespace?: string
  readonly resourceVersion?: string
}

interface JsonBody {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata?: JsonMeta
  readonly items?: readonly JsonBody[]
}

type Described = Pick<RecordedObject, 'apiVersion' | 'kind' | 'isItem'>

function recordedObject(parsed: JsonBody, described: Described, text: string): RecordedObject {
  const { name = '', namespace = '', resourceVersion = '' } = parsed.metadata ?? {}
  return { ...described, name, namespace, resourceVersion, bytes: Buffer.from(text) }
}

function recordedMessage(
  body: Buffer,
  described: Described,
  start: number,
  end: number,
): RecordedObject {
  const texts: string[] = []
  const reader = new WireReader()
  reader.reset(body, start, end)
  if (reader.nextField() && reader.readWindow()) {
    const inner = new WireReader()
    inner.reset(body, reader.start, reader.at)
    while (inner.nextField() && inner.field <= 6) {
      if (inner.readWindow()) texts[inner.field] = body.toString('utf8', inner.start, inner.at)
    }
  }
  const bytes = described.isItem ? body.subarray(start, end) : body
  const [, name = '', , namespace = '', , , resourceVersion = ''] = texts
  return { ...described, name, namespace, resourceVersion, bytes }
}
