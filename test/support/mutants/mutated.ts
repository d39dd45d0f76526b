/** Loaded before a test (`node --import`): one module is another one than on the disk. MUTANT is
 *  `{"url", "start", "end", "replacement"}`. */

import { register } from 'node:module'

const hooks = `
let mutant
export const initialize = data => { mutant = data }
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (url !== mutant.url) return loaded
  const source = Buffer.from(loaded.source).toString()
  const { start, end, replacement } = mutant
  return { ...loaded, source: source.slice(0, start) + replacement + source.slice(end) }
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  data: JSON.parse(process.env['MUTANT'] ?? '{}') as object,
})
