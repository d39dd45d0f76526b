/** The ways in which controllers are told of what concerns them, for those that have the same. */

import type { Key } from '@watchglass/base'
import type { Fact, PodFact } from './facts.ts'
import type { Informer } from './informer.ts'
import type { Labels, Selector } from './objects.ts'
import { Selections } from './selections.ts'
import { selects } from './selectors.ts'
import type { ControllerRuntime } from './controller-runtime.ts'

interface PodOwner extends Fact {
  readonly selector: Selector
}

/** Looks at an object when it, one of its pods, or one that it may adopt has changed. */
export function lookAtPodOwners<F extends PodOwner, T>(
  runtime: ControllerRuntime,
  kind: string,
  informer: Informer<F, T>,
  lookAt: (fact: F) => void,
): void {
  informer.listen({ changed: lookAt })
  runtime.owners(kind, informer, lookAt)
  runtime.pods.listen({
    changed: pod => {
      if (pod.owner !== undefined) return
      for (const fact of informer.index.inNamespace(pod.namespace)) {
        if (selects(fact.selector, pod.labels)) lookAt(fact)
      }
    },
  })
}

interface SelectingFact extends Fact {
  /** Undefined: it selects nothing. */
  readonly selector: Selector | undefined
}

export interface SelectingKind<F extends SelectingFact, T> {
  readonly informer: Informer<F, T>
  readonly matches: (selector: Selector, labels: Labels) => boolean
  readonly lookAt: (key: Key) => void
}

/** Looks at an object when it, or a pod that it selects, has changed. The pods of each. */
export function lookAtSelecting<F extends SelectingFact, T>(
  runtime: ControllerRuntime,
  { informer, matches, lookAt }: SelectingKind<F, T>,
): (key: Key) => PodFact[] {
  const selections = new Selections()
  informer.listen({
    noted: ({ key, namespace, selector }) => {
      if (selector === undefined) {
        selections.remove(key)
        return
      }
      const pods = runtime.pods.index.inNamespace(namespace)
      const isSelected = (labels: Labels): boolean => matches(selector, labels)
      selections.put({ key, namespace, selector, matches: isSelected }, pods)
    },
    changed: ({ key }) => lookAt(key),
    gone: ({ key }) => selections.remove(key),
  })
  runtime.pods.listen({
    noted: pod => selections.podChanged(pod).forEach(lookAt),
    gone: pod => selections.podGone(pod).forEach(lookAt),
  })
  return key => [...selections.podsOf(key)].flatMap(pod => runtime.pods.index.get(pod) ?? [])
}
