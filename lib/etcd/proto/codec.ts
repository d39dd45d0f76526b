/** Messages described as tables of fields, from which reading and writing follow. A field that is
 *  absent has its zero value, as proto3 has it; an absent message is `undefined`. What is read
 *  often and in quantity (`KeyValue`, events) has code of its own in key-value.ts and enters the
 *  tables as a field like any other. */

import { CacheError, type Key, wireBytes, wireVarint } from '@watchglass/base'
import { ProtoReader } from './proto-reader.ts'
import { ProtoWriter } from './proto-writer.ts'

/** Reads and writes one kind of message. */
export interface Codec<T> {
  /** The message that `bytes` holds; `invalid_request` when they are malformed. Bytes fields are
   *  views of `bytes`. */
  readonly decode: (bytes: Uint8Array) => T
  /** `sizeHint` is what the message will take, about: a large one is then not moved while it
   *  grows. */
  readonly encode: (message: T, sizeHint?: number) => Buffer
  /** Reads all that the reader's message under way has left. */
  readonly read: (reader: ProtoReader) => T
  /** Writes all fields, without a tag or length of the message itself. */
  readonly write: (writer: ProtoWriter, message: T) => void
}

/** One field of a message. */
export interface ProtoField<T> {
  /** Every field number under which a value may come: one, or one for each member of a oneof. */
  readonly numbers: readonly number[]
  /** The wire types under which it may come. */
  readonly types: readonly number[]
  /** The value of an absent field. */
  initial(): T
  /** The value after another occurrence of the field, which had `previous` before it. */
  read(reader: ProtoReader, previous: T): T
  /** Writes the field with its tag; nothing when it has its zero value. */
  write(writer: ProtoWriter, value: T): void
}

/** The codec of a message with these fields. */
export function message<T extends object>(fields: {
  readonly [K in keyof T]-?: ProtoField<T[K]>
}): Codec<T> {
  const entries = Object.entries(fields) as [keyof T, ProtoField<T[keyof T]>][]
  const byNumber: [keyof T, ProtoField<T[keyof T]>][] = []
  for (const entry of entries) for (const number of entry[1].numbers) byNumber[number] = entry
  const backwards = entries.toReversed()

  const read = (reader: ProtoReader): T => {
    const result = {} as T
    for (const [name, field] of entries) result[name] = field.initial()
    while (reader.nextField()) {
      const entry = byNumber[reader.field]
      if (entry === undefined) reader.skip()
      else {
        const [name, field] = entry
        if (!field.types.includes(reader.wire)) throw wrongType(reader.field, reader.wire)
        result[name] = field.read(reader, result[name])
      }
    }
    return result
  }
  const write = (writer: ProtoWriter, value: T): void => {
    for (const [name, field] of backwards) field.write(writer, value[name])
  }
  return createCodec(read, write)
}

/** A codec from its two halves. */
export function createCodec<T>(
  read: (reader: ProtoReader) => T,
  write: (writer: ProtoWriter, value: T) => void,
): Codec<T> {
  return {
    read,
    write,
    decode: bytes => read(new ProtoReader(bytes)),
    encode: (value, sizeHint) => {
      const writer = new ProtoWriter(sizeHint)
      write(writer, value)
      return writer.finish()
    },
  }
}

/** An int64 as a number, exact up to 2^53. */
export function int(number: number): ProtoField<number> {
  return scalar(number, wireVarint, {
    zero: 0,
    read: reader => reader.int64(),
    write: (writer, value) => writer.int64(value),
  })
}

/** An int64 with all its bits: leases and watch ids. */
export function bigint(number: number): ProtoField<bigint> {
  return scalar(number, wireVarint, {
    zero: 0n,
    read: reader => reader.readInt64(),
    write: (writer, value) => writer.bigint64(value),
  })
}

/** A uint64 with all its bits: cluster and member ids. */
export function biguint(number: number): ProtoField<bigint> {
  return { ...bigint(number), read: reader => reader.biguint64() }
}

export function bool(number: number): ProtoField<boolean> {
  return scalar(number, wireVarint, {
    zero: false,
    read: reader => reader.bool(),
    write: (writer, value) => writer.uint(value ? 1 : 0),
  })
}

export function key(number: number): ProtoField<Key> {
  return scalar(number, wireBytes, {
    zero: '' as Key,
    read: reader => reader.key(),
    write: (writer, value) => writer.key(value),
  })
}

export function text(number: number): ProtoField<string> {
  return scalar(number, wireBytes, {
    zero: '',
    read: reader => reader.text(),
    write: (writer, value) => writer.text(value),
  })
}

const noBytes: Uint8Array = new Uint8Array(0)

/** Bytes that are not a key: a view of the message. */
export function bytes(number: number): ProtoField<Uint8Array> {
  return {
    numbers: [number],
    types: [wireBytes],
    initial: () => noBytes,
    read: reader => reader.view(),
    write: (writer, value) => {
      if (value.length === 0) return
      writer.window(value, 0, value.length)
      writer.tag(number, wireBytes)
    },
  }
}

export function embedded<T>(number: number, codec: Codec<T>): ProtoField<T | undefined> {
  return {
    numbers: [number],
    types: [wireBytes],
    initial: () => undefined,
    read: reader => reader.message(codec.read),
    write: (writer, value) => {
      if (value !== undefined) writeEmbedded(writer, { number, codec, value })
    },
  }
}

export function repeated<T>(number: number, codec: Codec<T>): ProtoField<readonly T[]> {
  return {
    numbers: [number],
    types: [wireBytes],
    initial: () => [],
    read: (reader, previous) => append(previous, reader.message(codec.read)),
    write: (writer, values) => {
      for (let i = values.length - 1; i >= 0; i--) {
        writeEmbedded(writer, { number, codec, value: values[i] as T })
      }
    },
  }
}

export function repeatedKey(number: number): ProtoField<readonly Key[]> {
  return repeatedDelimited(
    number,
    reader => reader.key(),
    (writer, value) => writer.key(value),
  )
}

export function repeatedText(number: number): ProtoField<readonly string[]> {
  return repeatedDelimited(
    number,
    reader => reader.text(),
    (writer, value) => writer.text(value),
  )
}

/** Enum values, packed as proto3 writes them, or one by one. */
export function repeatedInt(number: number): ProtoField<readonly number[]> {
  return {
    numbers: [number],
    types: [wireVarint, wireBytes],
    initial: () => [],
    read: (reader, previous) => {
      if (reader.wire === wireVarint) return append(previous, reader.int64())
      return reader.message(packed => {
        let values = previous
        while (packed.at < packed.end) values = append(values, packed.int64())
        return values
      })
    },
    write: (writer, values) => {
      if (values.length === 0) return
      const before = writer.length
      for (const value of values.toReversed()) writer.int64(value)
      writer.closeMessage(number, before)
    },
  }
}

/** The member of a oneof of messages: its name, and the message. */
export type OneOf<M> = { [K in keyof M]: { readonly type: K; readonly value: M[K] } }[keyof M]

/** A oneof of messages: for each member, its field number and codec. The last one on the wire
 *  counts. */
export function oneOf<M extends object>(members: {
  readonly [K in keyof M]: readonly [number, Codec<M[K]>]
}): ProtoField<OneOf<M> | undefined> {
  type Member = readonly [number, Codec<M[keyof M]>]
  const entries = Object.entries(members) as [keyof M, Member][]
  const byNumber = new Map(entries.map(entry => [entry[1][0], entry]))
  return {
    numbers: [...byNumber.keys()],
    types: [wireBytes],
    initial: () => undefined,
    read: (reader, previous) => {
      const entry = byNumber.get(reader.field)
      if (entry === undefined) return previous
      const [type, [, codec]] = entry
      return { type, value: reader.message(codec.read) }
    },
    write: (writer, chosen) => {
      if (chosen === undefined) return
      const [number, codec] = members[chosen.type]
      writeEmbedded(writer, { number, codec, value: chosen.value })
    },
  }
}

interface Scalar<T> {
  readonly zero: T
  readonly read: (reader: ProtoReader) => T
  readonly write: (writer: ProtoWriter, value: T) => void
}

function scalar<T>(number: number, type: number, { zero, read, write }: Scalar<T>): ProtoField<T> {
  return {
    numbers: [number],
    types: [type],
    initial: () => zero,
    read,
    write: (writer, value) => {
      if (value === zero) return
      write(writer, value)
      writer.tag(number, type)
    },
  }
}

function repeatedDelimited<T>(
  number: number,
  read: (reader: ProtoReader) => T,
  write: (writer: ProtoWriter, value: T) => void,
): ProtoField<readonly T[]> {
  return {
    numbers: [number],
    types: [wireBytes],
    initial: () => [],
    read: (reader, previous) => append(previous, read(reader)),
    write: (writer, values) => {
      for (const value of values.toReversed()) {
        write(writer, value)
        writer.tag(number, wireBytes)
      }
    },
  }
}

/** Appends in place: the list is the reader's own until its message is whole. */
function append<T>(values: readonly T[], value: T): readonly T[] {
  const list = values as T[]
  list.push(value)
  return list
}

function writeEmbedded<T>(
  writer: ProtoWriter,
  { number, codec, value }: { number: number; codec: Codec<T>; value: T },
): void {
  const before = writer.length
  codec.write(writer, value)
  writer.closeMessage(number, before)
}

function wrongType(number: number, type: number): CacheError {
  return new CacheError(
    'invalid_request',
    `malformed protobuf: field ${number} has wire type ${type}`,
  )
}
