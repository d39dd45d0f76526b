/** The version of this program. */

import { readDataFile } from './data-file.ts'

/** The version in package.json, which lies three folders above this file once built. */
export const version: string = (
  readDataFile(import.meta.url, '../../../package.json') as { version: string }
).version
