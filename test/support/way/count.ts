/** Imported into the program whose way is counted: on request it says which functions of lib/ have
 *  run since it was asked the last time. V8 counts them (the profiler's precise coverage), so the
 *  program itself knows nothing of it. */

import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'

/** Functions that have run, as `lib/cache/http/handler/handler.js answer 4711`: file, name,
 *  place. */
export type Ran = readonly string[]

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const dist = fileURLToPath(new URL('../../../', import.meta.url))

process.on('message', message => {
  if (message === 'ran') void take().then(ran => process.send?.(ran))
})
process.on('disconnect', () => process.exit(0))
process.channel?.unref()

async function take(): Promise<Ran> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ours = result.filter(({ url }) => url.startsWith(`file://${dist}lib/`))
  return ours.flatMap(({ url, functions }) =>
    functions
      .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName, ranges }) =>
        [url.slice(`file://${dist}`.length), functionName, ranges[0]?.startOffset].join(' '),
      ),
  )
}
