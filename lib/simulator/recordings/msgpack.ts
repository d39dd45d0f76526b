/** MessagePack, as far as recordings need it: every value of the format is read, except extensions,
 *  and written is what JSON can say. Whatever a file says, reading it takes memory in proportion to
 *  its length: a list or map cannot have more members than bytes are left. */

export type Packed =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | readonly Packed[]
  | PackedMap

/** Keys may be of any type: SimKube's are pairs, and numbers. */
export class PackedMap {
  readonly entries: readonly (readonly [key: Packed, value: Packed])[]

  constructor(entries: readonly (readonly [key: Packed, value: Packed])[]) {
    this.entries = entries
  }

  /** The member with that name; of several, the last one. */
  get(name: string): Packed | undefined {
    return this.entries.findLast(([key]) => key === name)?.[1]
  }
}

export class PackProblem extends Error {}

const depthMax = 100

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads the one value of a file. Throws `PackProblem`. */
export function unpack(bytes: Uint8Array): Packed {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.left > 0) throw new PackProblem(`${String(reader.left)} bytes come after its end`)
  return value
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  value(depth: number): Packed {
    if (depth > depthMax) throw new PackProblem(`it is nested more than ${String(depthMax)} deep`)
    const byte = this.#view.getUint8(this.#take(1))
    if (byte < 0x80) return byte
    if (byte < 0x90) return this.#map(byte & 0x0f, depth)
    if (byte < 0xa0) return this.#list(byte & 0x0f, depth)
    if (byte < 0xc0) return this.#text(byte & 0x1f)
    if (byte >= 0xe0) return byte - 0x100
    return this.#marked(byte, depth)
  }

  #marked(byte: number, depth: number): Packed {
    switch (byte) {
      case 0xc0:
        return null
      case 0xc2:
      case 0xc3:
        return byte === 0xc3
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#slice(this.#size(byte - 0xc4))
      case 0xca:
        return this.#view.getFloat32(this.#take(4))
      case 0xcb:
        return this.#view.getFloat64(this.#take(8))
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#size(byte - 0xcc)
      case 0xcf:
        return narrow(this.#view.getBigUint64(this.#take(8)))
      case 0xd0:
        return this.#view.getInt8(this.#take(1))
      case 0xd1:
        return this.#view.getInt16(this.#take(2))
      case 0xd2:
        return this.#view.getInt32(this.#take(4))
      case 0xd3:
        return narrow(this.#view.getBigInt64(this.#take(8)))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#size(byte - 0xd9))
      case 0xdc:
      case 0xdd:
        return this.#list(this.#size(byte - 0xdc + 1), depth)
      case 0xde:
      case 0xdf:
        return this.#map(this.#size(byte - 0xde + 1), depth)
      default:
        throw new PackProblem(`byte ${String(this.#at - 1)} is 0x${byte.toString(16)}: no value`)
    }
  }

  /** A number of 1, 2 or 4 bytes. */
  #size(power: number): number {
    if (power === 0) return this.#view.getUint8(this.#take(1))
    return power === 1 ? this.#view.getUint16(this.#take(2)) : this.#view.getUint32(this.#take(4))
  }

  #list(length: number, depth: number): Packed {
    this.#check(length)
    const items: Packed[] = []
    for (let i = 0; i < length; i++) items.push(this.value(depth + 1))
    return items
  }

  #map(length: number, depth: number): Packed {
    this.#check(2 * length)
    const entries: (readonly [Packed, Packed])[] = []
    for (let i = 0; i < length; i++) entries.push([this.value(depth + 1), this.value(depth + 1)])
    return new PackedMap(entries)
  }

  #text(length: number): string {
    const bytes = this.#slice(length)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new PackProblem(`the text before byte ${String(this.#at)} is not UTF-8`)
    }
  }

  #slice(length: number): Uint8Array {
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  /** The place of so many bytes, which are passed. */
  #take(length: number): number {
    this.#check(length)
    const start = this.#at
    this.#at += length
    return start
  }

  #check(length: number): void {
    if (length > this.left) throw new PackProblem('it ends in the middle of a value')
  }
}

function narrow(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** A list or a map of a length that is not known yet is given all four bytes, to be written
 *  later. */
export const wideListHead = 0xdd

/** The bytes of a value. */
export function pack(value: Packed): Buffer {
  const parts: Buffer[] = []
  append(parts, value)
  return Buffer.concat(parts)
}

/** A map with texts as keys. */
export function packedMap(members: Readonly<Record<string, Packed>>): PackedMap {
  return new PackedMap(Object.entries(members))
}

function append(parts: Buffer[], value: Packed): void {
  if (value === null) parts.push(Buffer.of(0xc0))
  else if (typeof value === 'boolean') parts.push(Buffer.of(value ? 0xc3 : 0xc2))
  else if (typeof value === 'number') parts.push(packedNumber(value))
  else if (typeof value === 'bigint') parts.push(packedBigInt(value))
  else if (typeof value === 'string') {
    const bytes = Buffer.from(value)
    parts.push(head(bytes.length, { short: 0xa0, shortMax: 31, wide: 0xd9, hasByte: true }), bytes)
  } else if (value instanceof Uint8Array) {
    parts.push(head(value.length, { wide: 0xc4, hasByte: true }), Buffer.from(value))
  } else if (value instanceof PackedMap) {
    parts.push(head(value.entries.length, { short: 0x80, shortMax: 15, wide: 0xde }))
    for (const [key, member] of value.entries) {
      append(parts, key)
      append(parts, member)
    }
  } else {
    parts.push(head(value.length, { short: 0x90, shortMax: 15, wide: 0xdc }))
    for (const item of value) append(parts, item)
  }
}

interface Heads {
  /** The byte to which a short length is added. */
  readonly short?: number
  readonly shortMax?: number
  /** The byte before a length of one byte, or else of two; those of the next sizes follow it. */
  readonly wide: number
  readonly hasByte?: boolean
}

function head(length: number, { short = 0, shortMax = -1, wide, hasByte = false }: Heads): Buffer {
  if (length <= shortMax) return Buffer.of(short + length)
  if (hasByte && length < 2 ** 8) return Buffer.of(wide, length)
  const first = hasByte ? wide + 1 : wide
  const bytes = Buffer.alloc(length < 2 ** 16 ? 3 : 5)
  if (length < 2 ** 16) bytes.writeUInt16BE(length, 1)
  else bytes.writeUInt32BE(length, 1)
  bytes[0] = length < 2 ** 16 ? first : first + 1
  return bytes
}

/** In as few bytes as Rust's writer needs. */
function packedNumber(value: number): Buffer {
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return packedBigInt(BigInt(value))
  const bytes = Buffer.alloc(9)
  bytes[0] = 0xcb
  bytes.writeDoubleBE(value, 1)
  return bytes
}

function packedBigInt(value: bigint): Buffer {
  const number = Number(value)
  if (number >= 0 && number < 0x80) return Buffer.of(number)
  if (number < 0 && number >= -32) return Buffer.of(number + 0x100)
  const bytes = Buffer.alloc(9)
  if (value >= 0n) {
    const width = number < 2 ** 8 ? 0 : number < 2 ** 16 ? 1 : number < 2 ** 32 ? 2 : 3
    bytes[0] = 0xcc + width
    if (width === 3) bytes.writeBigUInt64BE(value, 1)
    else bytes.writeUIntBE(number, 1, 2 ** width)
    return bytes.subarray(0, 1 + 2 ** width)
  }
  const width = number >= -(2 ** 7) ? 0 : number >= -(2 ** 15) ? 1 : number >= -(2 ** 31) ? 2 : 3
  bytes[0] = 0xd0 + width
  if (width === 3) bytes.writeBigInt64BE(value, 1)
  else bytes.writeIntBE(number, 1, 2 ** width)
  return bytes.subarray(0, 1 + 2 ** width)
}
