/** Compares two texts without their ages. Rows of a Table show ages, and the two sides read their
 *  clocks at different moments. */

/** `3d4h`, `59m`, `10s`: what a duration of the API looks like. */
const duration = /\b(?:\d{1,20}[ydhms])+\b/g

const secondsOf: Readonly<Record<string, number>> = {
  y: 31_536_000,
  d: 86_400,
  h: 3_600,
  m: 60,
  s: 1,
}

/** True if the texts are equal, or differ only in durations that are at most `toleranceSeconds`
 *  apart, give or take what the smaller of their units leaves out. */
export function areEqualButForAges(a: string, b: string, toleranceSeconds: number): boolean {
  if (a === b) return true
  if (a.replace(duration, '') !== b.replace(duration, '')) return false
  const [ours, theirs] = [a, b].map(text => text.match(duration) ?? [])
  if (ours === undefined || ours.length !== theirs?.length) return false
  return ours.every((age, i) => areClose(age, theirs[i] ?? '', toleranceSeconds))
}

function areClose(a: string, b: string, toleranceSeconds: number): boolean {
  const [first, second] = [parsed(a), parsed(b)]
  const unit = Math.max(first.unit, second.unit)
  const leftOut = unit === 1 ? 0 : unit
  return Math.abs(first.seconds - second.seconds) <= toleranceSeconds + leftOut
}

function parsed(age: string): { readonly seconds: number; readonly unit: number } {
  let seconds = 0
  let unit = 1
  for (const [, count, name = 's'] of age.matchAll(/(\d{1,20})([ydhms])/g)) {
    unit = secondsOf[name] ?? 1
    seconds += Number(count) * unit
  }
  return { seconds, unit }
}
