/** The version of this program. */

import { readFileSync } from 'node:fs'

/** The version in package.json, which lies three folders above this file once built. */
export const version: string = (
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
).version
