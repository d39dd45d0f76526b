/** Pages for tests, read at once. */

import { atOnce } from '../../../lib/base/slice.ts'
import type { NotExact } from '../../../lib/base/not-exact.ts'
import { type Page, type PageOptions, selectedPage, wholePage } from '../../../lib/kube/list.ts'

export function readPage(options: PageOptions): Page | NotExact {
  return wholePage(options) ?? atOnce(selectedPage(options, Infinity))
}
