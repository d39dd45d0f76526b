/** The objects that a recorded kube-apiserver has shown, as answers to the questions of the
 *  evidence: its own bytes of each item, put together to the list that is asked for. */

import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import { bodyBytes, type Exchange, type Recording } from '../../golden/load.ts'
import { ask } from '../http/served.ts'
import type { Before, DirectAnswer } from './answers.ts'

/** An object in one state. */
export interface ObjectName {
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
}

/** A list without its items, and its items by what they are of. */
interface RecordedList {
  readonly head: Buffer
  readonly tail: Buffer
  readonly items: Map<string, Buffer>
  readonly headers: Record<string, string>
}

const answersOf = new WeakMap<Recording, RecordedAnswers>()

/** Answers the questions of the evidence from a recording: what was not recorded is left to a
 *  service of ours that writes as the recorded server does, once it has a port. It also says which
 *  objects there are. */
export function recordedBefore(recording: Recording, portOf: () => number | undefined): Before {
  const recorded = answersOf.get(recording) ?? new RecordedAnswers(recording)
  answersOf.set(recording, recorded)
  return async ({ url, headers }) => {
    const port = portOf()
    if (port === undefined || !url.includes('resourceVersionMatch=Exact')) return undefined
    const accept = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
    const found = await ask(port, { path: url, headers: { accept } }).catch(() => undefined)
    if (found?.status !== 200) return { code: 503, body: '' }
    const { items } = JSON.parse(found.body.toString()) as { items: { metadata: ObjectName }[] }
    const objects = items.map(({ metadata }) => ({
      ...metadata,
      namespace: metadata.namespace ?? '',
    }))
    const asked = /resourceVersion=(\d+)/.exec(url)![1]!
    return recorded.listOf(url, String(headers.accept), { objects, revision: asked })
  }
}

class RecordedAnswers {
  readonly #lists = new Map<string, RecordedList>()
  /** Rows show ages: the answer is dated so that they are right. */
  readonly #shownAt = new Map<Buffer, number>()

  constructor(recording: Recording) {
    for (const exchange of recording.exchanges()) this.#take(exchange)
  }

  /** The list of these objects, in this order, at a revision; undefined if it was not recorded in
   *  this form. */
  listOf(
    path: string,
    accept: string,
    { objects, revision }: { readonly objects: readonly ObjectName[]; readonly revision: string },
  ): DirectAnswer | undefined {
    const includeObject = /includeObject=(\w+)/.exec(path)?.[1]
    const list = this.#lists.get(`${resourceOf(path)} ${formOf(accept, includeObject)}`)
    const items = objects.map(object => list?.items.get(keyOf(object)))
    if (list === undefined || !items.every(item => item !== undefined)) return undefined
    const isProtobuf = formOf(accept).includes('protobuf')
    const body = isProtobuf ? protobufList(list, items, revision) : jsonList(list, items, revision)
    const date = new Date(this.#shownAt.get(items[0]!) ?? 0).toUTCString()
    return { code: 200, headers: { ...list.headers, date }, body }
  }

  #take({ request, response, recorded_at: recordedAt }: Exchange): void {
    const accept = String(request.headers['Accept'] ?? 'application/json')
    const { pathname, searchParams } = new URL(request.path, 'http://x')
    const isPlain = ![...searchParams.keys()].some(name => name === 'pretty' || name === 'watch')
    const form = formOf(accept, searchParams.get('includeObject') ?? '')
    if (request.method !== 'GET' || response.status !== 200 || !isPlain || form === '') return
    const body = bodyBytes(response)
    const found = form.includes('protobuf') ? protobufItems(body) : jsonItems(body)
    if (found === undefined) return
    const name = `${resourceOf(pathname)} ${form}`
    const { warning, 'content-type': type } = response.headers
    const headers = {
      'content-type': String(type),
      ...(warning === undefined ? {} : { warning: String(warning) }),
    }
    const known = this.#lists.get(name) ?? { ...found, items: new Map<string, Buffer>(), headers }
    for (const [key, item] of found.items) {
      known.items.set(key, item)
      this.#shownAt.set(item, Date.parse(recordedAt))
    }
    this.#lists.set(name, known)
  }
}

/** The forms that are put together; empty for any other. */
function formOf(accept: string, includeObject = ''): string {
  const known = /^application\/(json|vnd\.kubernetes\.protobuf)(;.*)?$/.exec(accept)
  if (known === null) return ''
  const [, encoding = '', parameters = ''] = known
  const as = /as=(\w+)/.exec(parameters)?.[1] ?? ''
  if (parameters.includes('v1beta1')) return ''
  return `${encoding} ${as} ${as === 'Table' ? includeObject : ''}`
}

/** `/apis/apps/v1/deployments`, in whichever namespace. */
function resourceOf(path: string): string {
  return path.replace(/\/namespaces\/[^/]+(?=\/)/, '').replace(/\?.*/, '')
}

function keyOf({ namespace, name, resourceVersion }: ObjectName): string {
  return `${namespace}/${name} ${resourceVersion}`
}

interface Named {
  readonly metadata?: { namespace?: string; name: string; resourceVersion: string } | undefined
  readonly object?: Named | undefined
}

function keyOfItem(item: Named): string | undefined {
  const metadata = item.metadata ?? item.object?.metadata
  return metadata === undefined ? undefined : keyOf({ namespace: '', ...metadata })
}

type Found = Omit<RecordedList, 'headers'>

function jsonItems(body: Buffer): Found | undefined {
  const begin = /"(?:items|rows)":\[/.exec(body.toString('latin1'))
  if (begin === null || body[0] !== 0x7b) return undefined
  const from = begin.index + begin[0].length
  const items = new Map<string, Buffer>()
  let at = from
  while (body[at] === 0x7b || body[at] === 0x2c) {
    if (body[at] === 0x2c) at++
    const end = endOfObject(body, at)
    const item = body.subarray(at, end)
    const key = keyOfItem(JSON.parse(item.toString()) as Named)
    if (key !== undefined) items.set(key, item)
    at = end
  }
  return { head: body.subarray(0, from), tail: body.subarray(at), items }
}

function endOfObject(body: Buffer, from: number): number {
  let depth = 0
  let isText = false
  for (let at = from; at < body.length; at++) {
    const byte = body[at]
    if (isText && byte === 0x5c) at++
    else if (byte === 0x22) isText = !isText
    else if (!isText && byte === 0x7b) depth++
    else if (!isText && byte === 0x7d && --depth === 0) return at + 1
  }
  throw new Error('an object does not end')
}

function jsonList(list: RecordedList, items: readonly Buffer[], revision: string): Buffer {
  const parts = items.flatMap((item, i) => (i === 0 ? [item] : [Buffer.from(','), item]))
  const frame = [list.head, list.tail].map(part =>
    Buffer.from(
      part.toString().replace(/"metadata":\{[^}]*\}/, text =>
        text
          .replace(/"resourceVersion":"\d+"/, `"resourceVersion":"${revision}"`)
          .replace(
            /"continue":"[^"]+",?/,
            text.startsWith('"metadata":{"continue"') ? '"continue":"",' : '',
          )
          .replace(/,?"remainingItemCount":\d+/, ''),
      ),
    ),
  )
  return Buffer.concat([frame[0]!, ...parts, frame[1]!])
}

/** The items of `k8s\0` {1 type, 2 {1 metadata, 2 items...}}. */
function protobufItems(body: Buffer): Found | undefined {
  const json = jsonFromProtobuf(body)
  if (json instanceof NotExact) return undefined
  const { items: names } = JSON.parse(Buffer.from(json).toString()) as { items?: Named[] }
  if (names === undefined) return undefined
  const [type, list] = fieldsOf(body.subarray(4))
  const all = fieldsOf(list!.value).filter(({ field }) => field === 2)
  const items = new Map<string, Buffer>()
  for (const [i, { value }] of all.entries()) {
    const key = keyOfItem(names[i]!)
    if (key !== undefined) items.set(key, value)
  }
  return { head: type!.value, tail: Buffer.alloc(0), items }
}

function fieldsOf(message: Buffer): { readonly field: number; readonly value: Buffer }[] {
  const fields: { field: number; value: Buffer }[] = []
  for (let at = 0; at < message.length;) {
    const field = message[at++]! >>> 3
    let length = 0
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!
      length |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    fields.push({ field, value: message.subarray(at, at + length) })
    at += length
  }
  return fields
}

function fieldWith(field: number, value: Buffer): Buffer {
  const length: number[] = []
  for (let rest = value.length; ; rest >>>= 7) {
    length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80)
    if (rest < 0x80) break
  }
  return Buffer.concat([Buffer.from([(field << 3) | 2, ...length]), value])
}

function protobufList(list: RecordedList, items: readonly Buffer[], revision: string): Buffer {
  const empty = Buffer.alloc(0)
  const metadata = Buffer.concat([
    fieldWith(1, empty),
    fieldWith(2, Buffer.from(revision)),
    fieldWith(3, empty),
  ])
  const raw = Buffer.concat([fieldWith(1, metadata), ...items.map(item => fieldWith(2, item))])
  return Buffer.concat([
    Buffer.from('k8s\0'),
    fieldWith(1, list.head),
    fieldWith(2, raw),
    fieldWith(3, empty),
    fieldWith(4, empty),
  ])
}
