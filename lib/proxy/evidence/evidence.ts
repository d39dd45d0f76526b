/** Evidence before answers: the mirror shows an object in a form only if each of its rows was
 *  compared, byte for byte, with the upstream's own answer. lib/proxy/evidence/rows defines the
 *  rows of an object.
 *
 *  For each resource and form, all objects are compared first if they are few; then one object is
 *  compared for every row that no other has proven yet. Reads of unproven objects pass; events of
 *  watches wait for a moment. A difference closes the form until the upstream changes: then
 *  everything is compared again. The cost of the comparisons is bounded (`Pace`). */

import {
  type CancelTimer,
  type Clock,
  type Key,
  type Logger,
  NotExact,
  Slice,
} from '@watchglass/base'
import type { Gate, ObjectEncoder, OutputForm } from '@watchglass/codec'
import { Shapes } from './rows/shapes.ts'
import { keyspacesOf, type Resource } from '@watchglass/kube'
import type { Batch, KeyValue } from '@watchglass/store'
import type { Upstream } from '../upstream/upstream.ts'
import { compare, type Held, type FormOutcome, pageOf } from './compare.ts'
import { type Evident, Evidents, type WantedVersions } from './evidents.ts'
import { Form, type ComparedForm, type ComparisonTask } from './form.ts'
import { comparedForm, firstForms, formName, isComparedFirst } from './form-names.ts'
import { defaultPace, Pace, type PaceLimits } from './pace.ts'
import { entriesOf, firstSample, samplesOf, sampleWith } from './samples.ts'

export interface EvidenceOptions {
  /** Servers of a version of `wanted`. */
  readonly upstreamOf: (version: string) => Pick<Upstream, 'call'>
  readonly clock: Clock
  readonly logger: Logger
  readonly wanted: () => WantedVersions
  /** The gate of objects that servers of several versions show alike; undefined while all objects
   *  are, as far as is known. Others are not compared. */
  readonly alikeGateOf?: ((resource: Resource, output: OutputForm) => Gate | undefined) | undefined
  readonly held: (keyspace: Key) => Held | undefined
  readonly encoderOf: (resource: Resource) => ObjectEncoder | NotExact
  readonly pace?: PaceLimits | undefined
  /** Called when more objects of the keyspace may be shown, or when it is known that they never
   *  will be. */
  readonly onConcluded: (keyspace: Key) => void
}

/** The figures of evidence: comparisons by outcome, forms by state. */
export interface EvidenceFigures {
  readonly comparisons: Readonly<Record<FormOutcome['type'], number>>
  readonly bytes: number
  readonly forms: Readonly<Record<'unproven' | 'proven' | 'closed', number>>
}

/** Comparisons that run at the same time. */
const underWayMax = 4
const lookIntervalMs = 250
const retryFirstMs = 1_000
const retryMaxMs = 60_000
/** A difference may be temporary, such as a definition that only one side has seen yet. */
const secondLookMs = 1_000

export class Evidence {
  readonly #options: EvidenceOptions
  readonly #shapes = new Shapes()
  readonly #pace: Pace
  readonly #stopped = new AbortController()
  readonly #evidents: Evidents
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
    this.#evidents = new Evidents({
      begin: evident => this.#begin(evident),
      drop: evident => this.#drop(evident),
    })
  }

  start(): void {
    this.look()
  }

  stop(): void {
    this.#stopped.abort()
    this.#cancelLook()
    this.#cancelRun()
  }

  /** The gate that objects of a resource in a form must pass; or why there is none. */
  gateOf(resource: Resource, output: OutputForm): Gate | 'unproven' | 'differs' {
    const evidents = this.#evidents.of(resource)
    const forms = evidents.map(evident => this.#formOf(evident, output))
    if (forms.length === 0) return 'unproven'
    if (forms.some(({ proven }) => proven.difference !== undefined)) return 'differs'
    // Scales are compared when they are asked for.
    if (!forms.every(form => form.isBegun || form.isScale)) return 'unproven'
    const alike = this.#options.alikeGateOf?.(resource, output)
    return allOf(alike === undefined ? forms : [alike, ...forms])
  }

  /** The evidence of a resource for each version of its servers. */
  evidentsOf(resource: Resource): readonly Evident[] {
    return this.#evidents.of(resource)
  }

  evidents(): readonly Evident[] {
    return this.#evidents.all()
  }

  /** True if nothing of a resource is left to compare in the forms that are in use. */
  isSettled(resource: Resource): boolean {
    const evidents = this.#evidents.of(resource)
    const forms = evidents.flatMap(evident => [...evident.forms.values()])
    return forms.length > 0 && forms.every(form => form.isSettled)
  }

  /** In which form the upstream differs, and where. */
  differences(): { readonly resource: Resource; readonly form: string; readonly at: string }[] {
    return this.#evidents
      .all()
      .flatMap(({ resource, forms }) =>
        [...forms].flatMap(([form, { proven }]) =>
          proven.difference === undefined ? [] : [{ resource, form, at: proven.difference }],
        ),
      )
  }

  /** Other versions answer than before: what was found to differ is compared again. */
  versionsChanged(): void {
    this.look()
    this.#evidents.reopen()
  }

  /** The upstream has answers again: what had none is compared now, and not after the pauses that
   *  have grown meanwhile. */
  upstreamIsBack(): void {
    for (const form of this.#busy) {
      if (form.failures === 0) continue
      form.failures = 0
      form.dueMs = 0
    }
    this.look()
    this.#runIn(0)
  }

  get figures(): EvidenceFigures {
    const forms = { unproven: 0, proven: 0, closed: 0 }
    for (const { forms: all } of this.#evidents.all()) {
      for (const form of all.values()) {
        if (form.proven.difference !== undefined) forms.closed++
        else if (form.isBegun) forms.proven++
        else forms.unproven++
      }
    }
    return { comparisons: this.#comparisons, bytes: this.#bytes, forms }
  }

  /** Compares changed objects at once in the forms that are in use, so that they are proven when a
   *  client asks for them. */
  applied(keyspace: Key, { events }: Batch): void {
    for (const { forms } of this.#evidents.in(keyspace)) {
      for (const form of forms.values()) {
        if (!form.isBegun) continue
        for (const { after } of events) if (after !== undefined) this.#wantIfNew(form, after)
      }
    }
  }

  #wantIfNew(form: Form, entry: KeyValue): void {
    if (!form.proven.isProven(this.#shapes.shapeOf(entry))) form.want(entry, 'soon')
  }

  /** Adds the resources that are wanted now, and drops the evidence of another state of the
   *  upstream. */
  look(): void {
    this.#evidents.take(this.#options.wanted())
    this.#cancelLook()
    if (this.#stopped.signal.aborted) return
    this.#cancelLook = this.#options.clock.setTimer(lookIntervalMs, () => this.look())
  }

  #begin(evident: Evident): void {
    for (const output of firstForms) {
      if (isComparedFirst(evident.resource, output)) this.#formOf(evident, output)
    }
  }

  /** Closes the forms: open watches still hold their gates. */
  #drop({ forms }: Evident): void {
    for (const form of forms.values()) {
      this.#busy.delete(form)
      form.drop()
    }
  }

  #formOf({ resource, version, forms }: Evident, output: ComparedForm): Form {
    const name = formName(output)
    const known = forms.get(name)
    if (known !== undefined) return known
    const form = new Form({
      resource,
      version,
      output: comparedForm(output),
      shapes: this.#shapes,
      generation: `evidence ${++this.#generations}`,
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

  /** Starts the next comparisons: first those that a client waits for, then those of one form after
   *  the other. */
  #run(): void {
    const { clock } = this.#options
    let nextMs = Infinity
    // Forms that a client waits for come first, the others in turn.
    const forms = [...this.#busy].sort((a, b) => Number(b.isUrgent) - Number(a.isUrgent))
    for (const form of forms) {
      if (this.#underWay >= underWayMax) return
      const nowMs = clock.monotonicMs()
      const waitMs = Math.max(this.#pace.waitMs(nowMs), form.dueMs - nowMs)
      if (waitMs > 0) {
        nextMs = Math.min(nextMs, waitMs)
        continue
      }
      // The form that had its turn goes to the end.
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

  /** Searches all objects for unproven rows: one object for every shape that has some. Those with
   *  most rows come first, because they prove what many others need. */
  async #sweep(form: Form): Promise<void> {
    form.isSweepDue = false
    const { clock, held } = this.#options
    const samples = samplesOf(form.resource, held)
    const first = firstSample(samples)
    if (first === undefined) {
      this.#later(form)
      return
    }
    if (!form.hasObjects && form.hasPage && pageOf(form, first) !== undefined) {
      form.add({ type: 'page' }, 'soon')
      return
    }
    const found = new Map<number, KeyValue>()
    const slice = new Slice(clock)
    for (const entry of entriesOf(form.resource, samples)) {
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
    const { clock, encoderOf, upstreamOf, alikeGateOf } = this.#options
    if (task === undefined) return
    const held = this.#heldFor(form, task)
    const encoder = encoderOf(form.resource)
    if (held === undefined || encoder instanceof NotExact) {
      form.release(task)
      this.#later(form)
      return
    }
    await encoder.prepare(form.output, clock)
    this.#pace.asked(clock.monotonicMs())
    const outcome = await compare(
      {
        upstream: upstreamOf(form.version),
        gate: alikeGateOf?.(form.resource, { ...form.output, now: clock.wallMs() }),
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
    if (this.#stopped.signal.aborted || !this.#evidents.has(form)) return
    this.#comparisons[outcome.type]++
    this.#conclude(form, task, outcome)
    for (const keyspace of keyspacesOf(form.resource)) this.#options.onConcluded(keyspace)
  }

  #conclude(form: Form, task: ComparisonTask, outcome: FormOutcome): void {
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
        // The next client that asks has it compared again.
        if (form.isScale && !form.isSuspect) return
        this.#notAnswered(form, task, outcome)
        return
      case 'failed':
      case 'refused':
        this.#notAnswered(form, task, outcome)
        return
    }
  }

  /** Closes the form at once; it is opened again if the difference was temporary. */
  #differs(form: Form, task: ComparisonTask, at: string): void {
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
        { resource, group, version, form: formName(form.output), at },
      )
      return
    }
    form.suspect(at)
    form.add(task, 'urgent')
    form.dueMs = clock.monotonicMs() + secondLookMs
  }

  #notAnswered(form: Form, task: ComparisonTask, outcome: FormOutcome): void {
    if (outcome.type === 'refused' && form.failures === 0) {
      const { group, version, resource } = form.resource
      const verb = task.type === 'alone' || form.isScale ? 'get' : 'list'
      this.#options.logger.warn(
        'the upstream refuses to be compared for a resource: requests for it pass to the upstream',
        { verb, resource, group, version, form: formName(form.output), code: outcome.code },
      )
    }
    // A suspected form is compared until there is an answer, and so is a single object.
    if (form.isSuspect || task.type === 'alone') form.add(task, 'soon')
    this.#later(form)
  }

  #later(form: Form): void {
    const pauseMs = Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(form.failures++, 10))
    form.dueMs = this.#options.clock.monotonicMs() + pauseMs
    form.isSweepDue = true
    this.#onTask(form)
  }

  /** The contents that a comparison needs. */
  #heldFor({ resource }: Form, task: ComparisonTask): Held | undefined {
    const { held } = this.#options
    if (task.type === 'page') return firstSample(samplesOf(resource, held))
    return sampleWith(resource, task.type === 'item' ? task.entry.key : task.key, held)
  }
}

/** All of them must be passed. */
function allOf(gates: readonly Gate[]): Gate {
  const [first, ...others] = gates
  if (first === undefined || others.length === 0) return first as Gate
  return {
    name: gates.map(({ name }) => name).join(' '),
    objection(entry, place) {
      for (const gate of gates) {
        const objection = gate.objection(entry, place)
        if (objection !== undefined) return objection
      }
      return undefined
    },
  }
}
