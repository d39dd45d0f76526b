/** A part of a recording: what it is called, and what it asks. Parts are asked in the order of
 *  parts.ts; `--parts` chooses some. */

import type { Recorder } from '../recorder.ts'

export interface Part {
  readonly name: string
  /** For --help and the README. */
  readonly what: string
  readonly ask: (recorder: Recorder) => Promise<void>
}

/** The collection that most questions about rules are asked of: seven ConfigMaps, changed in
 *  known steps. */
export const matrix = '/api/v1/namespaces/matrix/configmaps'
export const widgets = '/apis/example.com/v1/namespaces/shop/widgets'
export const events = '/api/v1/namespaces/shop/events'

/** Each of `paths` as it is, in one area. */
export async function askAll(
  recorder: Recorder,
  area: string,
  paths: readonly string[],
  more: Omit<Parameters<Recorder['ask']>[0], 'area' | 'path'> = {},
): Promise<void> {
  for (const path of paths) await recorder.ask({ ...more, area, path })
}

/** A path with the parameters that have a value. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value?.replace(/[^\w{}.-]/g, encodeURIComponent)}`)
  return query.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query.join('&')}`
}
