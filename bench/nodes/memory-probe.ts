/** Imported into the measured program: says what memory it has when its parent asks. */

import '../list/with-parent.ts'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryOrder, type MemoryReport } from './orders.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

process.on('message', (order: unknown) => {
  if (order !== memoryOrder) return
  // What the first has freed outside of the heap may hold more.
  for (let i = 0; i < 3; i++) collect()
  const { heapUsed, external, rss } = process.memoryUsage()
  const report: MemoryReport = { heapBytes: heapUsed, externalBytes: external, rssBytes: rss }
  process.send?.(report)
})
// The listener must not keep the program alive.
process.channel?.unref()
