/** The faults that are switched on: which of them a request meets, and how often each was met. Which requests those are follows from the
 *  seed and the order in which requests come, so that a run can be repeated.
 *
 *  ```
 *  words, shared by all threads   | taken | drawn | met, of each rule ... |
 *  ``` */

import { randomAt } from '../../base/random.ts'
import type { Attributes } from '../../kube/request/attributes.ts'
import type { FaultCount } from '../../http/admin/fault-switch.ts'
import type { Compaction, Effect, FaultRule, FaultType } from './rule.ts'

export interface FaultsOptions {
  readonly rules: readonly FaultRule[]
  readonly seed: number
  /** Of the thread that the rules come from; memory of its own if it is left out. */
  readonly memory?: SharedArrayBuffer | undefined
  /** Called for each fault that a client meets. */
  readonly onMet: (type: FaultType) => void
}

interface Active {
  readonly rule: FaultRule
  /** The word that counts how often it was met. */
  readonly word: number
}

/** How many threads have the rules, and how many numbers were drawn for them. */
const taken = 0
const drawn = 1
const wordsBefore = 2

/** What a request looks like to a rule. */
export interface FaultySubject {
  readonly attributes: Attributes
  readonly userAgent: string
}

type Of<Type> = Extract<Effect, { readonly type: Type }>

/** An effect that was chosen for a request. */
interface Chosen {
  readonly effect: Effect
  /** From 0 up to 1: how much of it there is, where that may vary. */
  readonly amount: number
  readonly meet: () => void
}

/** The faults of one request. */
export class RequestFaults {
  readonly #chosen: ReadonlyMap<string, Chosen>
  readonly #met: Set<string> = new Set()

  constructor(chosen: ReadonlyMap<string, Chosen>) {
    this.#chosen = chosen
  }

  /** What the client has met so far. */
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

  /** The same fault, which the caller brings about at once. */
  take<Type extends Effect['type']>(type: Type): Of<Type> | undefined {
    const effect = this.find(type)
    if (effect !== undefined) this.meet(type)
    return effect
  }

  /** How long the answer waits. */
  delayMs(): number {
    const latency = this.take('latency')
    const amount = this.#chosen.get('latency')?.amount ?? 0
    return latency === undefined ? 0 : latency.minMs + amount * (latency.maxMs - latency.minMs)
  }
}

/** Rules for other threads. */
export interface SharedFaults {
  readonly texts: readonly string[]
  readonly memory: SharedArrayBuffer
}

function memoryOf(rules: readonly FaultRule[]): SharedArrayBuffer {
  return new SharedArrayBuffer((wordsBefore + rules.length) * Int32Array.BYTES_PER_ELEMENT)
}

export class Faults {
  readonly #onMet: FaultsOptions['onMet']
  readonly #seed: number
  #words: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(0))
  #active: readonly Active[] = []

  constructor({ rules, seed, memory, onMet }: FaultsOptions) {
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

  /** How many threads have taken the present rules. */
  get takers(): number {
    return Atomics.load(this.#words, taken)
  }

  /** There are rules. */
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

  /** The faults of a request; undefined if there are none. Of each type only the first rule counts. */
  chooseFor(subject: FaultySubject): RequestFaults | undefined {
    const chosen = new Map<string, Chosen>()
    for (const active of this.#active) {
      const { effect, selection, share, times } = active.rule
      if (effect.type === 'compact' || !concerns(selection, subject)) continue
      // Drawn for every request that a rule concerns, so that one rule does not shift the draws of another.
      const draw = Atomics.add(this.#words, drawn, 2)
      const isDrawn = randomAt(this.#seed, draw) < share
      const amount = randomAt(this.#seed, draw + 1)
      if (!isDrawn || this.#met(active) >= times || chosen.has(effect.type)) continue
      chosen.set(effect.type, { effect, amount, meet: () => this.#meet(active) })
    }
    return chosen.size === 0 ? undefined : new RequestFaults(chosen)
  }

  #met({ word }: Active): number {
    return Atomics.load(this.#words, word)
  }

  #meet(active: Active): void {
    Atomics.add(this.#words, active.word, 1)
    this.#onMet(active.rule.effect.type)
  }
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
