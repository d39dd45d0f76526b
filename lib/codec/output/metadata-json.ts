/** The metadata of custom resources, which are stored as JSON with sorted names, in the order in
 *  which Go writes its ObjectMeta.
 *
 *  Members are copied as they are: the server wrote them, so their text is already what it would
 *  write again. What it would leave out (empty values, members that it does not know) is left
 *  out. */

import { type ByteWriter, GiveUp, NotExact } from '@watchglass/base'
import { KeyTable } from '../json/key-table.ts'
import { JsonMembers } from '../json/members.ts'
import { type ViewVersion, partialHead } from './metadata.ts'
import { schemaOf } from '../schema/schema.ts'
import { encoderOf } from '../transcode/encode/encoders.ts'
import { EncodeState } from '../transcode/encode/state.ts'
import type { StoredValue } from '../stored-value.ts'

/** The JSON of the object's member `metadata`. */
export function findJsonMetadata({ bytes, start, end }: StoredValue): StoredValue | NotExact {
  outer.reset(bytes, start, end)
  while (outer.next()) {
    if (outer.isNamed('metadata')) return { bytes, start: outer.start, end: outer.end }
  }
  return new NotExact(outer.isMalformed ? 'value is not JSON' : 'object has no metadata')
}

/** Appends the JSON of a PartialObjectMetadata. */
export function appendPartialFromJson(
  out: ByteWriter,
  window: StoredValue,
  options: { readonly resourceVersion: string; readonly version: ViewVersion },
): NotExact | undefined {
  const from = out.length
  out.append(partialHead[options.version])
  const problem = appendOrderedMetadata(out, window, options.resourceVersion)
  if (problem === undefined) out.appendByte(0x7d)
  else out.length = from
  return problem
}

/** The ObjectMeta in protobuf, valid until the next call. */
export function protobufMetadata({ bytes, start, end }: StoredValue): StoredValue | NotExact {
  encoding.clear()
  encoding.slotCount = 0
  encoding.depth = 0
  try {
    encoding.tape.parse(bytes, start, end)
    encoderOf(schemaOf().messageType('meta/v1.ObjectMeta'))(encoding, 0)
  } catch (error) {
    if (error instanceof GiveUp) return new NotExact(error.reason)
    throw error
  }
  return { bytes: encoding.bytes, start: 0, end: encoding.length }
}

/** Appends an ObjectMeta in Go's order, with `resourceVersion` in it. */
function appendOrderedMetadata(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  resourceVersion: string,
): NotExact | undefined {
  const from = out.length
  metadataOrder.note(bytes, start, end)
  if (metadataOrder.isMalformed) return new NotExact('metadata is not JSON')
  for (let i = 0; i < metadataOrder.count; i++) {
    if (i === resourceVersionPlace && resourceVersion !== '') {
      out.appendAscii(`,"resourceVersion":"${resourceVersion}"`)
    } else if (metadataOrder.has(i)) appendMember(out, bytes, i)
  }
  out.bytes[from] = 0x7b
  out.appendByte(0x7d)
  return undefined
}

function appendMember(out: ByteWriter, bytes: Uint8Array, i: number): void {
  const start = metadataOrder.start(i)
  const end = metadataOrder.end(i)
  out.append(metadataOrder.keys[i] as Uint8Array)
  const order = itemOrders[metadataOrder.names[i] as string]
  if (order === undefined) {
    out.append(bytes, start, end)
    return
  }
  items.reset(bytes, start, end)
  let separator = 0x5b
  while (items.next()) {
    out.appendByte(separator)
    separator = 0x2c
    appendItem(out, bytes, order)
  }
  out.appendByte(0x5d)
}

function appendItem(out: ByteWriter, bytes: Uint8Array, order: MemberOrder): void {
  const from = out.length
  order.note(bytes, items.start, items.end)
  for (let i = 0; i < order.count; i++) {
    if (!order.has(i)) {
      out.appendAscii(order.absent[i] as string)
      continue
    }
    out.append(order.keys[i] as Uint8Array)
    out.append(bytes, order.start(i), order.end(i))
  }
  if (out.length === from) out.appendByte(0x7b)
  else out.bytes[from] = 0x7b
  out.appendByte(0x7d)
}

/** The members of one object, by their place in Go's order. A name that ends with `?` is a pointer,
 *  which is written whatever it points to; one that ends with `!` is written as `""` when it is not
 *  there. */
class MemberOrder {
  readonly names: readonly string[]
  /** `,"name":` */
  readonly keys: readonly Uint8Array[]
  /** Text in place of a member that is not there. */
  readonly absent: readonly string[]
  readonly #places: KeyTable<number>
  readonly #isPointer: readonly boolean[]
  readonly #starts: Int32Array
  readonly #ends: Int32Array
  readonly #members = new JsonMembers()

  constructor(declared: readonly string[]) {
    this.names = declared.map(name => name.replace(/[?!]$/, ''))
    this.#places = new KeyTable(this.names.map((name, i) => [name, i]))
    this.keys = this.names.map(name => new Uint8Array(Buffer.from(`,"${name}":`)))
    this.absent = declared.map((name, i) => (name.endsWith('!') ? `,"${this.names[i]}":""` : ''))
    this.#isPointer = declared.map(name => name.endsWith('?'))
    this.#starts = new Int32Array(declared.length)
    this.#ends = new Int32Array(declared.length)
  }

  get count(): number {
    return this.names.length
  }

  get isMalformed(): boolean {
    return this.#members.isMalformed
  }

  /** Looks through the object at `start`. */
  note(bytes: Uint8Array, start: number, end: number): void {
    const members = this.#members
    this.#ends.fill(0)
    members.reset(bytes, start, end)
    while (members.next()) {
      const place = this.#places.find(members.input, members.nameStart, members.nameEnd)
      if (place === undefined || isEmpty(members, this.#isPointer[place] === true)) continue
      this.#starts[place] = members.start
      this.#ends[place] = members.end
    }
  }

  has(place: number): boolean {
    return this.#ends[place] !== 0
  }

  start(place: number): number {
    return this.#starts[place] as number
  }

  end(place: number): number {
    return this.#ends[place] as number
  }
}

/** Values that Go leaves out: `null`, and of what is no pointer `""`, `{}`, `[]`, `0`, `false`. */
function isEmpty({ bytes, start, end }: JsonMembers, isPointer: boolean): boolean {
  const length = end - start
  const first = bytes[start] as number
  if (isPointer) return first === 0x6e
  if (length === 1) return first === 0x30
  if (length === 2) return first === 0x22 || first === 0x7b || first === 0x5b
  return first === 0x6e || first === 0x66
}

/** Members as Go declares them. */
const metadataOrder = new MemberOrder([
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds?',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
])
const resourceVersionPlace = metadataOrder.names.indexOf('resourceVersion')

const itemOrders: Readonly<Record<string, MemberOrder>> = {
  ownerReferences: new MemberOrder([
    'apiVersion!',
    'kind!',
    'name!',
    'uid!',
    'controller?',
    'blockOwnerDeletion?',
  ]),
  managedFields: new MemberOrder([
    'manager',
    'operation',
    'apiVersion',
    'time',
    'fieldsType',
    'fieldsV1?',
    'subresource',
  ]),
}

const encoding = new EncodeState()
const outer = new JsonMembers()
const items = new JsonMembers()
