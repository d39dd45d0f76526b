/** Evidence before answers: an object leaves the mirror in a form only when everything that is peculiar about it was compared, byte for
 *  byte, with what the upstream itself shows. lib/codec/evidence says what is peculiar about an object: its rows.
 *
 *  For each resource and form the first comparison is of all its objects, where they are few; then one object is compared for every row
 *  that no other has shown yet. What is not proven passes, or waits for a moment where it is the event of a watch. A difference closes
 *  the form until the upstream is another: then all begins anew. What the comparisons may cost is bounded (`Pace`). */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { type Key, keyFromText, prefixRange } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import { Slice } from '../../base/slice.ts'
import type { Gate } from '../../codec/evidence/gate.ts'
import { Shapes } from '../../codec/evidence/shapes.ts'
import { NotExact } from '../../codec/not-exact.ts'
import type { ObjectEncoder, Shown } from '../../codec/served/object-encoder.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Batch, KeyValue } from '../../store/event.ts'
import type { Upstream } from '../upstream.ts'
import { compare, type Held, type Outcome, pageOf } from './compare.ts'
import { Form, type ShownForm, type Task } from './form.ts'
import { firstForms, formName, isComparedFirst, isMetadata } from './form-names.ts'
import { defaultPace, Pace, type PaceLimits } from './pace.ts'

export interface EvidenceOptions {
  readonly upstream: Pick<Upstream, 'call'>
  readonly clock: Clock
  readonly logger: Logger
  /** Every resource that may be answered from the mirror but for what is asked here, and what state of the upstream evidence of it is
   *  good for: another text means that it is not. */
  readonly wanted: () => ReadonlyMap<Resource, string>
  readonly held: (keyspace: Key) => Held | undefined
  readonly encoderOf: (resource: Resource) => ObjectEncoder | NotExact
  readonly pace?: PaceLimits | undefined
  /** Objects of the keyspace may be shown that could not be shown before, or never will. */
  readonly onConcluded: (keyspace: Key) => void
}

/** What is counted: comparisons by outcome, forms by state. */
export interface EvidenceFigures {
  readonly comparisons: Readonly<Record<Outcome['type'], number>>
  readonly bytes: number
  readonly forms: Readonly<Record<'unproven' | 'proven' | 'closed', number>>
}

interface Evident {
  readonly resource: Resource
  readonly state: string
  readonly forms: Map<string, Form>
}

/** Questions under way at once. */
const underWayMax = 4
const lookIntervalMs = 250
const retryFirstMs = 1_000
const retryMaxMs = 60_000
/** A difference may be one of a moment, such as a definition that one of us has and the other has not yet. */
const secondLookMs = 1_000

export class Evidence {
  readonly #options: EvidenceOptions
  readonly #shapes = new Shapes()
  readonly #pace: Pace
  readonly #stopped = new AbortController()
  readonly #byName = new Map<string, Evident>()
  #byResource = new WeakMap<Resource, Evident>()
  #byKeyspace = new Map<string, Evident[]>()
  readonly #busy = new Set<Form>()
  readonly #comparisons = { same: 0, differs: 0, moved: 0, inexact: 0, refused: 0, failed: 0 }
  #bytes = 0
  #underWay = 0
  #generations = 0
  #cancelLook: CancelTimer = () => {}
  #cancelRun: CancelTimer = () => {}

  constructor(options: EvidenceOptions) {
    this.#options = options
    this.#pace = new Pace(options.pace ?? defaultPace)
  }

  start(): void {
    this.look()
  }

  stop(): void {
    this.#stopped.abort()
    this.#cancelLook()
    this.#cancelRun()
  }

  /** Who lets objects of a resource out in a form; why nobody does. */
  gateOf(resource: Resource, shown: Shown): Gate | 'unproven' | 'differs' {
    const evident = this.#byResource.get(resource) ?? this.#evidentOf(resource)
    if (evident === undefined) return 'unproven'
    const form = this.#formOf(evident, shown)
    if (form.proven.difference !== undefined) return 'differs'
    return form.isBegun ? form : 'unproven'
  }

  /** Nothing of a resource is left to be compared in the forms that are in use. */
  isSettled(resource: Resource): boolean {
    const forms = this.#evidentOf(resource)?.forms
    return forms !== undefined && [...forms.values()].every(form => form.isSettled)
  }

  /** Where the upstream differs, in which form. */
  differences(): { readonly resource: Resource; readonly form: string; readonly at: string }[] {
    return [...this.#byName.values()].flatMap(({ resource, forms }) =>
      [...forms].flatMap(([form, { proven }]) =>
        proven.difference === undefined ? [] : [{ resource, form, at: proven.difference }],
      ),
    )
  }

  get figures(): EvidenceFigures {
    const forms = { unproven: 0, proven: 0, closed: 0 }
    for (const { forms: all } of this.#byName.values()) {
      for (const form of all.values()) {
        if (form.proven.difference !== undefined) forms.closed++
        else if (form.isBegun) forms.proven++
        else forms.unproven++
      }
    }
    return { comparisons: this.#comparisons, bytes: this.#bytes, forms }
  }

  /** What has changed is compared at once in the forms that are in use, so that it is proven when somebody asks for it. */
  applied(keyspace: Key, { events }: Batch): void {
    for (const { forms } of this.#byKeyspace.get(keyspace) ?? []) {
      for (const form of forms.values()) {
        if (!form.isBegun) continue
        for (const { after } of events) if (after !== undefined) this.#wantIfNew(form, after)
      }
    }
  }

  #wantIfNew(form: Form, entry: KeyValue): void {
    if (!form.proven.isProven(this.#shapes.shapeOf(entry))) form.want(entry, 'soon')
  }

  /** Takes up what is wanted by now, and lets go of what was found out about another state of the upstream. */
  look(): void {
    const wanted = this.#options.wanted()
    const names = new Set<string>()
    this.#byResource = new WeakMap()
    for (const [resource, state] of wanted) {
      const name = nameOf(resource)
      names.add(name)
      const known = this.#byName.get(name)
      if (known?.state === state) this.#byResource.set(resource, known)
      else this.#begin(resource, name, state)
    }
    for (const [name, evident] of this.#byName) {
      if (names.has(name)) continue
      this.#drop(evident)
      this.#byName.delete(name)
    }
    this.#byKeyspace = new Map()
    for (const evident of this.#byName.values()) {
      const prefix = keyFromText(evident.resource.storage?.prefix ?? '')
      this.#byKeyspace.set(prefix, [...(this.#byKeyspace.get(prefix) ?? []), evident])
    }
    this.#cancelLook()
    if (this.#stopped.signal.aborted) return
    this.#cancelLook = this.#options.clock.setTimer(lookIntervalMs, () => this.look())
  }

  #begin(resource: Resource, name: string, state: string): void {
    const known = this.#byName.get(name)
    if (known !== undefined) this.#drop(known)
    const evident: Evident = { resource, state, forms: new Map() }
    this.#generations++
    this.#byName.set(name, evident)
    this.#byResource.set(resource, evident)
    for (const shown of firstForms) {
      if (isComparedFirst(resource, shown)) this.#formOf(evident, shown)
    }
  }

  /** Open watches still hold its gates. */
  #drop({ forms }: Evident): void {
    for (const form of forms.values()) {
      this.#busy.delete(form)
      form.close('the upstream is another one')
    }
  }

  #evidentOf(resource: Resource): Evident | undefined {
    const found = this.#byName.get(nameOf(resource))
    if (found !== undefined) this.#byResource.set(resource, found)
    return found
  }

  #formOf({ resource, forms }: Evident, shown: ShownForm): Form {
    const name = formName(shown)
    const known = forms.get(name)
    if (known !== undefined) return known
    const form = new Form({
      resource,
      shown: {
        encoding: shown.encoding,
        rendering: isMetadata(shown) ? 'PartialObjectMetadataList' : shown.rendering,
        renderingVersion: shown.renderingVersion,
        includeObject: shown.includeObject,
      },
      shapes: this.#shapes,
      generation: `evidence ${this.#generations}`,
      onTask: this.#onTask,
    })
    forms.set(name, form)
    this.#onTask(form)
    return form
  }

  readonly #onTask = (form: Form): void => {
    this.#busy.add(form)
    this.#runIn(0)
  }

  #runIn(delayMs: number): void {
    if (this.#stopped.signal.aborted) return
    this.#cancelRun()
    this.#cancelRun = this.#options.clock.setTimer(delayMs, () => this.#run())
  }

  /** Asks the next questions: those that somebody waits for first, then a form after the other. */
  #run(): void {
    const { clock } = this.#options
    let nextMs = Infinity
    // Those that somebody waits for come first; the rest in turn.
    const forms = [...this.#busy].sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent))
    for (const form of forms) {
      if (this.#underWay >= underWayMax) return
      const nowMs = clock.monotonicMs()
      const waitMs = Math.max(this.#pace.waitMs(nowMs), form.dueMs - nowMs)
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs)
        continue
      }
      // Whose turn it was comes last.
      this.#busy.delete(form)
      if (form.hasTask || form.isSweepDue) {
        this.#busy.add(form)
        void this.#work(form)
      }
    }
    if (nextMs < Infinity) this.#runIn(nextMs)
  }

  async #work(form: Form): Promise<void> {
    this.#underWay++
    form.underWay++
    try {
      if (form.hasTask) await this.#ask(form)
      else await this.#sweep(form)
    } finally {
      this.#underWay--
      form.underWay--
      this.#runIn(0)
    }
  }

  /** Finds what is not proven among all objects: one object for every shape that has something new. Rich ones come first, because they
   *  prove what many others need. */
  async #sweep(form: Form): Promise<void> {
    form.isSweepDue = false
    const held = this.#heldOf(form)
    if (held === undefined) {
      this.#later(form)
      return
    }
    if (!form.isBegun && form.hasPage && pageOf(form, held) !== undefined) {
      form.add({ type: 'page' }, 'soon')
      return
    }
    const found = new Map<number, KeyValue>()
    const slice = new Slice(this.#options.clock)
    const range = prefixRange(keyFromText(form.resource.storage?.prefix ?? ''))
    for (const entry of held.snapshot.iterate(range)) {
      const shape = this.#shapes.shapeOf(entry)
      if (!found.has(shape) && !form.proven.isProven(shape)) found.set(shape, entry)
      if (slice.isOver) await slice.next()
    }
    const richest = [...found].sort(
      ([a], [b]) => this.#shapes.rowsOf(b).rows.length - this.#shapes.rowsOf(a).rows.length,
    )
    for (const [, entry] of richest) form.want(entry, 'soon')
  }

  async #ask(form: Form): Promise<void> {
    const task = form.take()
    const { clock, encoderOf, upstream } = this.#options
    const held = this.#heldOf(form)
    const encoder = encoderOf(form.resource)
    if (task === undefined) return
    if (held === undefined || encoder instanceof NotExact) {
      form.release(task)
      this.#later(form)
      return
    }
    this.#pace.asked(clock.monotonicMs())
    const outcome = await compare(
      {
        upstream,
        clock,
        held,
        encoder,
        signal: this.#stopped.signal,
        onBytes: bytes => {
          this.#bytes += bytes
          this.#pace.answered(bytes)
        },
      },
      form,
      task,
    )
    form.release(task)
    if (this.#stopped.signal.aborted || !this.#isOfNow(form)) return
    this.#comparisons[outcome.type]++
    this.#conclude(form, task, outcome)
    this.#options.onConcluded(keyFromText(form.resource.storage?.prefix ?? ''))
  }

  /** The upstream may have become another one meanwhile. */
  #isOfNow(form: Form): boolean {
    const forms = this.#byName.get(nameOf(form.resource))?.forms
    return forms?.get(formName(form.shown)) === form
  }

  #conclude(form: Form, task: Task, outcome: Outcome): void {
    switch (outcome.type) {
      case 'same':
        form.failures = 0
        form.learn(outcome.entries, outcome.place)
        return
      case 'differs':
        this.#differs(form, task, outcome.at)
        return
      case 'inexact':
        if (task.type === 'page') form.compareSingly()
        return
      case 'moved':
      case 'failed':
      case 'refused':
        this.#notAnswered(form, task, outcome)
        return
    }
  }

  /** Closed at once; opened again if it was a matter of a moment. */
  #differs(form: Form, task: Task, at: string): void {
    const { clock, logger } = this.#options
    if (form.resource.learned !== undefined && task.type !== 'alone') {
      if (task.type === 'item') form.except(task.entry)
      else form.compareSingly()
      return
    }
    if (form.isSuspect) {
      form.close(at)
      const { group, version, resource } = form.resource
      logger.error(
        'the upstream shows a resource in another way than the mirror would: requests for it in this form pass',
        { resource, group, version, form: formName(form.shown), at },
      )
      return
    }
    form.suspect(at)
    form.add(task, 'urgent')
    form.dueMs = clock.monotonicMs() + secondLookMs
  }

  #notAnswered(form: Form, task: Task, outcome: Outcome): void {
    if (outcome.type === 'refused' && form.failures === 0) {
      const { group, version, resource } = form.resource
      this.#options.logger.warn(
        'the upstream lets us not compare a resource with the mirror: requests for it pass',
        { resource, group, version, form: formName(form.shown), code: outcome.code },
      )
    }
    // What is under suspicion stays so until there is an answer, and what stands alone is asked for until there is one.
    if (form.isSuspect || task.type === 'alone') form.add(task, 'soon')
    this.#later(form)
  }

  #later(form: Form): void {
    const pauseMs = Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(form.failures++, 10))
    form.dueMs = this.#options.clock.monotonicMs() + pauseMs
    form.isSweepDue = true
    this.#onTask(form)
  }

  #heldOf({ resource }: Form): Held | undefined {
    return this.#options.held(keyFromText(resource.storage?.prefix ?? ''))
  }
}

function nameOf({ group, version, resource, custom }: Resource): string {
  return `${group}/${version}/${resource} ${custom?.definedAt ?? ''}`
}
