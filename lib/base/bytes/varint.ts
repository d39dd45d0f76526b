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

/** The first seven bytes of a varint are 49 bits, which a number holds: to step through a bigint
 *  makes several for each byte. */
const lowBytes = 7
const lowSize = 49

/** The bytes of a number with all its 64 bits, signed or not. */
export function bigVarint(value: bigint): number[] {
  const bits = BigInt.asUintN(64, value)
  const high = Number(bits >> BigInt(lowSize))
  const bytes: number[] = []
  let rest = Number(BigInt.asUintN(lowSize, bits))
  for (let more = high > 0; more || rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    bytes.push((rest % 0x80) | 0x80)
    if (more && bytes.length === lowBytes) {
      more = false
      rest = high * 0x80
    }
  }
  bytes.push(rest)
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
  let low = 0
  let high = 0
  const last = Math.min(end, start + 10)
  for (let at = start, scale = 1; at < last; at++, scale *= 0x80) {
    if (at === start + lowBytes) scale = 1
    const byte = bytes[at] as number
    if (at < start + lowBytes) low += (byte & 0x7f) * scale
    else high += (byte & 0x7f) * scale
    if (byte >= 0x80) continue
    return BigInt.asIntN(64, BigInt(low) | (BigInt(high) << BigInt(lowSize)))
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
