/** One resource in one form, such as pods as a Table: what is proven of it, what is compared next,
 *  and the gate for its objects. */

import { type Key, NotExact } from '@watchglass/base'
import {
  type Gate,
  type OutputForm,
  type OutputPlace,
  Superseded,
  Unproven,
} from '@watchglass/codec'
import type { Shapes } from './rows/shapes.ts'
import { ProvenForm } from './proven-form.ts'
import type { Resource } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'

/** The form in which objects are shown, without the time. */
export type ComparedForm = Omit<OutputForm, 'now' | 'gate'>

/** One comparison. */
export type ComparisonTask =
  /** All objects of the resource, if they are few. */
  | { readonly type: 'page' }
  | { readonly type: 'item'; readonly entry: KeyValue; readonly rows: readonly number[] }
  /** That object, or any other if it was deleted. */
  | { readonly type: 'alone'; readonly key: Key }

/** This many comparisons of a form may wait. Beyond it, objects are compared when a client asks for
 *  them again. */
const tasksMax = 500

export interface FormOptions {
  readonly resource: Resource
  /** Version of the servers that it is compared with; empty for any. */
  readonly version: string
  readonly output: ComparedForm
  readonly shapes: Shapes
  /** Differs for each form. */
  readonly generation: string
  /** Called when there is something to compare. */
  readonly onTask: (form: Form) => void
}

export class Form implements Gate {
  readonly name: string
  readonly resource: Resource
  readonly version: string
  readonly output: ComparedForm
  readonly proven: ProvenForm
  readonly #shapes: Shapes
  readonly #onTask: (form: Form) => void
  readonly #urgent: ComparisonTask[] = []
  readonly #tasks: ComparisonTask[] = []
  /** Comparisons under way. */
  underWay = 0
  /** Number of times in a row that the upstream did not answer. */
  failures = 0
  /** No comparison starts before this time. */
  dueMs = 0
  /** All objects have to be searched for unproven rows. */
  isSweepDue = true
  /** All of its objects may be few enough to be compared in one request. */
  hasPage: boolean
  /** The upstream writes the list without objects as we do. */
  isEmptyProven = false
  #isDropped = false
  #suspicion: string | undefined = undefined
  /** Shapes of objects that the server changes before it shows them, and the epoch of their
   *  numbers. */
  #excepted = { epoch: 0, shapes: new Set<number>() }

  constructor({ resource, version, output, shapes, generation, onTask }: FormOptions) {
    this.name = generation
    this.resource = resource
    this.version = version
    this.output = output
    this.#shapes = shapes
    this.#onTask = onTask
    // The selector of a scale is made of several texts, too.
    const hasCells = output.rendering === 'Table' || this.isScale
    const isConverted = resource.learned !== undefined && resource.storage?.conversion === 'relabel'
    this.proven = new ProvenForm({ shapes, hasCells, isConverted })
    this.hasPage = !this.isScale
  }

  /** Scales are in no list: each is compared alone. */
  get isScale(): boolean {
    return this.output.subresource === 'scale'
  }

  /** True if some of its objects may be answered from the mirror, or a list without any. */
  get isBegun(): boolean {
    return this.isEmptyProven || this.hasObjects
  }

  /** True if some of its objects were compared. */
  get hasObjects(): boolean {
    return this.proven.isKnown(this.isScale ? 'alone' : 'item')
  }

  objection(entry: KeyValue, place: OutputPlace): NotExact | undefined {
    if (this.#isDropped) return superseded
    const shape = this.#shapes.shapeOf(entry)
    // All of its rows may have been proven since, by other objects.
    if (this.#isExcepted(shape)) return closed
    const isKnown = place === 'item' || this.hasAlone
    if (isKnown && this.proven.isProven(shape)) return undefined
    // A suspicion is looked at again within a second.
    if (this.proven.difference !== undefined) return this.isSuspect ? unproven : closed
    this.want(entry, 'urgent')
    return unproven
  }

  /** True if a single object is written as the upstream writes it. A Table's row is the same in a
   *  list and alone. */
  get hasAlone(): boolean {
    return this.output.rendering === 'Table' || this.proven.isKnown('alone')
  }

  /** Has an object compared, unless its rows will be compared anyway. */
  want(entry: KeyValue, urgency: 'urgent' | 'soon'): void {
    if (this.proven.difference !== undefined) return
    if (this.#urgent.length + this.#tasks.length >= tasksMax) return
    if (this.#isExcepted(this.#shapes.shapeOf(entry))) return
    const rows = this.proven.claim(this.#shapes.shapeOf(entry))
    if (rows === undefined) return
    this.add({ type: 'item', entry, rows }, urgency)
  }

  /** Objects of this shape are shown differently, which says nothing about other shapes: the types
   *  of an aggregated server are not known here, and another program may have written the stored
   *  object. */
  except(entry: KeyValue): void {
    const shape = this.#shapes.shapeOf(entry)
    const { epoch } = this.#shapes
    if (this.#excepted.epoch !== epoch) this.#excepted = { epoch, shapes: new Set() }
    this.#excepted.shapes.add(shape)
  }

  /** Its objects cannot be compared in one request: they are compared one by one. */
  compareSingly(): void {
    this.hasPage = false
    this.isSweepDue = true
    this.#onTask(this)
  }

  #isExcepted(shape: number): boolean {
    return this.#excepted.epoch === this.#shapes.epoch && this.#excepted.shapes.has(shape)
  }

  add(task: ComparisonTask, urgency: 'urgent' | 'soon'): void {
    ;(urgency === 'urgent' ? this.#urgent : this.#tasks).push(task)
    this.#onTask(this)
  }

  /** True if nothing is left to compare for now. */
  get isSettled(): boolean {
    if (this.proven.difference !== undefined) return !this.isSuspect
    const isIdle = this.underWay === 0 && !this.hasTask && !this.isSweepDue
    const isShown = this.hasObjects ? this.hasAlone : this.isEmptyProven
    return isShown && isIdle
  }

  /** True if a client waits for it. */
  get isUrgent(): boolean {
    return this.#urgent.length > 0
  }

  get hasTask(): boolean {
    return this.#urgent.length + this.#tasks.length > 0
  }

  take(): ComparisonTask | undefined {
    return this.#urgent.shift() ?? this.#tasks.shift()
  }

  /** The upstream has shown these objects in the same bytes as we do. */
  learn(entries: readonly KeyValue[], place: OutputPlace): void {
    if (this.isSuspect) this.proven.reopen()
    this.#suspicion = undefined
    for (const entry of entries) this.proven.learn(this.#shapes.shapeOf(entry), place)
    const [first] = entries
    if (first === undefined) this.isEmptyProven = true
    else if (!this.hasAlone) this.add({ type: 'alone', key: first.key }, 'urgent')
  }

  /** A difference was seen once. Nothing of the form is shown until it was checked again. */
  suspect(difference: string): void {
    this.#suspicion = difference
    this.proven.close(difference)
  }

  get isSuspect(): boolean {
    return this.#suspicion !== undefined
  }

  /** Its evidence is not valid any more. Open watches may still have it as their gate. */
  drop(): void {
    this.#isDropped = true
    this.close('the upstream is another one')
  }

  close(difference: string): void {
    this.#suspicion = undefined
    this.proven.close(difference)
    for (let task = this.take(); task !== undefined; task = this.take()) this.release(task)
  }

  /** Gives back the rows that a task has claimed. */
  release(task: ComparisonTask): void {
    if (task.type === 'item') this.proven.release(task.rows)
  }
}

const unproven = new Unproven()
const superseded = new Superseded()
const closed = new NotExact('the upstream shows it in another way')
