/** Pages for tests, read at once. */

import type { NotExact } from '../../../lib/codec/not-exact.ts'
import { type Page, type PageOptions, PageWalk } from '../../../lib/kube/list.ts'

export function readPage(options: PageOptions): Page | NotExact {
  const walk = new PageWalk(options)
  while (!walk.advance(Infinity));
  return walk.page
}
