/** The subject of a certificate, read from its bytes as Go reads it (`crypto/x509`), because
 *  kube-apiserver and etcd are written in Go, and everybody must take a certificate for the same
 *  user. Of several common names the last one counts, of organizations each, in order; a value
 *  that is no string of Go's is no value. Texts of OpenSSL and Node are of no use for that: they
 *  escape, join constructed strings, and leave open which of two names counts.
 *
 *  A subject that Go refuses is none. So is one with a T.61 string beyond ASCII, which one version
 *  of Go reads otherwise than another. */

import { CacheError } from '@watchglass/base'

export interface Subject {
  /** Empty if there is none. */
  readonly commonName: string
  readonly organizations: readonly string[]
}

/** The subject of a certificate in DER; undefined if it cannot be read. The cost is that of its
 *  length. */
export function subjectOf(certificate: Uint8Array): Subject | undefined {
  try {
    return subjectIn(subjectField(Buffer.from(certificate)))
  } catch (error) {
    if (error instanceof CacheError) return undefined
    throw error
  }
}

/** Tags of ASN.1. */
const sequence = 0x30
const set = 0x31
const objectIdentifier = 0x06
const versionTag = 0xa0

/** The field `subject` of the part of a certificate that is signed. */
function subjectField(certificate: Buffer): Buffer {
  const signed = new Elements(new Elements(certificate).take(sequence)).inside(sequence)
  if (signed.nextTag === versionTag) signed.next()
  const [serial, signature, issuer, validity] = [0, 0, 0, 0].map(() => signed.next().tag)
  const isPlain =
    serial === 0x02 && signature === sequence && issuer === sequence && validity === sequence
  if (!isPlain) throw unreadable()
  return signed.take(sequence)
}

function subjectIn(names: Buffer): Subject {
  let commonName = ''
  const organizations: string[] = []
  const sets = new Elements(names)
  while (sets.nextTag !== undefined) {
    const attributes = sets.inside(set)
    while (attributes.nextTag !== undefined) {
      const attribute = attributes.inside(sequence)
      const type = attribute.take(objectIdentifier)
      if (!isIdentifier(type)) throw unreadable()
      const value = textOf(attribute.next())
      if (value === undefined) continue
      if (type.equals(commonNameType)) commonName = value
      else if (type.equals(organizationType)) organizations.push(value)
    }
  }
  return { commonName, organizations }
}

/** 2.5.4.3 */
const commonNameType = Buffer.from([0x55, 0x04, 0x03])
/** 2.5.4.10 */
const organizationType = Buffer.from([0x55, 0x04, 0x0a])

/** Whether each number of an identifier is whole, and has no zeros before it. */
function isIdentifier(bytes: Buffer): boolean {
  const isBegun = (at: number): boolean => at > 0 && bytes[at - 1]! >= 0x80
  return (
    bytes.length > 0 &&
    !isBegun(bytes.length) &&
    bytes.every((byte, at) => byte !== 0x80 || isBegun(at))
  )
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

/** The value as a string of Go's; undefined if it is of another type. */
function textOf({ tag, content }: Element): string | undefined {
  switch (tag) {
    case 0x0c:
      return utf8(content)
    case 0x12:
      return ascii(content, /^[0-9 ]*$/)
    case 0x13:
      // Go allows `*` and `&`, too, which occur.
      return ascii(content, /^[a-zA-Z0-9 '()+,\-./:=?*&]*$/)
    case 0x14:
    case 0x16:
      // T.61, and IA5.
      return ascii(content, anything)
    case 0x1e:
      return basicPlane(content)
    default:
      return undefined
  }
}

const anything = /^/

function ascii(bytes: Buffer, allowed: RegExp): string {
  const text = bytes.toString('latin1')
  if (!allowed.test(text) || bytes.some(byte => byte >= 0x80)) throw unreadable()
  return text
}

/** A mark of byte order at the beginning is a part of the name. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw unreadable()
  }
}

/** Two bytes a character; one zero at the end does not count. */
function basicPlane(bytes: Buffer): string {
  if (bytes.length % 2 !== 0) throw unreadable()
  const isTerminated = bytes.length >= 2 && bytes.readUInt16BE(bytes.length - 2) === 0
  const end = isTerminated ? bytes.length - 2 : bytes.length
  let text = ''
  for (let at = 0; at < end; at += 2) {
    const point = bytes.readUInt16BE(at)
    if (isReserved(point)) throw unreadable()
    text += String.fromCharCode(point)
  }
  return text
}

/** Surrogates, and what is no character. */
function isReserved(point: number): boolean {
  return (
    point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff)
  )
}

/** The elements of DER, one after the other. Lengths in another form than the shortest are BER. */
class Elements {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** The tag of the next element; undefined at the end. */
  get nextTag(): number | undefined {
    return this.#bytes[this.#at]
  }

  next(): Element {
    const tag = this.#byte()
    // Numbers of tags that take more than this byte are in no certificate.
    if ((tag & 0x1f) === 0x1f) throw unreadable()
    const length = this.#length()
    const start = this.#at
    if (start + length > this.#bytes.length) throw unreadable()
    this.#at = start + length
    return { tag, content: this.#bytes.subarray(start, this.#at) }
  }

  /** The content of the next element, which has this tag. */
  take(tag: number): Buffer {
    const { tag: found, content } = this.next()
    if (found !== tag) throw unreadable()
    return content
  }

  /** The elements within the next one, which has this tag. */
  inside(tag: number): Elements {
    return new Elements(this.take(tag))
  }

  #length(): number {
    const first = this.#byte()
    if (first < 0x80) return first
    const count = first - 0x80
    if (count < 1 || count > 4) throw unreadable()
    let length = 0
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte()
    if (length < 0x80 || length < 256 ** (count - 1)) throw unreadable()
    return length
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++]
    if (byte === undefined) throw unreadable()
    return byte
  }
}

function unreadable(): CacheError {
  return new CacheError('invalid_request', 'the subject of the certificate cannot be read')
}
