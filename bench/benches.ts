/** Every benchmark, in the order of the layers. */

import type { Bench } from './bench.ts'

export const benches: readonly Bench[] = []
