/** Nobody may grant what they do not hold: which rules of a role others do not cover, and how a
 *  refusal lists them (component-helpers/auth/rbac/validation). */

import { goQuote } from '@watchglass/go'
import type { Identity } from '@watchglass/kube'
import { hasOrAll, pathMatches, type PolicyRule } from './policy.ts'
import type { HeldRules } from './rbac.ts'

/** Why a user may not grant these rules; undefined if they may. */
export function escalation(
  { user, groups }: Identity,
  held: HeldRules,
  granted: readonly PolicyRule[],
): string | undefined {
  if (countOf(granted) > singlesMax) {
    return `user ${goQuote(user)} is attempting to grant more than ${singlesMax} single permissions`
  }
  const uncovered = [...single(granted)].filter(rule => !held.rules.some(own => covers(own, rule)))
  if (uncovered.length === 0) return undefined
  const texts = [...new Set(compacted(uncovered).map(compactText))].sort()
  const resolution =
    held.problems.length === 0 ? '' : `; resolution errors: [${held.problems.join(' ')}]`
  return `user ${goQuote(user)} (groups=${listText(groups)}) is attempting to grant RBAC permissions not currently held:\n${texts.join('\n')}${resolution}`
}

const nothing: PolicyRule = {
  verbs: [],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
}

/** Rules that allow everything. */
export const allRules: readonly PolicyRule[] = [
  { ...nothing, verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { ...nothing, verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Rules with one group, one resource, one verb and at most one name each. */
function* single(rules: readonly PolicyRule[]): Iterable<PolicyRule> {
  for (const { apiGroups, resources, verbs, resourceNames, nonResourceURLs } of rules) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        for (const verb of verbs) {
          const one = { ...nothing, apiGroups: [group], resources: [resource], verbs: [verb] }
          if (resourceNames.length === 0) yield one
          for (const name of resourceNames) yield { ...one, resourceNames: [name] }
        }
      }
    }
    for (const path of nonResourceURLs) {
      for (const verb of verbs) yield { ...nothing, nonResourceURLs: [path], verbs: [verb] }
    }
  }
}

/** A role of a few thousand names can stand for as many permissions as their product. The largest
 *  role of a real cluster (system:kube-controller-manager's) has some hundreds. */
const singlesMax = 10_000

/** The number of rules that `single` makes of these. */
function countOf(rules: readonly PolicyRule[]): number {
  return rules.reduce((sum, { apiGroups, resources, verbs, resourceNames, nonResourceURLs }) => {
    const named = apiGroups.length * resources.length * Math.max(1, resourceNames.length)
    return sum + verbs.length * (named + nonResourceURLs.length)
  }, 0)
}

/** Whether one rule allows all that another one does, which is broken down. */
function covers(own: PolicyRule, rule: PolicyRule): boolean {
  return (
    rule.verbs.every(verb => hasOrAll(own.verbs, verb)) &&
    rule.apiGroups.every(group => hasOrAll(own.apiGroups, group)) &&
    rule.resources.every(resource => coversResource(own.resources, resource)) &&
    rule.nonResourceURLs.every(path => coversPath(own.nonResourceURLs, path)) &&
    (own.resourceNames.length === 0 ||
      (rule.resourceNames.length > 0 &&
        rule.resourceNames.every(name => own.resourceNames.includes(name))))
  )
}

function coversResource(own: readonly string[], resource: string): boolean {
  if (hasOrAll(own, resource)) return true
  const slash = resource.indexOf('/')
  return slash !== -1 && own.includes(`*${resource.slice(slash)}`)
}

/** A star at the end of a granted path is covered as a text is. */
function coversPath(own: readonly string[], path: string): boolean {
  return own.some(pattern => pathMatches(pattern, path))
}

/** Rules of the same resource and name as one, with the verbs of all. */
function compacted(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const simple = new Map<string, PolicyRule>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs.length > 0) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const known = simple.get(key)
    simple.set(
      key,
      known === undefined ? rule : { ...rule, verbs: [...known.verbs, ...rule.verbs] },
    )
  }
  return [...others, ...simple.values()]
}

function compactText(rule: PolicyRule): string {
  const parts = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ] as const
  const given = parts.filter(([, texts]) => texts.length > 0)
  return `{${given.map(([name, texts]) => `${name}:${listText(texts)}`).join(', ')}}`
}

/** A list as Go prints it with %q. */
function listText(texts: readonly string[]): string {
  return `[${texts.map(goQuote).join(' ')}]`
}
