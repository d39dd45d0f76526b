/** Every benchmark, in the order of the layers. */

import type { Bench } from './bench.ts'
import { outputs } from './codec/outputs.ts'

export const benches: readonly Bench[] = [outputs]
