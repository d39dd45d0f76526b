/** Runs V8's garbage collector, for tests that check what is kept in memory. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects at once: everything, or with `minor` only what is young. */
export function collector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
}
