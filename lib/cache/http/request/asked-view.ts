/** Requests below `/views/`: pages, counts and live pages of a list, which package views answers. A
 *  view is known by the list that it reads, so that whatever holds for the list holds for the view:
 *  who may read it, who answers it, limits, metrics, the audit log. Below a path of their own no
 *  parameter of Kubernetes means something new. */

import { latin1Copy } from '@watchglass/base'
import { parseTarget, type Query } from '@watchglass/kube'

export interface AskedView {
  /** Path and query as they were sent. */
  readonly raw: string
  readonly path: string
  /** True for a live page, whose caller has to be allowed to list and to watch. */
  readonly isLive: boolean
  /** The parameters of the view. */
  readonly query: Query
  /** The request line of the list that is read; of the watch, for a live page. */
  readonly line: string
}

/** The path at which the OpenAPI document of views is. */
export const viewsDocumentPath = '/views/openapi/v3'

const belowViews = /^(?:https?:\/\/[^/?]*)?\/views\//

/** Undefined for any other request, and where `parseTarget` is. */
export function askedView(target: string): AskedView | undefined {
  if (!belowViews.test(target)) return undefined
  // Questions are kept.
  const parsed = parseTarget(latin1Copy(target) ?? target)
  if (parsed === undefined) return undefined
  const { raw, query } = parsed
  const mark = raw.indexOf('?')
  const below = raw.slice('/views'.length, mark < 0 ? undefined : mark)
  const read = readParameters(query).toString()
  const line = read === '' ? below : `${below}?${read}`
  return { raw, path: parsed.path, isLive: query.flag('watch'), query, line }
}

/** The parameters by which the list is authorized: selectors narrow what a caller has to be
 *  allowed. */
function readParameters(query: Query): URLSearchParams {
  const read = new URLSearchParams()
  for (const name of ['labelSelector', 'fieldSelector']) {
    const text = query.text(name)
    if (text !== '') read.set(name, text)
  }
  if (query.flag('watch')) read.set('watch', '1')
  return read
}
