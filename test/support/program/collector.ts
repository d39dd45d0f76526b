/** The garbage collector of V8, for tests of what is held and what is not. */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects at once: everything, or with `minor` only what is young. */
export function collector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
}
