/** Durations as kubectl writes them. This file imports nothing: scripts that run in browsers are
 *  built with it, too. */

/** Go's durations end here: 292 years. */
const maxSeconds = 9_223_372_036

/** A duration in milliseconds, roughly: `18s`, `5m18s`, `3h1m`, `45d`, `2y10d`. */
export function roughDuration(milliseconds: number): string {
  const seconds = Math.trunc(Math.max(-maxSeconds, Math.min(maxSeconds, milliseconds / 1000)))
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? twoUnits(years, 'y', days % 365, 'd') : `${years}y`
}

function twoUnits(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}
