/** DER (X.690): the few types of which certificates are made, and the parts of a value. */

import { readDer } from '@watchglass/go'

export const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts)

export const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts)

/** The tag of an optional member: in a sequence it has a number. */
export const explicit = (number: number, ...parts: readonly Buffer[]): Buffer =>
  tagged(0xa0 | number, ...parts)

/** A value of DER, with the number in place of the type. */
export const implicit = (number: number, content: Buffer): Buffer => tagged(0x80 | number, content)

export const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.of(value ? 0xff : 0))

/** A whole number that is not negative, most significant byte first. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex(byte => byte !== 0)
  const digits = first === -1 ? Buffer.of(0) : Buffer.from(bytes.subarray(first))
  const isHigh = ((digits[0] ?? 0) & 0x80) !== 0
  return tagged(0x02, isHigh ? Buffer.concat([Buffer.of(0), digits]) : digits)
}

export const nothing: Buffer = tagged(0x05)

export const octets = (content: Buffer): Buffer => tagged(0x04, content)

/** @param unused bits at the end that are not part of it */
export const bits = (content: Uint8Array, unused = 0): Buffer =>
  tagged(0x03, Buffer.of(unused), Buffer.from(content))

export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text))

/** An object identifier, as `2.5.29.15`. */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

/** A moment, in whole seconds: with two digits of the year as long as that is allowed. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  const hasShortYear = Number(digits.slice(0, 4)) < 2050
  return hasShortYear
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits))
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([Buffer.of(tag), lengthBytes(length), ...parts])
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.of(0x80 | bytes.length, ...bytes)
}

/** Seven bits a byte; all but the last one have the eighth. */
function base128(number: number): number[] {
  const bytes = [number % 128]
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.unshift((rest % 128) | 0x80)
  }
  return bytes
}

/** The values of which a compound one is made, each with tag and length. Undefined where they do
 *  not fill it. */
export function partsOf(compound: Buffer): Buffer[] | undefined {
  const parts: Buffer[] = []
  let rest = readDer(compound, compound[0] ?? 0)?.content
  while (rest !== undefined && rest.length > 0) {
    const next: Buffer | undefined = readDer(rest, rest[0] ?? 0)?.rest
    if (next === undefined) return undefined
    parts.push(rest.subarray(0, rest.length - next.length))
    rest = next
  }
  return rest && parts
}
