/** The parts of timestamps and durations: `getFullYear()`, `getHours('Europe/Berlin')`. */

import type { Implementation, Library } from '../declarations.ts'
import { noOverload } from '../values/errors.ts'
import { partsIn, type TimeParts, unitsIn } from '../values/times.ts'
import { Duration, type Int, Timestamp, type Value } from '../values/values.ts'

interface Getter {
  readonly id: string
  readonly part: (parts: TimeParts) => number
  /** That of a duration. */
  readonly whole?: (duration: Duration) => Int
}

const second = 1_000_000_000n

const getters: Readonly<Record<string, Getter>> = {
  getFullYear: { id: 'year', part: ({ year }) => year },
  getMonth: { id: 'month', part: ({ month }) => month - 1 },
  getDayOfYear: { id: 'day_of_year', part: ({ yearDay }) => yearDay },
  getDayOfMonth: { id: 'day_of_month', part: ({ day }) => day - 1 },
  getDate: { id: 'day_of_month_1_based', part: ({ day }) => day },
  getDayOfWeek: { id: 'day_of_week', part: ({ weekday }) => weekday },
  getHours: {
    id: 'hours',
    part: ({ hours }) => hours,
    whole: duration => unitsIn(duration, 3600n * second),
  },
  getMinutes: {
    id: 'minutes',
    part: ({ minutes }) => minutes,
    whole: duration => unitsIn(duration, 60n * second),
  },
  getSeconds: {
    id: 'seconds',
    part: ({ seconds }) => seconds,
    whole: duration => unitsIn(duration, second),
  },
  getMilliseconds: {
    id: 'milliseconds',
    part: ({ milliseconds }) => milliseconds,
    whole: duration => unitsIn(duration, 1_000_000n),
  },
}

function implementation(name: string, { part, whole }: Getter): Implementation {
  return (value: Value, zone: Value = 'UTC') => {
    if (value instanceof Timestamp && typeof zone === 'string') return part(partsIn(value, zone))
    if (value instanceof Duration && whole !== undefined) return whole(value)
    throw noOverload(name)
  }
}

export const moments: Library = {
  signatures: Object.fromEntries(
    Object.entries(getters).map(([name, { id, whole }]) => [
      name,
      [
        `timestamp_to_${id}: timestamp.() int`,
        `timestamp_to_${id}_with_tz: timestamp.(string) int`,
        ...(whole === undefined ? [] : [`duration_to_${id}: duration.() int`]),
      ],
    ]),
  ),
  implementations: Object.fromEntries(
    Object.entries(getters).map(([name, getter]) => [name, implementation(name, getter)]),
  ),
}
