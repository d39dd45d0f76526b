/** The messages whose JSON form is not an object of their fields: quantities, numbers that may be
 *  texts, and raw JSON. Each is read from its own message's window (FORMAT.md, section 2). */

import { writeText } from './json-text.ts'
import { isNonZero64, readLength, readLow, readSafe, skipVarint, writeSafe } from './numbers.ts'
import { canonicalQuantity, isPlainQuantity } from '@watchglass/go'
import { writeRawJson } from './raw-json.ts'
import { giveUp } from '@watchglass/base'
import { type DecodeState } from './state.ts'

/** Writes a quantity with its quotes, in canonical form. */
export function writeQuantity(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const from = onlyText(out, start, end, 'quantity')
  const to = out.at
  out.bytes[position] = 0x22
  let next = position + 1
  if (from < 0) {
    out.bytes[next++] = 0x30
  } else if (isPlainQuantity(out.input, from, to)) {
    for (let i = from; i < to; i++) out.bytes[next++] = out.input[i] as number
  } else {
    next = writeOddQuantity(out, from, to, next)
  }
  out.bytes[next] = 0x22
  return next + 1
}

/** Writes an IntOrString: a number, or a text with its quotes. */
export function writeIntOrString(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const { input } = out
  let type = 0
  let number = 0
  let from = 0
  let to = 0
  let at = start
  while (at < end) {
    const tag = input[at++] as number
    if (tag === 0x1a) {
      const length = readLength(out, at, end)
      from = out.at
      to = at = from + length
    } else if (tag === 0x08 || tag === 0x10) {
      const value = at
      at = skipVarint(out, at, end)
      if (tag === 0x10) number = readLow(out, value)
      else type = isNonZero64(out, value) ? readSafe(out, value) : 0
    } else {
      giveUp('intorstring has a field that we do not know')
    }
  }
  if (type === 0) return writeSafe(out, number, position)
  if (type !== 1) giveUp('intorstring is neither a number nor a text')
  out.bytes[position] = 0x22
  const next = writeText(out, from, to, position + 1)
  out.bytes[next] = 0x22
  return next + 1
}

/** Writes raw JSON, of which none at all is `null`: managed fields, and values in schemas. */
export function writeJson(out: DecodeState, start: number, end: number, position: number): number {
  const from = onlyText(out, start, end, 'raw JSON')
  if (from < 0 || from === out.at) return writeNull(out, position)
  return writeRawJson(out, from, out.at, position)
}

/** Writes a RawExtension: absent is `null`, but empty is no JSON. */
export function writeRawExtension(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const from = onlyText(out, start, end, 'raw extension')
  if (from < 0) return writeNull(out, position)
  return writeRawJson(out, from, out.at, position)
}

/** The beginning of such a message's one field, -1 if it is absent; it ends at `out.at`. The last
 *  occurrence counts. */
function onlyText(out: DecodeState, start: number, end: number, what: string): number {
  const { input } = out
  let from = -1
  let to = start
  let at = start
  while (at < end) {
    if (input[at++] !== 0x0a) giveUp(`${what} has a field that we do not know`)
    const length = readLength(out, at, end)
    from = out.at
    to = at = from + length
  }
  out.at = to
  return from
}

/** Rarely longer than what it is read from, and never six times. */
function writeOddQuantity(out: DecodeState, start: number, end: number, position: number): number {
  let text = ''
  if (end - start > 100) giveUp('a quantity is too long')
  for (let i = start; i < end; i++) text += String.fromCharCode(out.input[i] as number)
  const canonical = canonicalQuantity(text) ?? giveUp('a quantity is not one that we can read')
  for (let i = 0; i < canonical.length; i++) out.bytes[position + i] = canonical.charCodeAt(i)
  return position + canonical.length
}

function writeNull(out: DecodeState, position: number): number {
  out.view.setInt32(position, 0x6c6c756e, true)
  return position + 4
}
