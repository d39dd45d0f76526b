/** ExtendedResourceToleration: a pod that asks for an extended resource tolerates its taint. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import { isExtended } from '../../validation/pods/resources.ts'
import { partOf, partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin } from '../plugin.ts'

export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  mutate({ isPod, operation, object }) {
    const spec = object?.get('spec')
    if (!isPod || operation === 'DELETE' || !(spec instanceof Map)) return undefined
    for (const name of requested(spec)) tolerate(spec, name)
    return undefined
  },
}

/** The extended resources that containers ask for, sorted. */
function requested(spec: JsonObject): string[] {
  const containers = ['containers', 'initContainers'].flatMap(list => partsOf(spec, list))
  const names = containers.flatMap(container => [
    ...partOf(container.get('resources'), 'requests').keys(),
  ])
  return [...new Set(names)].filter(name => isExtended(name)).toSorted()
}

/** One that is the same but for its seconds makes place for the new one. */
function tolerate(spec: JsonObject, key: string): void {
  const known = itemsOf(spec.get('tolerations'))
  const added = new Map([
    ['key', key],
    ['operator', 'Exists'],
    ['effect', 'NoSchedule'],
  ])
  const isSame = (item: JsonValue): boolean =>
    ['key', 'operator', 'effect', 'value'].every(
      name => textOf(memberOf(item, name)) === (added.get(name) ?? ''),
    )
  const kept = known.map(item => (isSame(item) ? new Map(added) : item))
  spec.set('tolerations', known.some(isSame) ? kept : [...kept, added])
}
