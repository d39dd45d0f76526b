/** The rules of one kind: those of single pods, by name, and those of all pods that a selector
 *  takes. Chosen as kwok chooses them. */

import { memberAt, objectOf, textOf, textsOf, type UntypedObject } from '@watchglass/base'

/** One of the rules in an object. */
export interface Rule {
  /** The containers, or the ports, that it is for; none: all that no other rule names. */
  readonly names: readonly string[]
}

export interface RuledPod {
  readonly name: string
  readonly namespace?: string | undefined
}

interface ClusterRules<T extends Rule> {
  readonly takes: (pod: RuledPod) => boolean
  readonly rules: readonly T[]
}

export class RuleSet<T extends Rule> {
  /** By namespace and name. */
  readonly #ofPods = new Map<string, readonly T[]>()
  readonly #ofClusters: ClusterRules<T>[] = []

  get isEmpty(): boolean {
    return this.#ofPods.size === 0 && this.#ofClusters.length === 0
  }

  /** Adds the rules of an object; of two for the same pod the first one counts. */
  add(object: UntypedObject, isOfCluster: boolean, rules: readonly T[]): void {
    if (isOfCluster) {
      const takes = selectorOf(memberAt(object, ['spec', 'selector']))
      this.#ofClusters.push({ takes, rules })
      return
    }
    const { name, namespace } = objectOf(object['metadata'])
    const place = placeOf({ name: textOf(name), namespace: textOf(namespace) })
    if (!this.#ofPods.has(place)) this.#ofPods.set(place, rules)
  }

  /** True if there is a rule for something of the pod. */
  concerns(pod: RuledPod): boolean {
    return this.#ofPods.has(placeOf(pod)) || this.#ofClusters.some(({ takes }) => takes(pod))
  }

  /** The rule for a container or a port of a pod. A pod that has rules of its own has no others:
   *  `'none of its own'` if none of them is for what is asked. */
  find(pod: RuledPod, name: string): T | 'none of its own' | undefined {
    const own = this.#ofPods.get(placeOf(pod))
    if (own !== undefined) return chosen(own, name) ?? 'none of its own'
    for (const { takes, rules } of this.#ofClusters) {
      const found = takes(pod) ? chosen(rules, name) : undefined
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** The rule that names it, or else the first one that names nothing. */
function chosen<T extends Rule>(rules: readonly T[], name: string): T | undefined {
  return (
    rules.find(({ names }) => names.includes(name)) ?? rules.find(({ names }) => names.length === 0)
  )
}

/** Objects in files have no namespace of a client to be in. */
function placeOf({ name, namespace = '' }: RuledPod): string {
  return `${namespace === '' ? 'default' : namespace}/${name}`
}

function selectorOf(selector: unknown): (pod: RuledPod) => boolean {
  const { matchNamespaces, matchNames } = objectOf(selector)
  const [namespaces, names] = [textsOf(matchNamespaces), textsOf(matchNames)]
  return ({ namespace = '', name }) =>
    (namespaces.length === 0 || namespaces.includes(namespace)) &&
    (names.length === 0 || names.includes(name))
}
