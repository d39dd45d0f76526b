/** Rights of our account to the resources that are to be mirrored, by access reviews: what an
 *  authorizer other than RBAC allows is known to no rule. */

import { type DiscoveredResource, scopesOf } from './discovered-resources.ts'
import type { UpstreamQuestions } from './upstream-questions.ts'

/** A mirror lists and watches; gets of single objects are compared with the upstream's. */
const neededVerbs = ['get', 'list', 'watch'] as const
export type NeededVerb = (typeof neededVerbs)[number]

export interface AccountRights {
  readonly resource: DiscoveredResource
  readonly missing: readonly NeededVerb[]
}

/** The verbs that are missing in one of the namespaces, or in the cluster. */
export async function accountRights(
  questions: UpstreamQuestions,
  resource: DiscoveredResource,
  namespaces: readonly string[],
): Promise<AccountRights> {
  const missing = new Set<NeededVerb>()
  for (const namespace of scopesOf(resource, namespaces)) {
    for (const verb of neededVerbs) {
      const { group, resource: plural } = resource
      if (missing.has(verb)) continue
      if (!(await questions.may({ verb, group, resource: plural, namespace }))) missing.add(verb)
    }
  }
  return { resource, missing: [...missing] }
}

/** True if the resource can be mirrored. */
export function isReadable({ missing }: AccountRights): boolean {
  return !missing.includes('list') && !missing.includes('watch')
}

/** The rules of a role that gives what is missing, as YAML in one line each. */
export function missingRules(rights: readonly AccountRights[]): string[] {
  const groups = new Map<string, string[]>()
  for (const { resource, missing } of rights) {
    if (missing.length === 0) continue
    const { group, resource: plural } = resource
    groups.set(group, [...(groups.get(group) ?? []), plural])
  }
  return [...groups].map(
    ([group, resources]) =>
      `{apiGroups: ['${group}'], resources: [${resources.join(', ')}], verbs: [${neededVerbs.join(', ')}]}`,
  )
}
