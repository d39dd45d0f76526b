/** The scripts of the page. They are written in browser/, and the build joins the files of each to
 *  one script (scripts.json beside this module). */

import { readDataFile } from '@watchglass/base'
import type { Shows } from './objects.ts'

interface Scripts {
  readonly figures: string
  readonly objects: string
}

/** The script of a page: one element, whose hash the page's policy names. */
export function scriptOf(shows: Shows): string {
  const { figures, objects } = readDataFile(import.meta.url, './scripts.json') as Scripts
  return [shows === 'objects' ? '' : figures, shows === 'figures' ? '' : objects].join('')
}
