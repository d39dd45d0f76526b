/** The contents that comparisons of a resource take their objects from: those of its keyspace, or
 *  of each of its namespaces where these are mirrored apart. */

import { inRange, type Key, keyFromText, prefixRange } from '@watchglass/base'
import { keyspaceOf, type Resource } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import type { Held } from './compare.ts'

type HeldAt = (keyspace: Key) => Held | undefined

/** All that is held of a resource. */
export function samplesOf(resource: Resource, held: HeldAt): readonly Held[] {
  const { namespaces = [''] } = resource.storage ?? {}
  return namespaces.flatMap(namespace => {
    const found = held(keyspaceOf(resource, namespace))
    return found === undefined ? [] : [{ ...found, namespace }]
  })
}

/** The first sample that has objects, or else the first one. */
export function firstSample(samples: readonly Held[]): Held | undefined {
  return samples.find(({ snapshot }) => snapshot.size > 0) ?? samples[0]
}

/** The sample that an object is in. */
export function sampleWith(resource: Resource, key: Key, held: HeldAt): Held | undefined {
  const { namespaces = [''] } = resource.storage ?? {}
  const namespace = namespaces.find(one => inRange(key, prefixRange(keyspaceOf(resource, one))))
  if (namespace === undefined) return undefined
  const found = held(keyspaceOf(resource, namespace))
  return found && { ...found, namespace }
}

/** All of their objects. */
export function* entriesOf(
  { storage }: Resource,
  samples: readonly Held[],
): Generator<KeyValue, void, undefined> {
  const range = prefixRange(keyFromText(storage?.prefix ?? ''))
  for (const { snapshot } of samples) yield* snapshot.iterate(range)
}
