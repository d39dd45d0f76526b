/** Times in JSON as Go's metav1.Time writes them. */

const layout = Buffer.from('0000-00-00T00:00:00Z')
const digit = 0x30
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True if `bytes[start..end)` is a time that decoding and encoding leave as it is: RFC 3339 in UTC, whole seconds, a date that
 *  exists. Years before 1000 are not: the zero time, which is written otherwise, is among them. */
export function isCanonicalTime(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== layout.length || bytes[start] === digit) return false
  for (let i = 0; i < layout.length; i++) {
    const byte = bytes[start + i] as number
    if (layout[i] === digit ? byte < digit || byte > 0x39 : byte !== layout[i]) return false
  }
  const month = twoDigits(bytes, start + 5)
  const day = twoDigits(bytes, start + 8)
  if (twoDigits(bytes, start + 11) > 23 || twoDigits(bytes, start + 14) > 59) return false
  if (twoDigits(bytes, start + 17) > 59 || day < 1) return false
  if (day > (daysOfMonth[month - 1] ?? 0)) return false
  return month !== 2 || day < 29 || isLeapYear(bytes, start)
}

function isLeapYear(bytes: Uint8Array, start: number): boolean {
  const ofCentury = twoDigits(bytes, start + 2)
  return (ofCentury === 0 ? twoDigits(bytes, start) : ofCentury) % 4 === 0
}

function twoDigits(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) - digit) * 10 + (bytes[at + 1] as number) - digit
}
