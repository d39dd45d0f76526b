/** Resources of a whole pod, and of its containers beside them. */

import { quantityNanos, sumOfQuantities } from '@watchglass/go'
import type { Place } from '../place.ts'
import { checkRequirements, isHugePages } from './resources.ts'

export function checkPodResources(spec: Place, claimNames: ReadonlySet<string>): void {
  const resources = spec.in('resources')
  if (!resources.isSet) return
  if (spec.in('os', 'name').text === 'windows') {
    resources.forbidden('may not be set for a windows pod')
    return
  }
  if (resources.in('claims').isWritten) {
    resources.in('claims').forbidden('claims may not be set for Resources at pod-level')
  }
  checkRequirements(resources, claimNames, true)
  checkSums(spec, 'requests', () => true)
  checkSums(spec, 'limits', isHugePages)
  for (const [i, container] of spec.in('containers').items.entries()) {
    for (const [name, limit] of container.in('resources', 'limits').entries) {
      const most = resources.in('limits').in(name)
      if (!most.isSet || quantityNanos(limit.text) <= quantityNanos(most.text)) continue
      limit
        .as(`${resources.path}.containers[${i}][${name}].limits`)
        .invalid(`must be less than or equal to pod limits of ${most.text}`)
    }
  }
}

/** The pod has at least what its containers have together. */
function checkSums(
  spec: Place,
  list: 'requests' | 'limits',
  isChecked: (name: string) => boolean,
): void {
  for (const [name, ofPod] of spec.in('resources', list).entries) {
    if (!isChecked(name)) continue
    const sum = sumOfContainers(spec, list, name)
    if (sum === undefined || quantityNanos(sum) <= quantityNanos(ofPod.text)) continue
    ofPod.invalid(`must be greater than or equal to aggregate container ${list} of ${sum}`)
  }
}

/** Containers run together, beside sidecars; init containers one by one, beside the sidecars that
 *  came before. */
function sumOfContainers(spec: Place, list: string, name: string): string | undefined {
  const amountOf = (container: Place): string[] => {
    const amount = container.in('resources', list).in(name)
    return amount.isSet ? [amount.text] : []
  }
  const together = spec.in('containers').items.flatMap(amountOf)
  const sidecars: string[] = []
  let most: string | undefined
  for (const container of spec.in('initContainers').items) {
    const isSidecar = container.in('restartPolicy').text === 'Always'
    const own = amountOf(container)
    if (isSidecar) sidecars.push(...own)
    if (own.length === 0) continue
    most = larger(most, sumOfQuantities([...(isSidecar ? [] : own), ...sidecars]))
  }
  const all = [...together, ...sidecars]
  return all.length === 0 ? most : larger(most, sumOfQuantities(all))
}

function larger(a: string | undefined, b: string): string {
  return a !== undefined && quantityNanos(a) >= quantityNanos(b) ? a : b
}
