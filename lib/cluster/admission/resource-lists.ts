/** Lists of resources, as `cpu` and `memory` with their quantities: sums, and what a pod asks for
 *  altogether. */

import { type JsonObject, type JsonValue, memberOf } from '../../codec/json/tree.ts'
import { quantityNanos, sumOfQuantities } from '../../go/quantity.ts'
import { textOf } from '../write/metadata.ts'
import { partsOf, partOf } from './pod-parts.ts'

/** Quantities by the name of their resource. */
export type ResourceList = ReadonlyMap<string, string>

export function resourceList(value: JsonValue | undefined): ResourceList {
  const list = new Map<string, string>()
  if (!(value instanceof Map)) return list
  for (const [name, quantity] of value) list.set(name, textOf(quantity))
  return list
}

/** The sums of all that one of both has. */
export function sumOf(a: ResourceList, b: ResourceList): ResourceList {
  const sum = new Map(a)
  for (const [name, quantity] of b) {
    const known = sum.get(name)
    sum.set(name, known === undefined ? quantity : sumOfQuantities([known, quantity]))
  }
  return sum
}

/** The larger of each. */
export function largerOf(a: ResourceList, b: ResourceList): ResourceList {
  const larger = new Map(a)
  for (const [name, quantity] of b) {
    const known = larger.get(name)
    if (known === undefined || quantityNanos(quantity) > quantityNanos(known)) {
      larger.set(name, quantity)
    }
  }
  return larger
}

/** The members with these names. */
export function masked(list: ResourceList, names: Iterable<string>): ResourceList {
  const kept = new Map<string, string>()
  for (const name of names) {
    const quantity = list.get(name)
    if (quantity !== undefined) kept.set(name, quantity)
  }
  return kept
}

const empty: ResourceList = new Map()

/** A pod's requests or limits: those of its containers together, or what starting it takes if that
 *  is more; and what is said of the pod as a whole, where it is. */
export function podResources(pod: JsonObject, side: 'requests' | 'limits'): ResourceList {
  const spec = pod.get('spec')
  let total = empty
  for (const container of partsOf(spec, 'containers')) total = sumOf(total, of(container, side))
  let [sidecars, starting] = [empty, empty]
  for (const container of partsOf(spec, 'initContainers')) {
    let own = of(container, side)
    if (container.get('restartPolicy') === 'Always') {
      total = sumOf(total, own)
      sidecars = sumOf(sidecars, own)
      own = sidecars
    } else own = sumOf(own, sidecars)
    starting = largerOf(starting, own)
  }
  total = largerOf(total, starting)
  const whole = resourceList(memberOf(memberOf(spec, 'resources'), side))
  if (whole.size === 0) return total
  const replaced = new Map(total)
  for (const [name, quantity] of whole) if (isOfPods(name)) replaced.set(name, quantity)
  return replaced
}

/** True for resources that a pod as a whole may have. */
function isOfPods(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')
}

function of(container: JsonObject, side: string): ResourceList {
  return resourceList(partOf(container, 'resources').get(side))
}
