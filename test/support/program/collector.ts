/** Runs V8's garbage collector, for tests that check what is kept in memory. */

import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects at once: everything, or with `minor` only what is young. */
export function collector(): (options?: { readonly type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void
}

/** Whether nothing holds it any more, after a moment at most. */
export async function isCollected(one: WeakRef<object>): Promise<boolean> {
  const collect = collector()
  for (let tries = 0; tries < 100; tries++) {
    // What a turn of the event loop has looked at is held until its end.
    await pause(5)
    collect()
    if (one.deref() === undefined) return true
  }
  return false
}
