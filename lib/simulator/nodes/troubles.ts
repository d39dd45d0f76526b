/** The troubles that pods meet on purpose (`--fault`): images that cannot be pulled, containers
 *  that crash, schedulers that are late. It remembers how often each pod has had them, as a kubelet
 *  waits longer each time. */

import type { Key } from '@watchglass/base'
import type { SimulatedEffect } from '../faults/rule.ts'
import type { ImageProblem } from '../containers/image-pulls.ts'
import type { Pod } from '../runtime/objects.ts'
import { pullProblem } from './troubled-status.ts'

/** The faults that are switched on now, as simulated controllers and nodes meet them. */
export interface SimulatedFaults {
  meetSimulated<Type extends SimulatedEffect['type']>(
    type: Type,
    subject: {
      readonly namespace?: string
      readonly node?: string
      readonly images?: readonly string[]
    },
  ):
    | {
        readonly effect: Extract<SimulatedEffect, { readonly type: Type }>
        readonly amount: number
      }
    | undefined
  simulatedEffect<Type extends SimulatedEffect['type']>(
    type: Type,
  ): Extract<SimulatedEffect, { readonly type: Type }> | undefined
}

/** As kubelets wait: twice as long each time. */
const firstMs = 10_000
const lastMs = 300_000

export class NodeTroubles {
  readonly #faults: () => SimulatedFaults | undefined
  readonly #times = new Map<Key, number>()
  /** Pods that crash, and so long after they were started. */
  readonly #crashes = new Map<Key, number>()
  /** Pods whose container has ended and is to be started again. */
  readonly #ended = new Set<Key>()

  constructor(faults: () => SimulatedFaults | undefined) {
    this.#faults = faults
  }

  /** A pod that is to be scheduled waits that much longer. */
  lateMs(namespace: string): number {
    const met = this.#faults()?.meetSimulated('late-scheduler', { namespace })
    return met === undefined ? 0 : between(met.effect, met.amount)
  }

  /** Its images cannot be pulled this time. The time to wait before the next one. */
  pullFailsMs(key: Key, { metadata, spec }: Pod): number | undefined {
    const { namespace = '' } = metadata
    const subject = { namespace, node: spec.nodeName ?? '', images: imagesOf(spec) }
    if (this.#faults()?.meetSimulated('image-pull', subject) === undefined) return undefined
    return this.#waitMs(key)
  }

  /** The image of a container cannot be pulled this time. */
  pullFault({ metadata, spec }: Pod, image: string): ImageProblem | undefined {
    const { namespace = '' } = metadata
    const subject = { namespace, node: spec.nodeName ?? '', images: [image] }
    if (this.#faults()?.meetSimulated('image-pull', subject) === undefined) return undefined
    return { reason: 'ErrImagePull', message: pullProblem(image) }
  }

  /** The pod has been started: it may be one that crashes. */
  started(key: Key, { metadata, spec }: Pod): void {
    const { namespace = '' } = metadata
    this.#ended.delete(key)
    this.#crashes.delete(key)
    const subject = { namespace, node: spec.nodeName ?? '', images: imagesOf(spec) }
    const met = this.#faults()?.meetSimulated('pod-crash', subject)
    if (met !== undefined) this.#crashes.set(key, between(met.effect, met.amount))
  }

  willCrash(key: Key): boolean {
    return this.#crashes.has(key)
  }

  crashesAfterMs(key: Key): number {
    return this.#crashes.get(key) ?? 0
  }

  /** A container has ended. The time before it is started again. */
  ended(key: Key): number {
    this.#crashes.delete(key)
    this.#ended.add(key)
    return this.#waitMs(key)
  }

  hasEnded(key: Key): boolean {
    return this.#ended.has(key)
  }

  /** The time that the pod was told to wait last. */
  waitsMs(key: Key): number {
    return waitOf(this.#times.get(key) ?? 0)
  }

  forget(key: Key): void {
    this.#times.delete(key)
    this.#crashes.delete(key)
    this.#ended.delete(key)
  }

  #waitMs(key: Key): number {
    const times = (this.#times.get(key) ?? 0) + 1
    this.#times.set(key, times)
    return waitOf(times)
  }
}

function waitOf(times: number): number {
  return times === 0 ? 0 : Math.min(firstMs * 2 ** (times - 1), lastMs)
}

function imagesOf({ containers }: Pod['spec']): readonly string[] {
  return containers.map(({ image = '' }) => image)
}

function between(
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
  amount: number,
): number {
  return minMs + amount * (maxMs - minMs)
}
