/** Writes header blocks (HPACK, RFC 7541), with one character for each byte. Nothing is put into
 *  the table of the other side, so a block says the same on every connection, and lines that come
 *  again are kept as they are written. */

import { ofConnection, staticFields } from './static-fields.ts'

/** By name, the first index. */
const nameIndexes = new Map<string, number>()
const statusIndexes = new Map<string, number>()
for (const [i, [name, value]] of staticFields.entries()) {
  if (!nameIndexes.has(name)) nameIndexes.set(name, i + 1)
  if (name === ':status') statusIndexes.set(value, i + 1)
}

/** The other side is told that its table is not used. */
export const emptyTable = '\x20'

const indexed = 0x80

export function statusField(status: number): string {
  const text = String(status)
  const index = statusIndexes.get(text)
  return index === undefined ? pseudoField(':status', text) : integer(index, 7, indexed)
}

/** With any other byte in a field a client would read something else. */
const writableName = /^[\w!#$%&'*+\-.^`|~]+$/
const unwritable = /[^\t\x20-\x7e\x80-\xff]/

/** Fields that have few values: they are kept. */
const usualFields: ReadonlyMap<string, Map<string, string>> = new Map(
  ['cache-control', 'content-type', 'content-encoding', 'date', 'vary'].map(name => [
    name,
    new Map(),
  ]),
)
const usualMax = 100

/** A name in lower case and its value. */
export function headerField(name: string, value: string): string {
  const usual = usualFields.get(name)
  const known = usual?.get(value)
  if (known !== undefined) return known
  if (!writableName.test(name) || unwritable.test(value) || ofConnection.has(name)) {
    throw new TypeError(`the header ${name} cannot be written`)
  }
  const field = pseudoField(name.toLowerCase(), value)
  if (usual !== undefined) {
    if (usual.size >= usualMax) usual.clear()
    usual.set(value, field)
  }
  return field
}

/** A field whose name begins with a colon: its value must be one that may be written. */
export function pseudoField(name: string, value: string): string {
  const index = nameIndexes.get(name)
  const head = index === undefined ? `\0${text(name)}` : integer(index, 4, 0)
  return head + text(value)
}

function text(value: string): string {
  return integer(value.length, 7, 0) + value
}

/** An integer in the low bits of a byte whose others are given. */
function integer(value: number, bits: number, others: number): string {
  const full = (1 << bits) - 1
  if (value < full) return String.fromCharCode(others | value)
  let bytes = String.fromCharCode(others | full)
  let rest = value - full
  for (; rest >= 0x80; rest >>>= 7) bytes += String.fromCharCode((rest & 0x7f) | 0x80)
  return bytes + String.fromCharCode(rest)
}
