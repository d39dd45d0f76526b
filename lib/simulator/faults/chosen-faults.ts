/** The faults that were chosen for one request: which there are, and which of them its client has
 *  met. */

import type { Effect } from './rule.ts'

type Of<Type> = Extract<Effect, { readonly type: Type }>

/** An effect that was chosen for a request. */
export interface ChosenFault {
  readonly effect: Effect
  /** From 0 up to 1: how much of it there is, where that may vary. */
  readonly amount: number
  readonly meet: () => void
}

/** The faults of one request, by their types. */
export class ChosenFaults {
  readonly #chosen: ReadonlyMap<string, ChosenFault>
  readonly #met: Set<string> = new Set()

  constructor(chosen: ReadonlyMap<string, ChosenFault>) {
    this.#chosen = chosen
  }

  /** Faults that the client has met so far. */
  get met(): readonly string[] {
    return [...this.#met]
  }

  /** The fault of this type; undefined if there is none. */
  find<Type extends Effect['type']>(type: Type): Of<Type> | undefined {
    return this.#chosen.get(type)?.effect as Of<Type> | undefined
  }

  /** The client meets the fault of this type. Counted once for a request. */
  meet(type: Effect['type']): void {
    if (this.#met.has(type)) return
    this.#met.add(type)
    this.#chosen.get(type)?.meet()
  }

  /** The chosen fault, which the caller brings about at once. */
  take<Type extends Effect['type']>(type: Type): Of<Type> | undefined {
    const effect = this.find(type)
    if (effect !== undefined) this.meet(type)
    return effect
  }

  /** The amount of a fault that may vary, from 0 up to 1. */
  amountOf(type: Effect['type']): number {
    return this.#chosen.get(type)?.amount ?? 0
  }
}
