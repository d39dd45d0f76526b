/** The requests to an aggregated server about one of its resources. */

import { objectOf, textOf } from '@watchglass/base'
import { groupVersionText, type Resource } from '@watchglass/kube'
import { ask, type Asked } from '../upstream/ask.ts'
import { UnexpectedAnswer } from '../upstream/failure.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { UpstreamAnswer } from '@watchglass/cache'
import { type ListPage, listPage } from './list-page.ts'
import type { SeenObject } from './locate.ts'

export const metadataOnly = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
export const tableOnly = 'application/json;as=Table;v=v1;g=meta.k8s.io'

type Named = Pick<Resource, 'group' | 'version' | 'resource'>

/** The path of all objects of a resource. */
export function pathOf({ group, version, resource }: Named): string {
  return `${group === '' ? '/api' : '/apis'}/${groupVersionText(group, version)}/${resource}`
}

export function objectPath(
  { group, version, resource }: Named,
  { namespace, name }: Pick<SeenObject, 'namespace' | 'name'>,
): string {
  const root = `${group === '' ? '/api' : '/apis'}/${groupVersionText(group, version)}`
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${root}${scope}/${resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`
}

/** Requests a list; fails if the answer is not a list. */
export async function pageOf(
  upstream: Pick<Upstream, 'call'>,
  asked: Asked,
): Promise<{ page: ListPage; headers: UpstreamAnswer['headers'] }> {
  const { code, headers, body } = await ask(upstream, asked)
  if (code !== 200) {
    throw new UnexpectedAnswer(asked.path, code, hintOf(code))
  }
  return { page: listPage(asked.path, body), headers }
}

function hintOf(code: number): string {
  return code === 401 || code === 403 ? ': our own credentials may not list it' : ''
}

/** The first object of a resource; undefined if the server has none. */
export async function firstObject(
  upstream: Pick<Upstream, 'call'>,
  named: Named,
  signal: AbortSignal,
): Promise<SeenObject | undefined> {
  const { page } = await pageOf(upstream, { path: `${pathOf(named)}?limit=1`, signal })
  const [item] = page.items
  if (item === undefined) return undefined
  const text = Buffer.from(item.bytes.subarray(item.start, item.end)).toString()
  const metadata = objectOf(objectOf(JSON.parse(text))['metadata'])
  return {
    namespace: textOf(metadata['namespace']),
    name: textOf(metadata['name']),
    resourceVersion: textOf(metadata['resourceVersion']),
  }
}
