/** One resource in one form, such as pods as a Table: what is proven of it, what is to be compared next, and who lets its objects out. */

import type { Key } from '../../base/keys.ts'
import { type Gate, type ShownPlace, Unproven } from '../../codec/evidence/gate.ts'
import type { Shapes } from '../../codec/evidence/shapes.ts'
import { NotExact } from '../../codec/not-exact.ts'
import type { Shown } from '../../codec/served/object-encoder.ts'
import { ProvenForm } from '../../kube/evidence/proven-form.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { KeyValue } from '../../store/event.ts'

/** How objects are shown, without the moment. */
export type ShownForm = Omit<Shown, 'now' | 'gate'>

/** One question to the upstream. */
export type Task =
  /** The whole resource, which has a few objects. */
  | { readonly type: 'page' }
  | { readonly type: 'item'; readonly entry: KeyValue; readonly rows: readonly number[] }
  /** That object, or any other that is there. */
  | { readonly type: 'alone'; readonly key: Key }

/** So many questions of a form wait. Beyond it, objects are compared when they are asked for again. */
const tasksMax = 500

export interface FormOptions {
  readonly resource: Resource
  readonly shown: ShownForm
  readonly shapes: Shapes
  /** Another one for each state of the upstream. */
  readonly generation: string
  /** There is something to compare. */
  readonly onTask: (form: Form) => void
}

export class Form implements Gate {
  readonly name: string
  readonly resource: Resource
  readonly shown: ShownForm
  readonly proven: ProvenForm
  readonly #shapes: Shapes
  readonly #onTask: (form: Form) => void
  readonly #urgent: Task[] = []
  readonly #tasks: Task[] = []
  /** Questions under way. */
  underWay = 0
  /** How often in a row the upstream did not answer. */
  failures = 0
  /** Nothing is asked before. */
  dueMs = 0
  /** Objects are to be looked through for what is not proven. */
  isSweepDue = true
  /** All of its objects can be compared at once, as far as is known. */
  hasPage = true
  #suspicion: string | undefined = undefined
  /** Shapes of objects that the server changes before it shows them, and the epoch of their numbers. */
  #excepted = { epoch: 0, shapes: new Set<number>() }

  constructor({ resource, shown, shapes, generation, onTask }: FormOptions) {
    this.name = generation
    this.resource = resource
    this.shown = shown
    this.#shapes = shapes
    this.#onTask = onTask
    this.proven = new ProvenForm({ shapes, hasCells: shown.rendering === 'Table' })
  }

  /** Something of it may be answered from the mirror. */
  get isBegun(): boolean {
    return this.proven.isKnown('item')
  }

  objection(entry: KeyValue, place: ShownPlace): NotExact | undefined {
    const shape = this.#shapes.shapeOf(entry)
    const isKnown = place === 'item' || this.hasAlone
    if (isKnown && this.proven.isProven(shape)) return undefined
    if (this.proven.difference !== undefined || this.#isExcepted(shape)) return closed
    this.want(entry, 'urgent')
    return unproven
  }

  /** What stands alone is written as the upstream does. A row of a Table is the same wherever it stands. */
  get hasAlone(): boolean {
    return this.shown.rendering === 'Table' || this.proven.isKnown('alone')
  }

  /** Has an object compared, unless what is peculiar about it will be anyway. */
  want(entry: KeyValue, urgency: 'urgent' | 'soon'): void {
    if (this.proven.difference !== undefined) return
    if (this.#urgent.length + this.#tasks.length >= tasksMax) return
    if (this.#isExcepted(this.#shapes.shapeOf(entry))) return
    const rows = this.proven.claim(this.#shapes.shapeOf(entry))
    if (rows === undefined) return
    this.add({ type: 'item', entry, rows }, urgency)
  }

  /** Objects like this one are shown in another way, which says nothing of the others: of an aggregated server's types we know nothing,
   *  and somebody else may have written what is stored. */
  except(entry: KeyValue): void {
    const shape = this.#shapes.shapeOf(entry)
    const { epoch } = this.#shapes
    if (this.#excepted.epoch !== epoch) this.#excepted = { epoch, shapes: new Set() }
    this.#excepted.shapes.add(shape)
  }

  /** Its objects cannot be compared all at once: the rest is compared one by one. */
  compareSingly(): void {
    this.hasPage = false
    this.isSweepDue = true
    this.#onTask(this)
  }

  #isExcepted(shape: number): boolean {
    return this.#excepted.epoch === this.#shapes.epoch && this.#excepted.shapes.has(shape)
  }

  add(task: Task, urgency: 'urgent' | 'soon'): void {
    ;(urgency === 'urgent' ? this.#urgent : this.#tasks).push(task)
    this.#onTask(this)
  }

  /** Nothing is left to be compared for now. */
  get isSettled(): boolean {
    if (this.proven.difference !== undefined) return !this.isSuspect
    const isIdle = this.underWay === 0 && !this.hasTask && !this.isSweepDue
    return this.isBegun && this.hasAlone && isIdle
  }

  /** Somebody waits for it. */
  get isUrgent(): boolean {
    return this.#urgent.length > 0
  }

  get hasTask(): boolean {
    return this.#urgent.length + this.#tasks.length > 0
  }

  take(): Task | undefined {
    return this.#urgent.shift() ?? this.#tasks.shift()
  }

  /** The upstream has shown these in our bytes. */
  learn(entries: readonly KeyValue[], place: ShownPlace): void {
    if (this.isSuspect) this.proven.reopen()
    this.#suspicion = undefined
    for (const entry of entries) this.proven.learn(this.#shapes.shapeOf(entry), place)
    const [first] = entries
    if (first !== undefined && !this.hasAlone) this.add({ type: 'alone', key: first.key }, 'urgent')
  }

  /** A difference was seen once. Nothing is let out until it was looked at again. */
  suspect(difference: string): void {
    this.#suspicion = difference
    this.proven.close(difference)
  }

  get isSuspect(): boolean {
    return this.#suspicion !== undefined
  }

  close(difference: string): void {
    this.#suspicion = undefined
    this.proven.close(difference)
    for (let task = this.take(); task !== undefined; task = this.take()) this.release(task)
  }

  /** What a task has claimed may be claimed by others. */
  release(task: Task): void {
    if (task.type === 'item') this.proven.release(task.rows)
  }
}

const unproven = new Unproven()
const closed = new NotExact('the upstream shows it in another way')
