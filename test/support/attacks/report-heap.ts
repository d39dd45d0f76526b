/** Loaded into the program before it begins (`node --import`): reports its memory use to the test
 *  that started it, and throws errors on request. */

import { collector } from '../program/collector.ts'

const collect = collector()

function throwUp(): never {
  throw new Error('nobody catches this')
}

process.on('message', message => {
  if (message === 'throw') setImmediate(throwUp)
  if (message === 'reject') void Promise.reject(new Error('nobody waits for this'))
  if (message !== 'memory') return
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  process.send?.(heapUsed + external)
})
// The channel alone keeps no process alive that wants to end.
process.channel?.unref()
