import { sleep } from '../../../lib/base/clock.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

/** A pause between two looks at what a test waits for. Without one, waiting would take a whole
 *  processor, which the service that is waited for and other tests need. */
export function moment(): Promise<void> {
  return sleep(systemClock, 3)
}
