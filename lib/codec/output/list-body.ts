/** The body of a list, as a sequence of pieces: what stands before the items, the items of one leaf
 *  after the other, and what stands behind them. Never whole in memory, and made as it is asked
 *  for. */

import { appendVarint, ByteWriter, NotExact, type Steps, varintLength } from '@watchglass/base'
import { cborFromJson, cborHead, cborNull, cborText, selfDescribed } from './cbor.ts'
import {
  ExpectedSize,
  type ItemEncoder,
  type Run,
  type Segment,
  type SharedSegments,
  holderOfKept,
  isWhole,
  itemsInSteps,
  itemsOfPicked,
  noteKept,
  partOfKept,
  partsOfRun,
} from './segments.ts'
import type { ObjectEncoder, OutputForm } from './object-encoder.ts'
import {
  emptyListOf,
  unknownEmptyList,
  type ListMeta,
  typedMeta,
  untypedMeta,
} from './list-meta.ts'
import { cutJson, cutListItem } from './cut-fields.ts'
import { itemsJoined } from './joined-items.ts'
import { JsonIndenter } from './pretty.ts'
import { type OutputKind, apiVersionOf } from '../output-kind.ts'
import type { KeyValue, SegmentCache } from '@watchglass/store'
import { agesHold, noteAges } from '../table/format.ts'
import { yamlFromJson } from './yaml.ts'

export interface ListRequest {
  readonly form: OutputForm
  readonly isPretty: boolean
  readonly meta: ListMeta
  /** An empty run stands for items that are still to come: the body then has an empty piece that is
   *  no `pause`, and looks again when it is asked for the next one. They may be gone through more
   *  than once. */
  readonly runs: Iterable<Run>
  /** Cache of the items; none are kept without it. */
  readonly segments?: SegmentCache<Segment> | undefined
  /** Items that all threads of the process keep together. */
  readonly shared?: SharedSegments | undefined
  /** Number of items, where it is known: of more than may be kept, a part is kept, and always the
   *  same. */
  readonly items?: number | undefined
  /** The pieces will be compressed: those that are kept are noted for that. */
  readonly isZipped?: boolean | undefined
}

/** The pieces of a list. An object that is not exact ends it: then what was sent of it is unusable,
 *  and the generator returns the reason. */
export function listBody(
  encoder: ObjectEncoder,
  request: ListRequest,
): Generator<Uint8Array, NotExact | undefined, undefined> {
  const { sortKey } = request.form.rendering === 'Table' ? encoder.table : {}
  const isWhole = request.form.rendering === 'object'
  const asked = isWhole ? request : { ...request, meta: withoutShards(request.meta) }
  return sortKey === undefined ? pieces(encoder, asked) : sortedPieces(encoder, asked, sortKey)
}

/** Renderings take over the other members only. */
function withoutShards(meta: ListMeta): ListMeta {
  return meta.shardSelector === undefined ? meta : { ...meta, shardSelector: undefined }
}

function pieces(encoder: ObjectEncoder, request: ListRequest): Pieces {
  switch (request.form.encoding) {
    case 'json':
      return request.isPretty ? indented(jsonList(encoder, request)) : jsonList(encoder, request)
    case 'yaml':
      return yamlList(encoder, request)
    case 'protobuf':
      return protobufList(encoder, request)
    case 'cbor':
      return cborList(encoder, request)
  }
}

/** Rows of some Tables are not in the order of keys. */
function* sortedPieces(
  encoder: ObjectEncoder,
  request: ListRequest,
  sortKey: (entry: KeyValue) => number,
): Pieces {
  const keyed: { readonly entry: KeyValue; readonly key: number }[] = []
  for (const { entries, from, to } of request.runs) {
    if (from === to) yield noItems
    for (const entry of entries.slice(from, to)) keyed.push({ entry, key: sortKey(entry) })
  }
  const entries = keyed.sort((a, b) => a.key - b.key).map(({ entry }) => entry)
  const runs = [{ entries, from: 0, to: entries.length, leaf: undefined }]
  return yield* pieces(encoder, { ...request, runs })
}

/** The encoder of a list's items. */
export function itemEncoder(encoder: ObjectEncoder, form: OutputForm): ItemEncoder {
  const append = appendItem(encoder, form)
  const name = encoder.segmentName(form)
  const uncut = uncutOf(encoder, form)
  if (form.rendering !== 'Table') {
    // What an upstream has proven, or is known of an aggregated server, need not be the same in all
    // threads.
    const isSame = form.gate === undefined && encoder.kind.learned === undefined
    return {
      append,
      uncut,
      segmentName: name,
      sharedName: isSame ? `${encoder.kind.kind} ${name}` : undefined,
    }
  }
  const aging = { now: form.now, begin: noteAges, holdsMs: agesHold }
  return { append, segmentName: `row ${form.includeObject} ${name}`, aging }
}

/** Items with their managed fields, and the way to cut these out. Other forms are made of JSON,
 *  which is not kept. */
function uncutOf(encoder: ObjectEncoder, form: OutputForm): ItemEncoder['uncut'] {
  const { encoding, drops } = form
  if (drops === undefined || (encoding !== 'json' && encoding !== 'protobuf')) return undefined
  return {
    segmentName: encoder.segmentName({ ...form, drops: undefined }),
    cut: encoding === 'json' ? cutJsonItem : cutListItem,
  }
}

function cutJsonItem(out: ByteWriter, from: number): NotExact | undefined {
  return cutJson(out, from + 1, 'object')
}

function appendItem(encoder: ObjectEncoder, form: OutputForm): ItemEncoder['append'] {
  const append: ItemEncoder['append'] = (out, entry) =>
    encoder.append(out, entry, { form, revision: entry.modRevision, place: 'item' }) ??
    form.gate?.objection(entry, 'item')
  if (form.encoding === 'protobuf') {
    return (out, entry) => {
      item.clear()
      const problem = append(item, entry)
      if (problem !== undefined) return problem
      out.appendByte(0x12)
      appendVarint(out, item.length)
      out.append(item.bytes, 0, item.length)
      return undefined
    }
  }
  return (out, entry) => {
    const from = out.length
    if (form.encoding === 'json') out.appendByte(0x2c)
    const problem = append(out, entry)
    if (problem !== undefined) out.length = from
    return problem
  }
}

const item = new ByteWriter()

/** Whether a list is written from a map with sorted names, as those of custom resources are, or
 *  from a Go struct. */
function isUntyped({ custom }: OutputKind, { rendering }: OutputForm): boolean {
  return custom !== undefined && rendering === 'object'
}

/** `kind` and `apiVersion` of a list. */
function listNames({
  kind,
  form,
}: {
  kind: OutputKind
  form: OutputForm
}): readonly [string, string] {
  switch (form.rendering) {
    case 'object':
      return [kind.listKind, apiVersionOf(kind)]
    case 'Table':
      return ['Table', `meta.k8s.io/${form.renderingVersion}`]
    case 'PartialObjectMetadata':
    case 'PartialObjectMetadataList':
      return ['PartialObjectMetadataList', `meta.k8s.io/${form.renderingVersion}`]
  }
}

/** The JSON of a list without items, in two parts: what stands before `items` or `rows`, and what
 *  stands behind. */
function jsonFrame(
  encoder: ObjectEncoder,
  { form, meta }: ListRequest,
): { head: string; tail: string } {
  const [kind, apiVersion] = listNames({ kind: encoder.kind, form })
  if (isUntyped(encoder.kind, form)) {
    return {
      head: `{"apiVersion":"${apiVersion}","items":[`,
      tail: `],"kind":"${kind}","metadata":${untypedMeta(meta)}}\n`,
    }
  }
  const names = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${typedMeta(meta)}`
  if (form.rendering !== 'Table') return { head: `${names},"items":[`, tail: ']}\n' }
  return {
    head: `${names},"columnDefinitions":${encoder.table.columnsJson},"rows":[`,
    tail: ']}\n',
  }
}

type Pieces = Generator<Uint8Array, NotExact | undefined, undefined>

function* jsonList(encoder: ObjectEncoder, request: ListRequest): Pieces {
  const { head, tail } = jsonFrame(encoder, request)
  const empty = emptyListOf(encoder, request.form)
  const hasNull = empty === 'null'
  // The last byte of the head opens the list, the first of the tail closes it.
  yield Buffer.from(hasNull ? head.slice(0, -1) : head)
  // Every item has a comma before it, which the first one does not need.
  let skip = 1
  for (const items of itemPieces(encoder, request)) {
    if (items instanceof NotExact) return items
    if (hasNull && skip === 1 && items.length > 0) yield Buffer.from('[')
    yield skip === 0 || items.length === 0 ? items : withoutFirst(items, skip)
    if (items.length > 0) skip = 0
  }
  if (skip === 1 && empty === undefined) return unknownEmptyList
  yield Buffer.from(hasNull && skip === 1 ? `null${tail.slice(1)}` : tail)
  return undefined
}

function withoutFirst(items: Uint8Array, bytes: number): Uint8Array {
  return holderOfKept(items) === undefined
    ? items.subarray(bytes)
    : partOfKept(items, bytes, items.length)
}

const noItems = new Uint8Array(0)

/** An empty piece in the midst of items that take long to make: others may have a turn. */
export const pause: Uint8Array = new Uint8Array(0)

function* givingWay<Result>(steps: Steps<Result>): Generator<Uint8Array, Result, undefined> {
  for (let next = steps.next(); ; next = steps.next()) {
    if (next.done === true) return next.value
    yield pause
  }
}

/** After so many leaves a list is long. */
const longLeaves = 8

function* itemPieces(
  encoder: ObjectEncoder,
  { form, runs, segments: cache, shared, items: allItems = 0, isZipped = false }: ListRequest,
): Generator<Uint8Array | NotExact, void, undefined> {
  const perItem = itemEncoder(encoder, form)
  const keptMaxBytes = shared?.maxBytes ?? cache?.maxBytes
  const size = allItems > 0 ? new ExpectedSize(allItems, keptMaxBytes) : undefined
  // Items that show ages are not kept a second time.
  const isNoted = isZipped && perItem.aging === undefined && perItem.segmentName !== undefined
  let leaves = 0
  for (const run of runs) {
    if (run.isKept === true && cache !== undefined) {
      yield* itemsOfPicked(run, perItem, cache)
      continue
    }
    if (run.isJoined === true && cache !== undefined) {
      for (const items of itemsJoined(run, perItem, cache)) {
        if (isNoted && !(items instanceof NotExact)) noteKept(items)
        yield items
      }
      continue
    }
    const isLong = ++leaves > longLeaves
    for (const part of partsOfRun(run, perItem.segmentName, cache)) {
      const keep = { cache, shared, sparedBytes: size?.sparedBytes, isLong }
      const isEmpty = part.from === part.to
      const items = isEmpty ? noItems : yield* givingWay(itemsInSteps(part, perItem, keep))
      if (isNoted && !(items instanceof NotExact) && isWhole(part)) noteKept(items)
      yield items
      if (items instanceof NotExact) return
      size?.add(part.to - part.from, items.length)
    }
  }
}

function* indented(pieces: Pieces): Pieces {
  const indenter = new JsonIndenter()
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done === true) return next.value
    yield next.value.length === 0 ? next.value : indenter.push(next.value)
  }
}

/** `apiVersion`, `items`, and then the rest; in a Table the rows come last. */
function* yamlList(encoder: ObjectEncoder, request: ListRequest): Pieces {
  const { form, meta } = request
  const [kind, apiVersion] = listNames({ kind: encoder.kind, form })
  const metadata = isUntyped(encoder.kind, form) ? untypedMeta(meta) : typedMeta(meta)
  const rest = `"kind":"${kind}","metadata":${metadata}`
  const isTable = form.rendering === 'Table'
  const columns = isTable ? `,"columnDefinitions":${encoder.table.columnsJson},${rest}` : ''
  const head = yamlFromJson(Buffer.from(`{"apiVersion":"${apiVersion}"${columns}}`))
  const tail = yamlFromJson(Buffer.from(`{${rest}}`))
  if (head instanceof NotExact) return head
  if (tail instanceof NotExact) return tail
  yield head
  const name = isTable ? 'rows' : 'items'
  let isEmpty = true
  for (const items of itemPieces(encoder, request)) {
    if (items instanceof NotExact) return items
    if (isEmpty && items.length > 0) {
      isEmpty = false
      yield Buffer.from(`${name}:\n`)
    }
    yield items
  }
  const empty = emptyListOf(encoder, form)
  if (isEmpty && empty === undefined) return unknownEmptyList
  if (isEmpty) yield Buffer.from(`${name}: ${empty}\n`)
  if (!isTable) yield tail
  return undefined
}

/** Names are sorted by length first: kind, items or rows, metadata, apiVersion,
 *  columnDefinitions. */
function* cborList(encoder: ObjectEncoder, request: ListRequest): Pieces {
  const { form, runs, meta } = request
  const [kind, apiVersion] = listNames({ kind: encoder.kind, form })
  const isTable = form.rendering === 'Table'
  const hasNull = emptyListOf(encoder, form) === 'null'
  let count = 0
  for (const { from, to } of runs) {
    if (from === to) yield noItems
    count += to - from
  }
  const metadata = isUntyped(encoder.kind, form) ? untypedMeta(meta) : typedMeta(meta)
  const parts = [metadata, isTable ? encoder.table.columnsJson : 'null']
  const [metadataCbor, columnsCbor] = parts.map(json =>
    cborFromJson(Buffer.from(json), undefined, 'bare'),
  )
  if (metadataCbor instanceof NotExact || metadataCbor === undefined) return metadataCbor
  if (columnsCbor instanceof NotExact || columnsCbor === undefined) return columnsCbor
  yield Buffer.concat([
    selfDescribed,
    cborHead('map', isTable ? 5 : 4),
    cborText('kind'),
    cborText(kind),
    cborText(isTable ? 'rows' : 'items'),
    count === 0 && hasNull ? cborNull : cborHead('list', count),
  ])
  for (const items of itemPieces(encoder, request)) {
    if (items instanceof NotExact) return items
    yield items
  }
  yield Buffer.concat([
    cborText('metadata'),
    metadataCbor,
    cborText('apiVersion'),
    cborText(apiVersion),
    ...(isTable ? [cborText('columnDefinitions'), columnsCbor] : []),
  ])
  return undefined
}

/** A length stands before everything, so all items are written before the first piece goes out. Of
 *  a list that is too large to be held, they are written again, but for those that are kept with
 *  their leaves. */
function* protobufList(encoder: ObjectEncoder, request: ListRequest): Pieces {
  let itemBytes = 0
  let held: Uint8Array[] | undefined = []
  for (const items of itemPieces(encoder, request)) {
    if (items instanceof NotExact) return items
    if (items.length === 0) {
      yield items
      continue
    }
    itemBytes += items.length
    held?.push(items)
    if (itemBytes > heldMaxBytes) held = undefined
    // Nothing to send yet: gives the sender a turn for other work.
    if (request.segments !== undefined) yield noItems
  }
  const [kind, apiVersion] = listNames({ kind: encoder.kind, form: request.form })
  yield protobufHead({ kind, apiVersion, meta: request.meta, itemBytes })
  for (const items of held ?? itemPieces(encoder, request)) {
    if (items instanceof NotExact) return items
    yield items
  }
  yield Uint8Array.of(0x1a, 0x00, 0x22, 0x00)
  return undefined
}

/** A page of 500 ordinary objects fits. */
const heldMaxBytes = 4 * 1024 * 1024

/** The envelope up to the items: `k8s\0`, {1 {1 apiVersion, 2 kind}, 2 list {1 metadata, 2
 *  items...}}. */
function protobufHead({
  kind,
  apiVersion,
  meta,
  itemBytes,
}: {
  kind: string
  apiVersion: string
  meta: ListMeta
  itemBytes: number
}): Uint8Array {
  const metadata = protobufMeta(meta)
  const out = new ByteWriter(256)
  out.appendAscii('k8s\0')
  out.appendByte(0x0a)
  appendVarint(out, apiVersion.length + kind.length + 4)
  for (const [field, text] of [
    [0x0a, apiVersion],
    [0x12, kind],
  ] as const) {
    out.appendByte(field)
    appendVarint(out, text.length)
    out.appendAscii(text)
  }
  out.appendByte(0x12)
  appendVarint(out, 1 + varintLength(metadata.length) + metadata.length + itemBytes)
  out.appendByte(0x0a)
  appendVarint(out, metadata.length)
  out.append(metadata)
  return out.copy()
}

/** `{1 selfLink, 2 resourceVersion, 3 continue, 4 remainingItemCount, 5 shardInfo {1 selector}}`,
 *  of which only the last two may be absent. */
function protobufMeta({
  resourceVersion,
  continue: token = '',
  remainingItemCount,
  shardSelector,
}: ListMeta): Uint8Array {
  const out = new ByteWriter(256)
  for (const [field, text] of [
    [0x0a, ''],
    [0x12, resourceVersion],
    [0x1a, token],
  ] as const) {
    out.appendByte(field)
    appendVarint(out, text.length)
    out.appendAscii(text)
  }
  if (remainingItemCount !== undefined) {
    out.appendByte(0x20)
    appendVarint(out, remainingItemCount)
  }
  if (shardSelector !== undefined) {
    const { length } = shardSelector
    out.appendByte(0x2a)
    appendVarint(out, 1 + varintLength(length) + length)
    out.appendByte(0x0a)
    appendVarint(out, length)
    out.appendAscii(shardSelector)
  }
  return out.copy()
}
