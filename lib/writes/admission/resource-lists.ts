/** Lists of resources, as `cpu` and `memory` with their quantities: sums, and what a pod asks for
 *  altogether. */

import {
  type JsonObject,
  type JsonValue,
  memberOf,
  quantityNanos,
  sumOfQuantities,
} from '@watchglass/go'
import { textOf } from '../metadata.ts'
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
  const sums = new Map(a)
  add(sums, b)
  return sums
}

/** The larger of each. */
export function largerOf(a: ResourceList, b: ResourceList): ResourceList {
  const larger = new Map(a)
  raise(larger, b)
  return larger
}

/** Adds to sums in place: those of many containers would be copied as often. */
function add(sums: Map<string, string>, list: ResourceList): void {
  for (const [name, quantity] of list) {
    const known = sums.get(name)
    sums.set(name, known === undefined ? quantity : sumOfQuantities([known, quantity]))
  }
}

function raise(largest: Map<string, string>, list: ResourceList): void {
  for (const [name, quantity] of list) {
    const known = largest.get(name)
    if (known === undefined || quantityNanos(quantity) > quantityNanos(known)) {
      largest.set(name, quantity)
    }
  }
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

/** A pod's requests or limits: those of its containers together, or what starting it takes if that
 *  is more; and what is said of the pod as a whole, where it is. */
export function podResources(pod: JsonObject, side: 'requests' | 'limits'): ResourceList {
  const spec = pod.get('spec')
  const total = new Map<string, string>()
  for (const container of partsOf(spec, 'containers')) add(total, of(container, side))
  const [sidecars, starting] = [new Map<string, string>(), new Map<string, string>()]
  for (const container of partsOf(spec, 'initContainers')) {
    const own = of(container, side)
    if (container.get('restartPolicy') === 'Always') {
      add(total, own)
      add(sidecars, own)
      raise(starting, masked(sidecars, own.keys()))
    } else raise(starting, sumOf(own, masked(sidecars, own.keys())))
  }
  raise(total, starting)
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
