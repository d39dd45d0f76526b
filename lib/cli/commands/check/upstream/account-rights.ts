/** Rights of our account to the resources that are to be mirrored, by access reviews: what an
 *  authorizer other than RBAC allows is known to no rule. */

import type { DiscoveredResource } from './discovered-resources.ts'
import type { UpstreamQuestions } from './upstream-questions.ts'

/** A mirror lists and watches; gets of single objects are compared with the upstream's. */
const neededVerbs = ['get', 'list', 'watch'] as const
export type NeededVerb = (typeof neededVerbs)[number]

export interface AccountRights {
  readonly resource: DiscoveredResource
  readonly missing: readonly NeededVerb[]
}

export async function accountRights(
  questions: UpstreamQuestions,
  resource: DiscoveredResource,
): Promise<AccountRights> {
  const missing: NeededVerb[] = []
  for (const verb of neededVerbs) {
    const { group, resource: plural } = resource
    if (!(await questions.may({ verb, group, resource: plural }))) missing.push(verb)
  }
  return { resource, missing }
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
