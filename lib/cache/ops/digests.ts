/** Node's hash functions, for layers that must not import from Node. */

import { createHash } from 'node:crypto'
import type { Digests } from '@watchglass/base'

export const digests: Digests = {
  sha256: text => createHash('sha256').update(text).digest(),
  sha512: text => createHash('sha512').update(text).digest(),
  sha512InParts() {
    const hash = createHash('sha512')
    return { add: part => void hash.update(part), end: () => hash.digest() }
  },
}
