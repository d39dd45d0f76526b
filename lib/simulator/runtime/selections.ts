/** Which pods each selector of a service or a budget selects, kept up with each change of a pod: a
 *  pod is compared with the selectors that name one of its labels only. */

import type { Key } from '@watchglass/base'
import type { PodFact } from './facts.ts'
import type { Labels, Selector } from './objects.ts'

export interface SelectingObject {
  readonly key: Key
  readonly namespace: string
  readonly selector: Selector
  readonly matches: (labels: Labels) => boolean
}

interface Selection extends SelectingObject {
  readonly text: string
  readonly bucket: string
  readonly pods: Set<Key>
  /** The list of this selection alone: most pods that are selected have it, all the same one. */
  readonly alone: readonly Selection[]
}

const none: readonly Selection[] = []

export class Selections {
  readonly #selections = new Map<Key, Selection>()
  /** The selections that want a certain label, and those of a namespace that want none. */
  readonly #buckets = new Map<string, Set<Selection>>()
  readonly #selecting = new Map<Key, readonly Selection[]>()

  /** `pods` are those of its namespace. */
  put(selecting: SelectingObject, pods: Iterable<PodFact>): void {
    const { key, namespace, selector, matches } = selecting
    const text = JSON.stringify(selector)
    if (this.#selections.get(key)?.text === text) return
    this.remove(key)
    const [label] = Object.entries(selector.matchLabels ?? {})
    const bucket = bucketOf(namespace, label)
    const alone: Selection[] = []
    const selection: Selection = { ...selecting, text, bucket, pods: new Set(), alone }
    alone.push(selection)
    this.#selections.set(key, selection)
    const others = this.#buckets.get(bucket)
    if (others === undefined) this.#buckets.set(bucket, new Set([selection]))
    else others.add(selection)
    for (const pod of pods) if (matches(pod.labels)) this.#select(pod.key, selection)
  }

  remove(selecting: Key): void {
    const selection = this.#selections.get(selecting)
    if (selection === undefined) return
    this.#selections.delete(selecting)
    const others = this.#buckets.get(selection.bucket)
    others?.delete(selection)
    if (others?.size === 0) this.#buckets.delete(selection.bucket)
    for (const pod of selection.pods) this.#leave(pod, selection)
  }

  /** The objects that select the pod, or did. */
  podChanged(pod: PodFact): Key[] {
    const before = new Set(this.#selecting.get(pod.key))
    for (const selection of this.#candidates(pod)) {
      if (!selection.matches(pod.labels)) continue
      if (!before.delete(selection)) this.#select(pod.key, selection)
    }
    const concerned = (this.#selecting.get(pod.key) ?? none).map(({ key }) => key)
    for (const selection of before) this.#leave(pod.key, selection)
    return concerned
  }

  /** The objects that selected the pod. */
  podGone({ key }: PodFact): Key[] {
    const before = this.#selecting.get(key) ?? none
    for (const selection of before) this.#leave(key, selection)
    return before.map(selection => selection.key)
  }

  podsOf(selecting: Key): Iterable<Key> {
    return this.#selections.get(selecting)?.pods ?? []
  }

  *#candidates({ namespace, labels }: PodFact): Iterable<Selection> {
    yield* this.#buckets.get(bucketOf(namespace)) ?? []
    for (const label of Object.entries(labels)) {
      yield* this.#buckets.get(bucketOf(namespace, label)) ?? []
    }
  }

  #select(pod: Key, selection: Selection): void {
    selection.pods.add(pod)
    const others = this.#selecting.get(pod) ?? none
    if (others.includes(selection)) return
    this.#selecting.set(pod, others.length === 0 ? selection.alone : [...others, selection])
  }

  #leave(pod: Key, selection: Selection): void {
    selection.pods.delete(pod)
    const others = (this.#selecting.get(pod) ?? none).filter(one => one !== selection)
    const [only] = others
    if (only === undefined) this.#selecting.delete(pod)
    else this.#selecting.set(pod, others.length === 1 ? only.alone : others)
  }
}

function bucketOf(namespace: string, label?: readonly [string, string]): string {
  return label === undefined ? namespace : `${namespace}/${label[0]}=${label[1]}`
}
