/** The faults that are switched on: which of them a request meets, and how often each was met.
 *  Which requests those are follows from the seed and the order in which requests come, so that a
 *  run can be repeated.
 *
 *  ```
 *  words, shared by all threads   | taken | drawn | met, of each rule ... |
 *  ``` */

import { randomAt } from '@watchglass/base'
import type { FaultCount, Faults as RequestsFaults, FaultySubject } from '@watchglass/cache'
import { MetFaults } from './met-faults.ts'
import type { ChosenFault } from './chosen-faults.ts'
import {
  type SimulatedEffect,
  type Compaction,
  type FaultRule,
  type FaultType,
  isForSimulated,
} from './rule.ts'

export interface InjectedFaultsOptions {
  readonly rules: readonly FaultRule[]
  readonly seed: number
  /** Memory of the thread that the rules come from; one's own if it is left out. */
  readonly memory?: SharedArrayBuffer | undefined
  /** Called for each fault that a client meets. */
  readonly onMet: (type: FaultType) => void
}

interface Active {
  readonly rule: FaultRule
  /** The word that counts how often it was met. */
  readonly word: number
}

/** The words before the rules: the number of threads that have them, and of numbers drawn for
 *  them. */
const taken = 0
const drawn = 1
const wordsBefore = 2

/** Rules for other threads. */
export interface SharedFaults {
  readonly texts: readonly string[]
  readonly memory: SharedArrayBuffer
}

function memoryOf(rules: readonly FaultRule[]): SharedArrayBuffer {
  return new SharedArrayBuffer((wordsBefore + rules.length) * Int32Array.BYTES_PER_ELEMENT)
}

export class InjectedFaults implements RequestsFaults {
  readonly #onMet: InjectedFaultsOptions['onMet']
  readonly #seed: number
  #words: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(0))
  #active: readonly Active[] = []

  constructor({ rules, seed, memory, onMet }: InjectedFaultsOptions) {
    this.#onMet = onMet
    this.#seed = seed
    this.replace(rules, memory)
  }

  /** Replaces all rules. The draws begin again, or go on where those of another thread are. */
  replace(rules: readonly FaultRule[], memory: SharedArrayBuffer = memoryOf(rules)): void {
    this.#words = new Int32Array(memory)
    this.#active = rules.map((rule, i) => ({ rule, word: wordsBefore + i }))
    Atomics.add(this.#words, taken, 1)
  }

  /** The rules as other threads can take them. */
  get shared(): SharedFaults {
    const texts = this.#active.map(({ rule }) => rule.text)
    return { texts, memory: this.#words.buffer }
  }

  /** Number of threads that have taken the present rules. */
  get takers(): number {
    return Atomics.load(this.#words, taken)
  }

  /** True while any fault rule is active. */
  get isOn(): boolean {
    return this.#active.length > 0
  }

  get counts(): readonly FaultCount[] {
    return this.#active.map(active => ({ rule: active.rule.text, met: this.#met(active) }))
  }

  /** The compactions that are asked for. */
  get compactions(): readonly Compaction[] {
    return this.#active.flatMap(({ rule: { effect } }) => (effect.type === 'compact' ? effect : []))
  }

  /** A compaction was done. */
  compacted(compaction: Compaction): void {
    const active = this.#active.find(({ rule }) => rule.effect === compaction)
    if (active !== undefined) this.#meet(active)
  }

  /** The faults of a request; undefined if there are none. Of each type only the first rule
   *  counts. */
  chooseFor(subject: FaultySubject): MetFaults | undefined {
    const chosen = new Map<string, ChosenFault>()
    for (const active of this.#active) {
      const { effect, selection, share, times } = active.rule
      if (effect.type === 'compact' || isForSimulated(effect)) continue
      if (!concerns(selection, subject)) continue
      // Drawn for every request that a rule concerns, so that one rule does not shift the draws of
      // another.
      const draw = Atomics.add(this.#words, drawn, 2)
      const isDrawn = randomAt(this.#seed, draw) < share
      const amount = randomAt(this.#seed, draw + 1)
      if (!isDrawn || this.#met(active) >= times || chosen.has(effect.type)) continue
      chosen.set(effect.type, { effect, amount, meet: () => this.#meet(active) })
    }
    return chosen.size === 0 ? undefined : new MetFaults(chosen)
  }

  /** The fault of this type that something simulated meets now; undefined if it meets none. Asked,
   *  it is met. */
  meetSimulated<Type extends SimulatedEffect['type']>(
    type: Type,
    subject: ActorSubject,
  ): MetSimulatedFault<Type> | undefined {
    for (const active of this.#active) {
      const { effect, share, times } = active.rule
      if (effect.type !== type || !concernsActor(active.rule, subject)) continue
      const draw = Atomics.add(this.#words, drawn, 2)
      const isDrawn = randomAt(this.#seed, draw) < share
      if (!isDrawn || this.#met(active) >= times) continue
      this.#meet(active)
      const amount = randomAt(this.#seed, draw + 1)
      return { effect: effect as MetSimulatedFault<Type>['effect'], amount }
    }
    return undefined
  }

  /** The fault of this type that is switched on, if any is, whoever may meet it. */
  simulatedEffect<Type extends SimulatedEffect['type']>(
    type: Type,
  ): MetSimulatedFault<Type>['effect'] | undefined {
    const found = this.#active.find(({ rule }) => rule.effect.type === type)
    return found?.rule.effect as MetSimulatedFault<Type>['effect'] | undefined
  }

  #met({ word }: Active): number {
    return Atomics.load(this.#words, word)
  }

  #meet(active: Active): void {
    Atomics.add(this.#words, active.word, 1)
    this.#onMet(active.rule.effect.type)
  }
}

/** Something simulated that a fault may concern. */
export interface ActorSubject {
  readonly namespace?: string
  readonly node?: string
  readonly images?: readonly string[]
}

export interface MetSimulatedFault<Type extends SimulatedEffect['type']> {
  readonly effect: Extract<SimulatedEffect, { readonly type: Type }>
  /** From 0 up to 1: how much of it there is, where that may vary. */
  readonly amount: number
}

function concernsActor(
  { selection, actors }: FaultRule,
  { namespace = '', node = '', images = [] }: ActorSubject,
): boolean {
  return (
    selection.namespaces?.has(namespace) !== false &&
    isNamed(actors.nodes, [node]) &&
    isNamed(actors.images, images)
  )
}

function isNamed(patterns: ReadonlySet<string> | undefined, names: readonly string[]): boolean {
  if (patterns === undefined) return true
  return [...patterns].some(pattern =>
    names.some(name =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    ),
  )
}

function concerns(
  { verbs, resources, namespaces, agent }: FaultRule['selection'],
  { attributes, userAgent }: FaultySubject,
): boolean {
  // Health checks, discovery and metrics stay whole: they are no requests for resources.
  if ('path' in attributes) return false
  const { verb, resource, group, namespace } = attributes
  return (
    verbs?.has(verb) !== false &&
    (resources === undefined ||
      resources.has(resource) ||
      resources.has(group === '' ? resource : `${resource}.${group}`)) &&
    namespaces?.has(namespace) !== false &&
    (agent === undefined || userAgent.startsWith(agent))
  )
}
