/** Times in JSON as Go's metav1.Time writes them. */

const length = '2006-01-02T15:04:05Z'.length
const dash = 0x2d
const colon = 0x3a
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True if `bytes[start..end)` is a time that decoding and encoding leave as it is: RFC 3339 in UTC, whole seconds, a date that
 *  exists. Years before 1000 are not: the zero time, which is written otherwise, is among them. */
export function isCanonicalTime(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== length) return false
  if (bytes[start + 4] !== dash || bytes[start + 7] !== dash || bytes[start + 10] !== 0x54) {
    return false
  }
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon || bytes[end - 1] !== 0x5a) {
    return false
  }
  const century = twoDigits(bytes, start)
  const year = twoDigits(bytes, start + 2)
  const month = twoDigits(bytes, start + 5)
  const day = twoDigits(bytes, start + 8)
  if (century < 10 || year < 0 || day < 1 || day > (daysOfMonth[month - 1] ?? 0)) return false
  const hour = twoDigits(bytes, start + 11)
  const minute = twoDigits(bytes, start + 14)
  const second = twoDigits(bytes, start + 17)
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false
  return month !== 2 || day < 29 || (year === 0 ? century : year) % 4 === 0
}

/** Negative if one of them is no digit. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - 0x30
  const ones = (bytes[at + 1] as number) - 0x30
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}
