/** Times in recordings of kwokctl: nanoseconds since the recording began, in texts such as
 *  `$(time-offset-nanosecond -1500000000)`. */

/** The moment at which a recording began. */
export interface Offsets {
  /** Nanoseconds since 1970. */
  readonly startNanos: bigint
  readonly startMs: number
}

const offset = /\$\(time-offset-nanosecond (-?\d{1,19})\)/g
const moment = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g
const created = /^\s*creationTimestamp: \S?\$\(time-offset-nanosecond (-?\d{1,19})\)/
const duration = /^durationNanosecond: (\d{1,17})$/

const second = 1_000_000_000n

/** The start of a recording that ends now. Objects were created at whole seconds, which tells the
 *  fraction of the second at which it began. */
export async function offsetsIn(lines: AsyncIterable<string>, nowMs: number): Promise<Offsets> {
  let last = 0n
  let fraction: bigint | undefined
  for await (const line of lines) {
    const nanos = BigInt(duration.exec(line)?.[1] ?? 0)
    if (nanos > last) last = nanos
    const [, own] = fraction === undefined ? (created.exec(line) ?? []) : []
    if (own !== undefined) fraction = -BigInt(own) - wholeOf(-BigInt(own))
  }
  const start = BigInt(Math.floor(nowMs)) * 1_000_000n - last
  const startNanos = fraction === undefined ? start : wholeOf(start) - second + fraction
  return { startNanos, startMs: Number(startNanos / 1_000_000n) }
}

/** The text with times in place of offsets. */
export function withTimes(text: string, { startNanos }: Offsets): string {
  return text.replace(offset, (_, nanos: string) => momentText(startNanos + BigInt(nanos)))
}

/** The text with offsets in place of times. */
export function withOffsets(text: string, { startNanos }: Offsets): string {
  return text.replace(moment, time => {
    const nanos = nanosOf(time)
    return nanos === undefined ? time : `$(time-offset-nanosecond ${String(nanos - startNanos)})`
  })
}

/** Whole seconds where they are, or else with millionths, as Kubernetes writes both. */
export function momentText(nanos: bigint): string {
  const whole = wholeOf(nanos)
  const rest = nanos - whole
  const text = new Date(Number(whole / 1_000_000n)).toISOString().slice(0, 19)
  return rest === 0n ? `${text}Z` : `${text}.${String(rest / 1000n).padStart(6, '0')}Z`
}

/** The last whole second before it, in nanoseconds. */
function wholeOf(nanos: bigint): bigint {
  const rest = nanos % second
  return rest < 0n ? nanos - rest - second : nanos - rest
}

function nanosOf(time: string): bigint | undefined {
  const [, fraction = ''] = /\.(\d+)/.exec(time) ?? []
  const ms = Date.parse(time.replace(/\.\d+/, ''))
  if (Number.isNaN(ms)) return undefined
  return BigInt(ms) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
}
