/** The ways in which controllers are told of what concerns them, for those that have the same. */

import type { Key } from '@watchglass/base'
import type { Fact, PodFact } from './facts.ts'
import type { Follow } from './follow.ts'
import type { Labels, Selector } from './objects.ts'
import { Selections } from './selections.ts'
import { selects } from './selectors.ts'
import type { World } from './world.ts'

interface PodOwner extends Fact {
  readonly selector: Selector
}

/** Looks at an object when it, one of its pods, or one that it may adopt has changed. */
export function lookAtPodOwners<F extends PodOwner, T>(
  world: World,
  kind: string,
  follow: Follow<F, T>,
  lookAt: (fact: F) => void,
): void {
  follow.listen({ changed: lookAt })
  world.owners(kind, follow, lookAt)
  world.pods.listen({
    changed: pod => {
      if (pod.owner !== undefined) return
      for (const fact of follow.index.inNamespace(pod.namespace)) {
        if (selects(fact.selector, pod.labels)) lookAt(fact)
      }
    },
  })
}

interface SelectingFact extends Fact {
  /** Undefined: it selects nothing. */
  readonly selector: Selector | undefined
}

export interface Selecting<F extends SelectingFact, T> {
  readonly follow: Follow<F, T>
  readonly matches: (selector: Selector, labels: Labels) => boolean
  readonly lookAt: (key: Key) => void
}

/** Looks at an object when it, or a pod that it selects, has changed. The pods of each. */
export function lookAtSelecting<F extends SelectingFact, T>(
  world: World,
  { follow, matches, lookAt }: Selecting<F, T>,
): (key: Key) => PodFact[] {
  const selections = new Selections()
  follow.listen({
    noted: ({ key, namespace, selector }) => {
      if (selector === undefined) {
        selections.remove(key)
        return
      }
      const pods = world.pods.index.inNamespace(namespace)
      const isSelected = (labels: Labels): boolean => matches(selector, labels)
      selections.put({ key, namespace, selector, matches: isSelected }, pods)
    },
    changed: ({ key }) => lookAt(key),
    gone: ({ key }) => selections.remove(key),
  })
  world.pods.listen({
    noted: pod => selections.podChanged(pod).forEach(lookAt),
    gone: pod => selections.podGone(pod).forEach(lookAt),
  })
  return key => [...selections.podsOf(key)].flatMap(pod => world.pods.index.get(pod) ?? [])
}
