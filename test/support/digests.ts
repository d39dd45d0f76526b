import { createHash } from 'node:crypto'
import type { Digests } from '../../lib/kube/documents/discovery.ts'

/** The hashes that the pure core is handed. */
export const digests: Digests = {
  sha256: text => createHash('sha256').update(text).digest(),
  sha512: text => createHash('sha512').update(text).digest(),
}
