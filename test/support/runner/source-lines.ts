/** Imported first by the processes of tests: stacks name lines of the sources, as with
 *  `--enable-source-maps`. That option has Node read the map of each file that it loads, a tenth of
 *  a second in most processes. Here a map is read when a stack names its file. */

import { readFileSync } from 'node:fs'
import module, { SourceMap, type SourceMapPayload, syncBuiltinESMExports } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const maps = new Map<string, SourceMap | undefined>()

/** By the path or the URL of a built file. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(file))
  return maps.get(file)
}

function readMap(file: string): SourceMap | undefined {
  if (!file.endsWith('.js') || file.includes('/node_modules/')) return undefined
  const path = file.startsWith('file:') ? fileURLToPath(file) : file
  let text: string
  try {
    text = readFileSync(`${path}.map`, 'utf8')
  } catch {
    return undefined
  }
  const payload = JSON.parse(text) as SourceMapPayload
  const sources = payload.sources.map(source => new URL(source, pathToFileURL(path)).href)
  return new SourceMap({ ...payload, sources })
}

interface Site extends NodeJS.CallSite {
  toString(): string
}

/** One line of a stack. */
function lineOf(site: Site): string {
  const text = site.toString()
  const file = site.getFileName()
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()]
  if (file === null || line === null || column === null) return text
  const entry = mapOf(file)?.findEntry(line - 1, column - 1)
  if (entry === undefined || !('originalSource' in entry)) return text
  const { originalSource, originalLine, originalColumn } = entry
  const source = `${fileURLToPath(originalSource)}:${originalLine + 1}:${originalColumn + 1}`
  return text.replace(`${file}:${line}:${column}`, source)
}

Error.prepareStackTrace = (error, sites) =>
  [String(error), ...sites.map(site => `    at ${lineOf(site)}`)].join('\n')
// Tap asks this of the places that it shows.
module.findSourceMap = (file: string) => mapOf(file)
syncBuiltinESMExports()
