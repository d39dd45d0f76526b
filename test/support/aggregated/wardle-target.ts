/** The subject of a request to the sample server. */

import { revision, type Revision } from '../../../lib/base/revision.ts'
import { group } from './wardle-objects.ts'

export interface Target {
  readonly method: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly limit: number
  readonly includeObject: string
  readonly exactRevision: Revision | undefined
  /** resourceVersion=0 */
  readonly isAnyState: boolean
  readonly selectedName: string | undefined
  readonly isWatch: boolean
  /** A watch that begins with what there is. */
  readonly hasState: boolean
  readonly hasBookmarks: boolean
  readonly timeoutSeconds: number
}

const kinds: Readonly<Record<string, string>> = { flunders: 'Flunder', fischers: 'Fischer' }

/** Undefined if it is about no resource. */
export function targetOf(method: string, url: string): Target | undefined {
  const { pathname, searchParams: query } = new URL(url, 'http://server')
  const match =
    /^\/apis\/([^/]+)\/(v1\w+)(?:\/namespaces\/([^/]+))?\/(flunders|fischers)(?:\/([^/]+))?$/.exec(
      pathname,
    )
  const [, asked, version = '', namespace = '', resource = '', name = ''] = match ?? []
  if (asked !== group) return undefined
  const resourceVersion = query.get('resourceVersion') ?? ''
  return {
    method,
    version,
    resource,
    kind: kinds[resource] ?? '',
    namespace: decodeURIComponent(namespace),
    name: decodeURIComponent(name),
    limit: Number(query.get('limit') ?? '0'),
    includeObject: query.get('includeObject') ?? 'Metadata',
    exactRevision:
      query.get('resourceVersionMatch') === 'Exact' ? revision(Number(resourceVersion)) : undefined,
    isAnyState: resourceVersion === '0',
    selectedName: /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1],
    isWatch: query.get('watch') === 'true',
    hasState: resourceVersion === '' || resourceVersion === '0',
    hasBookmarks: query.get('sendInitialEvents') === 'true',
    timeoutSeconds: Number(query.get('timeoutSeconds') ?? '60'),
  }
}
