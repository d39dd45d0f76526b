/** Imported into the program: says which of our modules it has loaded, when it is asked. */

import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const root = `file://${fileURLToPath(new URL('../../../', import.meta.url))}`

/** The answer of the program: modules below dist/, such as `lib/cli/cli.js`. */
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
  return [...urls].filter(url => url.startsWith(root)).flatMap(url => modulesOf(new URL(url)))
}

/** The modules in a file of the program (deploy/bundle.mjs), by its map. */
function modulesOf(file: URL): string[] {
  const map = new URL(`${file.href}.map`)
  const isBundle = file.pathname.includes('/dist/program/')
  const sources = isBundle
    ? (JSON.parse(readFileSync(map, 'utf8')) as { sources: string[] }).sources
    : [file.href]
  return sources.map(source =>
    fileURLToPath(new URL(source, map))
      .replace(/^.*?\/(?=lib\/|test\/)/, '')
      .replace(/\.ts$/, '.js'),
  )
}
