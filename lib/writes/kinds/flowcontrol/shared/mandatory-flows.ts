/** The flow schemas and the priority levels that every server needs: what they say is fixed. */

import { type JsonValue, parseTree, sortTree } from '@watchglass/go'
import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'

const everything = {
  resourceRules: [
    {
      verbs: ['*'],
      apiGroups: ['*'],
      resources: ['*'],
      clusterScope: true,
      namespaces: ['*'],
    },
  ],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}

function flowOf(groups: readonly string[], spec: object): JsonValue {
  const subjects = groups.map(name => ({ kind: 'Group', group: { name } }))
  return fixed({ ...spec, rules: [{ subjects, ...everything }] })
}

const flows: ReadonlyMap<string, JsonValue> = new Map([
  [
    'exempt',
    flowOf(['system:masters'], {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 1,
    }),
  ],
  [
    'catch-all',
    flowOf(['system:unauthenticated', 'system:authenticated'], {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
    }),
  ],
])

const catchAll = fixed({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares: 5,
    lendablePercent: 0,
    limitResponse: { type: 'Reject' },
  },
})

function fixed(spec: object): JsonValue {
  const bytes = Buffer.from(JSON.stringify(spec))
  return sortTree(parseTree(bytes, 0, bytes.length) ?? null)
}

/** The problem of the spec of a flow schema of this name. */
export function problemOfFlow(name: string, spec: Place): string | undefined {
  const wanted = flows.get(name)
  if (wanted === undefined || isSame(sortTree(spec.value ?? null), wanted)) return undefined
  return `spec of '${name}' must equal the fixed value`
}

/** The problem of the spec of a priority level of this name. Of the exempt one an administrator
 *  may change the shares. */
export function problemOfLevel(name: string, spec: Place): string | undefined {
  if (name === 'exempt') {
    if (spec.in('type').text === 'Exempt' && !spec.in('limited').isSet) return undefined
    return "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
  }
  if (name !== 'catch-all' || isSame(sortTree(spec.value ?? null), catchAll)) return undefined
  return "spec of 'catch-all' must equal the fixed value"
}
