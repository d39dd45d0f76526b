/** Whether a figure that is sampled over time grows: a line through its samples, and how far they
 *  lie from it. */

export interface Sample {
  readonly atMs: number
  readonly value: number
}

export interface Trend {
  readonly mean: number
  readonly perHour: number
  /** Rise of the line between the first and the last sample. */
  readonly growth: number
  /** Rise of the line that is no growth: two standard deviations of the samples around it; of a
   *  sawtooth the height. */
  readonly noise: number
  readonly isFlat: boolean
}

/** Growth below this share of the mean is none: the history of changes has more or fewer bytes as
 *  it happens, and V8's code, holes among what is small, and rings that are written for the first
 *  time come to rest slowly. It is less than what samples scattered by before allocators were made
 *  to give back what is free. */
const tolerated = 0.05

const samplesMin = 3

/** Undefined if there are too few samples. */
export function trendOf(samples: readonly Sample[]): Trend | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || samples.length < samplesMin) return undefined
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const times = samples.map(({ atMs }) => atMs - first.atMs)
  const [meanTime, mean] = [meanOf(times), meanOf(samples.map(({ value }) => value))]
  const spread = times.reduce((sum, time) => sum + (time - meanTime) ** 2, 0)
  const slope =
    samples.reduce((sum, { value }, i) => sum + (times[i]! - meanTime) * (value - mean), 0) / spread
  const offsets = samples.map(({ value }, i) => value - mean - slope * (times[i]! - meanTime))
  const noise = 2 * Math.sqrt(meanOf(offsets.map(offset => offset ** 2)))
  const growth = slope * (last.atMs - first.atMs)
  const isFlat = growth <= Math.max(noise, tolerated * mean)
  return { mean, perHour: slope * 3_600_000, growth, noise, isFlat }
}

/** The trend of a figure that goes up until garbage is collected: a line through two of its teeth
 *  grows by half of their height, and less than that lies between it and the samples. So only what
 *  grows by more than the figure falls at once is growth. */
export function sawtoothTrendOf(samples: readonly Sample[]): Trend | undefined {
  const trend = trendOf(samples)
  if (trend === undefined) return undefined
  let highest = -Infinity
  let fall = 0
  for (const { value } of samples) {
    highest = Math.max(highest, value)
    fall = Math.max(fall, highest - value)
  }
  const noise = Math.max(trend.noise, fall)
  return { ...trend, noise, isFlat: trend.isFlat || trend.growth <= noise }
}
