/** Writes JSON as Go does from maps, in the simplest way: an oracle for codecs that go from bytes
 *  to bytes. */

/** The text of a value as JSON.parse gives it. */
export function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map(([key, member]) => `${goString(key)}:${goJson(member)}`)
    return `{${members.join(',')}}`
  }
  if (typeof value === 'string') return goString(value)
  return Object.is(value, -0) ? '-0' : String(value)
}

function goString(text: string): string {
  return JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
