/** Figures for people. */

export type Format = (value: number) => string

/** 12,345 */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** 0.3, 12, 1,234: as exact as is useful. */
export function rate(value: number): string {
  return value > 0 && value < 10 ? value.toFixed(1) : count(value)
}

/** 1.5 MiB */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [rest, unit] = [value, 0]
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024
    unit++
  }
  const digits = unit === 0 || rest >= 100 ? 0 : 1
  return `${rest.toFixed(digits)} ${units[unit]}`
}

/** 85 µs, 1.2 ms, 3.0 s, 5 min, 2 h, 3 d */
export function seconds(value: number): string {
  if (value < 0) return `-${seconds(-value)}`
  if (value === 0) return '0 s'
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`
  if (value < 1) return `${fine(value * 1000)} ms`
  if (value < 120) return `${fine(value)} s`
  if (value < 7200) return `${Math.round(value / 60)} min`
  if (value < 172_800) return `${Math.round(value / 3600)} h`
  return `${Math.round(value / 86_400)} d`
}

/** 97.5 % */
export function share(value: number): string {
  const percent = value * 100
  return `${percent === 0 || percent >= 99.95 ? Math.round(percent) : percent.toFixed(1)} %`
}

function fine(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value))
}
