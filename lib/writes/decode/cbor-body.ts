/** CBOR bodies: turned into the JSON that the API server would have been sent instead. Texts
 *  come as byte strings or as texts, bytes as byte strings with a tag that says how JSON writes
 *  them. What Kubernetes forbids in CBOR (indefinite lengths, repeated names, other tags) is
 *  refused. */

import { textFromBytes } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, textFromTree } from '@watchglass/go'
import { tooManyValues, valuesMax } from './documents.ts'
import { DecodeError } from './typed-decoder.ts'

/** The greatest depth that kube-apiserver's decoder takes. */
const depthMax = 64

const [tagSelf, tagTime, tagBase64Url, tagBase64, tagBase16] = [55_799, 0, 21, 22, 23]

/** Throws `DecodeError`, and refuses a body of too many names and values before anything is made of
 *  the others. */
export function jsonFromCbor(bytes: Uint8Array): Buffer {
  return Buffer.from(textFromTree(new CborReader(bytes).document()))
}

class CborReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0
  #count = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  document(): JsonValue {
    const value = this.#value(0)
    if (this.#at < this.#bytes.length) {
      throw malformed(`${this.#bytes.length - this.#at} bytes of extraneous data`)
    }
    return value
  }

  #value(depth: number): JsonValue {
    if (depth > depthMax) throw malformed(`exceeded max nested level ${depthMax}`)
    if (++this.#count > valuesMax) throw tooManyValues()
    const head = this.#take(1)[0]!
    const [major, detail] = [head >> 5, head & 0x1f]
    if (major === 7) return this.#simple(detail)
    const argument = this.#argument(detail)
    switch (major) {
      case 0:
        return new JsonNumber(String(argument))
      case 1:
        return new JsonNumber(String(-1n - argument))
      case 2:
      case 3:
        return this.#text(Number(argument))
      case 4:
        return this.#list(Number(argument), depth)
      case 5:
        return this.#map(Number(argument), depth)
      default:
        return this.#tagged(Number(argument), depth)
    }
  }

  #text(length: number): string {
    this.#take(length)
    return textFromBytes(this.#bytes, this.#at - length, this.#at)
  }

  #list(count: number, depth: number): JsonValue[] {
    const values: JsonValue[] = []
    for (let index = 0; index < count; index++) values.push(this.#value(depth + 1))
    return values
  }

  #map(count: number, depth: number): JsonObject {
    const object: JsonObject = new Map()
    for (let index = 0; index < count; index++) {
      const name = this.#value(depth + 1)
      if (typeof name !== 'string') throw malformed('a name in a map is not a string')
      if (object.has(name)) throw malformed(`found duplicate map key ${JSON.stringify(name)}`)
      object.set(name, this.#value(depth + 1))
    }
    return object
  }

  #tagged(tag: number, depth: number): JsonValue {
    if (tag === tagSelf || tag === tagTime) return this.#value(depth + 1)
    const encoding = encodings.get(tag)
    if (encoding === undefined) throw malformed(`tag ${tag} is not supported`)
    const head = this.#take(1)[0]!
    if (head >> 5 !== 2) throw malformed(`tag ${tag} is not of a byte string`)
    const bytes = this.#take(Number(this.#argument(head & 0x1f)))
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding)
    return tag === tagBase16 ? text.toUpperCase() : text
  }

  #simple(detail: number): JsonValue {
    if (detail === 20 || detail === 21) return detail === 21
    if (detail === 22) return null
    const size = { 25: 2, 26: 4, 27: 8 }[detail]
    if (size === undefined) throw malformed(`simple value ${detail} is not recognized`)
    this.#take(size)
    const number =
      size === 2
        ? halfAt(this.#view, this.#at - 2)
        : size === 4
          ? this.#view.getFloat32(this.#at - 4)
          : this.#view.getFloat64(this.#at - 8)
    if (!Number.isFinite(number)) throw malformed('a number is not finite')
    return new JsonNumber(Object.is(number, -0) ? '-0' : String(number))
  }

  /** The argument of a head: a value, a length, a count, or a tag. */
  #argument(detail: number): bigint {
    if (detail < 24) return BigInt(detail)
    if (detail > 27) throw malformed('lengths must be said')
    const size = 1 << (detail - 24)
    let value = 0n
    for (const byte of this.#take(size)) value = (value << 8n) | BigInt(byte)
    return value
  }

  #take(count: number): Uint8Array {
    const end = this.#at + count
    if (end > this.#bytes.length) throw malformed('unexpected EOF')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

const encodings: ReadonlyMap<number, BufferEncoding> = new Map([
  [tagBase64Url, 'base64url'],
  [tagBase64, 'base64'],
  [tagBase16, 'hex'],
])

/** A float of two bytes. */
function halfAt(view: DataView, at: number): number {
  const bits = view.getUint16(at)
  const [exponent, fraction] = [(bits >> 10) & 0x1f, bits & 0x3ff]
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? Number.NaN
        : (1024 + fraction) * 2 ** (exponent - 25)
  return bits >> 15 === 1 ? -size : size
}

function malformed(what: string): DecodeError {
  return new DecodeError(`cbor: ${what}`)
}
