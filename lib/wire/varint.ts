/** Varints: seven bits a byte, the lowest first. All of ours are written here; up to 2^53 - 1,
 *  which is what lengths, tags and revisions need.
 *
 *  They are also read by `WireReader`, and by code that is compiled for a type, each in a loop of
 *  its own: a call that has to answer two numbers, the value and where it ends, costs there more
 *  than the varint. */

/** The number of bytes that `value` takes. */
export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}

/** Writes `value` at `start`, where there must be room for it, and returns the position after
 *  it. */
export function writeVarint(bytes: Uint8Array, start: number, value: number): number {
  let at = start
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes[at++] = (rest % 0x80) | 0x80
  bytes[at++] = rest
  return at
}

/** The bytes of a number with all its 64 bits, signed or not. */
export function bigVarint(value: bigint): number[] {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return bytes
}

/** The low 32 bits of the varint in `bytes[start..end)`, as Go reads an int32. */
export function lowBits(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  const last = Math.min(end, start + 5)
  for (let at = start, shift = 0; at < last; at++, shift += 7) {
    const byte = bytes[at] as number
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return value
}

/** The varint in `bytes[start..end)` as Go reads an int64; undefined if it does not end there, or
 *  after ten bytes. */
export function int64FromVarint(bytes: Uint8Array, start: number, end: number): bigint | undefined {
  let value = 0n
  const last = Math.min(end, start + 10)
  for (let at = start, shift = 0n; at < last; at++, shift += 7n) {
    const byte = bytes[at] as number
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asIntN(64, value)
  }
  return undefined
}

/** The position after the varint at `start`; -1 if it does not end before `end`, or after ten
 *  bytes. */
export function varintEnd(bytes: Uint8Array, start: number, end: number): number {
  const last = Math.min(end, start + 10)
  for (let at = start; at < last; at++) if ((bytes[at] as number) < 0x80) return at + 1
  return -1
}
