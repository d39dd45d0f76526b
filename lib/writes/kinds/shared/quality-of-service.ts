/** The quality of service of a pod. */

import { itemsOf, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from '../../metadata.ts'

/** The class of a pod's spec: Guaranteed, Burstable or BestEffort. */
export function qualityOf(spec: JsonValue | undefined): string {
  const whole = memberOf(spec, 'resources')
  const containers =
    whole instanceof Map
      ? [new Map([['resources', whole]])]
      : [...itemsOf(memberOf(spec, 'containers')), ...itemsOf(memberOf(spec, 'initContainers'))]
  let [hasAny, isGuaranteed] = [false, true]
  const totals = { requests: new Map<string, string[]>(), limits: new Map<string, string[]>() }
  for (const container of containers) {
    const resources = memberOf(container, 'resources')
    for (const list of ['requests', 'limits'] as const) {
      for (const name of ['cpu', 'memory']) {
        const amount = textOf(memberOf(memberOf(resources, list), name))
        if (amount === '' || amount === '0' || amount.startsWith('-')) {
          if (list === 'limits') isGuaranteed = false
          continue
        }
        hasAny = true
        const amounts = totals[list].get(name) ?? []
        amounts.push(amount)
        totals[list].set(name, amounts)
      }
    }
  }
  if (!hasAny) return 'BestEffort'
  const isSame = [...totals.requests].every(
    ([name, amounts]) => totals.limits.get(name)?.toString() === amounts.toString(),
  )
  const isWhole = totals.requests.size === totals.limits.size
  return isGuaranteed && isSame && isWhole ? 'Guaranteed' : 'Burstable'
}
