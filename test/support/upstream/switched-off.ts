/** Makes the test upstream serve only some of its APIs. */

import type { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import { ask } from '../http/served.ts'
import type { DirectAnswer, SeenRequest } from './answers.ts'

/** Whether a path lies in a group version that is not served. */
export function isSwitchedOff(url: string, switchedOff: ReadonlySet<string>): boolean {
  const [, root, first = '', second = ''] = url.split(/[/?]/)
  return switchedOff.has(root === 'api' ? first : `${first}/${second}`)
}

interface Group {
  readonly name?: string
  readonly metadata?: { readonly name?: string }
  versions: { readonly groupVersion?: string; readonly version: string }[]
}

/** Discovery without what is not served. */
export async function filteredDiscovery(
  service: KubeService,
  { url, headers }: SeenRequest,
  switchedOff: ReadonlySet<string>,
): Promise<DirectAnswer> {
  const accept = String(headers.accept ?? 'application/json')
  const answer = await ask(service.port, { path: url, headers: { accept } })
  const type = String(answer.headers['content-type'])
  if (answer.status !== 200 || !type.includes('json')) {
    return { code: answer.status, headers: { 'content-type': type }, body: answer.body }
  }
  const document = JSON.parse(answer.body.toString()) as { items?: Group[]; groups?: Group[] }
  for (const groups of [document.items ?? [], document.groups ?? []]) {
    for (const group of groups) {
      const name = group.metadata === undefined ? (group.name ?? '') : (group.metadata.name ?? '')
      group.versions = group.versions.filter(
        ({ version }) => !switchedOff.has(name === '' ? version : `${name}/${version}`),
      )
    }
  }
  return { code: 200, headers: { 'content-type': type }, body: JSON.stringify(document) }
}
