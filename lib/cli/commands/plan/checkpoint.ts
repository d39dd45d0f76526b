/** The checkpoint that the command line names. */

import { totalmem } from 'node:os'
import { type Checkpoint, systemClock } from '@watchglass/cache'
import { checkpointOption } from '../../options/mirrored.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { memoryOption } from '../../options/process.ts'
import { checkRules, valueOf } from '../../options/rules.ts'
import { CheckpointFile } from '../recordings/checkpoint-file.ts'

/** Undefined if there is none. */
export function checkpointOf(values: OptionValues): Checkpoint | undefined {
  checkRules(values, [checkpointOption])
  const place = valueOf(values, checkpointOption)
  if (place === undefined) return undefined
  // Contents that would not fit are those of a file that means harm, or of another etcd.
  const maxBytes = valueOf(values, memoryOption) ?? memoryOfProcess()
  return new CheckpointFile({ place, clock: systemClock, maxBytes })
}

/** The memory that the process may have: of its container, or of the machine. */
function memoryOfProcess(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
