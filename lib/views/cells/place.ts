/** The place of a row in an order, as a key: places compare as the rows sort.
 *
 *  ```
 *  place   = { column } key
 *  column  = 01 eight bytes of a number | 02 bytes of a text 00 00 | ff
 *  ```
 *
 *  A zero byte of a text is followed by a one, so that the end of a text is below all that may
 *  follow. In a column that is sorted down all bytes are inverted, but for the `ff` of a cell
 *  without a value: those come last in both directions. Behind the columns stands the object's key,
 *  so equal rows have the order of lists. */

import { type Key, keyFromText } from '@watchglass/base'
import type { Cell, ColumnKind } from '@watchglass/codec'
import { isAbsent, numberOfCell } from '../question/typed-value.ts'

/** Texts compare by so many bytes: a place is kept for each row. */
const textMaxBytes = 256

/** The part of a place that is one column's. */
export function columnPlace(kind: ColumnKind, cell: Cell, isDown: boolean): string {
  const number = numberOfCell(kind, cell)
  if (number !== undefined) {
    // The younger of two has the lesser age.
    const bytes = `\u0001${numberBytes(kind === 'time' ? -number : number)}`
    return isDown ? inverted(bytes) : bytes
  }
  if (kind !== 'text' || isAbsent(cell)) return '\u00ff'
  const text = keyFromText(String(cell)).slice(0, textMaxBytes)
  const safe = text.includes('\0') ? text.replaceAll('\0', '\0\u0001') : text
  const bytes = `\u0002${safe}\0\0`
  return isDown ? inverted(bytes) : bytes
}

/** The place of a row whose columns have these parts. */
export function placeOf(columns: string, key: Key): Key {
  return (columns + key) as Key
}

const scratch = new DataView(new ArrayBuffer(8))

/** The bytes of a double, made so that they compare as the numbers do: the sign is inverted, and
 *  all other bits of negative numbers. */
function numberBytes(number: number): string {
  // Both zeros are one number.
  scratch.setFloat64(0, number === 0 ? 0 : number)
  let high = scratch.getInt32(0)
  let low = scratch.getInt32(4)
  if (high < 0) {
    high = ~high
    low = ~low
  } else high ^= 0x8000_0000
  return String.fromCharCode(
    (high >>> 24) & 0xff,
    (high >>> 16) & 0xff,
    (high >>> 8) & 0xff,
    high & 0xff,
    (low >>> 24) & 0xff,
    (low >>> 16) & 0xff,
    (low >>> 8) & 0xff,
    low & 0xff,
  )
}

function inverted(bytes: string): string {
  let out = ''
  for (let i = 0; i < bytes.length; i++) out += String.fromCharCode(0xff - bytes.charCodeAt(i))
  return out
}
