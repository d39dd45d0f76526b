/** Imported into the program: says which of our modules it has loaded, when it is asked. */

import { Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const root = `file://${fileURLToPath(new URL('../../../', import.meta.url))}`

/** The answer of the program: files below dist/, such as `lib/cli.js`. */
export interface LoadedModules {
  readonly loaded: readonly string[]
}

if (isMainThread) {
  process.on('message', () => process.send?.({ loaded: loaded() } satisfies LoadedModules))
  process.channel?.unref()
}

/** V8 names each script that it has parsed to a debugger that comes late, too. */
function loaded(): string[] {
  const urls = new Set<string>()
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params: { url } }) => urls.add(url))
  session.post('Debugger.enable')
  session.disconnect()
  return [...urls].filter(url => url.startsWith(root)).map(url => url.slice(root.length))
}
