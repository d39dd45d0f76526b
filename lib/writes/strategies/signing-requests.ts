/** CertificateSigningRequests: who asks is filled in, and approval and status are written
 *  through subresources. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { copyMember } from '../metadata.ts'
import type { StrategyContext, StrategyRow } from './row.ts'

export const signingRequests: StrategyRow = {
  hasStatus: true,
  prepareCreate: (object, { user }) => {
    const spec = object.get('spec')
    if (!(spec instanceof Map)) return
    for (const name of ['username', 'uid', 'groups', 'extra']) spec.delete(name)
    if (user.user !== '') spec.set('username', user.user)
    if (user.uid !== '') spec.set('uid', user.uid)
    if (user.groups.length > 0) spec.set('groups', [...user.groups])
    const extra = Object.entries(user.extra)
    if (extra.length > 0) {
      spec.set('extra', new Map(extra.map(([name, values]) => [name, [...values]])))
    }
  },
  prepareUpdate: (object, old) => copyMember(object, old, 'spec'),
  subresources: {
    status: (object, old, context) => {
      for (const type of ['Approved', 'Denied']) keepConditions(object, old, type)
      fillTimes(object, old, context)
    },
    approval: (object, old, context) => {
      fillTimes(object, old, context)
      const conditions = memberOf(object.get('status'), 'conditions')
      copyMember(object, old, 'spec')
      const known = old.get('status')
      const status: JsonObject = known instanceof Map ? new Map(known) : new Map()
      if (conditions === undefined) status.delete('conditions')
      else status.set('conditions', conditions)
      object.set('status', status)
    },
  },
}

function conditionsOf(object: JsonObject): readonly JsonValue[] {
  return itemsOf(memberOf(object.get('status'), 'conditions'))
}

/** Conditions of the type keep their values, unless their number changes. */
function keepConditions(object: JsonObject, old: JsonObject, type: string): void {
  const known = conditionsOf(old).filter(condition => memberOf(condition, 'type') === type)
  const conditions = memberOf(object.get('status'), 'conditions')
  if (!Array.isArray(conditions)) return
  const places = [...conditions.keys()].filter(i => memberOf(conditions[i], 'type') === type)
  if (places.length !== known.length) return
  for (const [i, place] of places.entries()) conditions[place] = known[i] ?? null
}

function fillTimes(object: JsonObject, old: JsonObject, { now }: StrategyContext): void {
  for (const condition of conditionsOf(object)) {
    if (!(condition instanceof Map)) continue
    if ((condition.get('lastUpdateTime') ?? null) === null) condition.set('lastUpdateTime', now)
    if ((condition.get('lastTransitionTime') ?? null) !== null) continue
    const same = conditionsOf(old).find(
      known =>
        memberOf(known, 'type') === condition.get('type') &&
        memberOf(known, 'status') === condition.get('status') &&
        (memberOf(known, 'lastTransitionTime') ?? null) !== null,
    )
    condition.set('lastTransitionTime', memberOf(same, 'lastTransitionTime') ?? now)
  }
}
