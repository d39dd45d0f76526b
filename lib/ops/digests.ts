/** The hash functions of Node, for layers that import nothing of it. */

import { createHash } from 'node:crypto'
import type { Digests } from '../base/digests.ts'

export const digests: Digests = {
  sha256: text => createHash('sha256').update(text).digest(),
  sha512: text => createHash('sha512').update(text).digest(),
}
