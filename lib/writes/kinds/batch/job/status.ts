/** The status of Jobs. Other controllers than Kubernetes' own may write it (`spec.managedBy`), so
 *  that what a write changes is looked at: what was wrong before and stays so is no error. */

import { goParseInt, goQuote } from '@watchglass/go'
import { internalValue } from '../../../validation/internal-types.ts'
import { checkChangedMeta, isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'

/** A Job before or after the write. */
class Job {
  readonly object: Place
  readonly status: Place
  readonly #true: ReadonlySet<string>

  constructor(object: Place) {
    this.object = object
    this.status = object.in('status')
    this.#true = new Set(
      this.status
        .in('conditions')
        .items.filter(condition => condition.in('status').text === 'True')
        .map(condition => condition.in('type').text),
    )
  }

  is(condition: string): boolean {
    return this.#true.has(condition)
  }

  get isFinished(): boolean {
    return this.is('Complete') || this.is('Failed')
  }

  get isIndexed(): boolean {
    return this.object.in('spec', 'completionMode').text === 'Indexed'
  }

  get completions(): number | undefined {
    const completions = this.object.in('spec', 'completions')
    return completions.isSet ? completions.number : undefined
  }
}

/** A Job and what a write has changed of it. */
class JobChange extends Job {
  readonly old: Job

  constructor(object: Place, old: Place) {
    super(object)
    this.old = new Job(old)
  }

  hasChanged(...names: readonly string[]): boolean {
    return names.some(name => !isSame(this.status.in(name).value, this.old.status.in(name).value))
  }

  hasTurned(...conditions: readonly string[]): boolean {
    return conditions.some(condition => this.is(condition) !== this.old.is(condition))
  }

  get hasFinished(): boolean {
    return this.isFinished !== this.old.isFinished
  }

  refuseConditions(detail: string): void {
    this.status.in('conditions').invalidPlainly(detail)
  }
}

export function checkJobStatus(object: Place, old: Place): void {
  checkChangedMeta(object, old)
  const job = new JobChange(object, old)
  for (const name of ['active', 'succeeded', 'failed', 'ready', 'terminating']) {
    job.status.in(name).notNegative()
  }
  checkUncounted(job.status.in('uncountedTerminatedPods'))
  checkEnds(job)
  checkFinished(job)
  checkIndexes(job)
  checkPods(job)
  checkSuccess(job)
  checkTransitions(job)
}

/** Pods that are not counted yet, each once. */
function checkUncounted(uncounted: Place): void {
  const seen = new Set<string>()
  for (const uid of [...uncounted.in('succeeded').items, ...uncounted.in('failed').items]) {
    if (uid.text === '') uid.invalid('must not be empty')
    else if (seen.has(uid.text)) uid.duplicate()
    seen.add(uid.text)
  }
}

/** Conditions that exclude each other, and times that go with them. */
function checkEnds(job: JobChange): void {
  const [start, end] = [job.status.in('startTime'), job.status.in('completionTime')]
  const isComplete = job.is('Complete')
  if (job.hasTurned('Complete', 'Failed') && isComplete && job.is('Failed')) {
    job.refuseConditions('cannot set Complete=True and Failed=true conditions')
  }
  if (job.hasTurned('Complete', 'FailureTarget') && isComplete && job.is('FailureTarget')) {
    job.refuseConditions('cannot set Complete=True and FailureTarget=true conditions')
  }
  if (job.hasTurned('Complete') || job.hasChanged('completionTime')) {
    if (end.isSet && !isComplete) {
      end.invalid('cannot set completionTime when there is no Complete=True condition')
    } else if (!end.isSet && isComplete) {
      end.required('completionTime is required for Complete jobs')
    }
  }
  if (!job.hasChanged('startTime', 'completionTime') || !start.isSet || !end.isSet) return
  if (end.text < start.text) end.invalid('must be equal to or after `startTime`')
}

/** A Job that has ended. */
function checkFinished(job: JobChange): void {
  const { status, hasFinished, isFinished } = job
  if (job.hasTurned('Failed') || job.hasChanged('failedIndexes')) {
    if (job.is('Failed') && !job.is('FailureTarget')) {
      job.refuseConditions(
        'cannot set Failed=True condition without the FailureTarget=true condition',
      )
    }
  }
  if (job.hasTurned('Complete', 'SuccessCriteriaMet')) {
    if (job.is('Complete') && !job.is('SuccessCriteriaMet')) {
      job.refuseConditions(
        'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
      )
    }
  }
  if (!isFinished) return
  const [active, start] = [status.in('active'), status.in('startTime')]
  const uncounted = status.in('uncountedTerminatedPods')
  if ((hasFinished || job.hasChanged('active')) && active.number > 0) {
    active.invalid('active>0 is invalid for finished job')
  }
  const isEmpty = job.object.in('spec', 'suspend').isTrue && job.completions === 0
  if ((hasFinished || job.hasChanged('startTime')) && !isEmpty && !start.isSet) {
    start.required('startTime is required for finished job')
  }
  if (hasFinished || job.hasChanged('uncountedTerminatedPods')) {
    if (uncounted.in('failed').size + uncounted.in('succeeded').size > 0) {
      const shown = internalValue('UncountedTerminatedPods', uncounted.value)
      uncounted.invalid('must be empty for finished job', shown)
    }
  }
}

/** Indexes that have succeeded, and those that have failed. */
function checkIndexes(job: JobChange): void {
  const [completed, failed] = [job.status.in('completedIndexes'), job.status.in('failedIndexes')]
  const isLimited = job.object.in('spec', 'backoffLimitPerIndex').isSet
  const isFailedNew = failed.isSet && !isSameText(failed, job.old.status.in('failedIndexes'))
  const isCompletedNew = completed.text !== job.old.status.in('completedIndexes').text
  const { completions } = job
  if (completions !== undefined && isCompletedNew) checkFormat(completed, completions)
  if (completions !== undefined && isFailedNew && isLimited) checkFormat(failed, completions)
  if (isCompletedNew && completed.text !== '' && !job.isIndexed) {
    completed.invalid('cannot set non-empty completedIndexes when non-indexed completion mode')
  }
  if (isFailedNew && !isLimited) {
    failed.invalid('cannot set non-null failedIndexes when backoffLimitPerIndex is null')
  }
  if (completions === undefined || !(isFailedNew || isCompletedNew)) return
  const shared = overlapOf(completed.text, failed.text, completions)
  if (shared !== undefined) {
    failed.invalid(`failedIndexes and completedIndexes overlap at index: ${shared}`)
  }
}

function isSameText(place: Place, old: Place): boolean {
  return place.isSet === old.isSet && place.text === old.text
}

type Interval = { readonly first: number; readonly last: number } | { readonly error: string }

function checkFormat(indexes: Place, completions: number): void {
  if (indexes.text === '') return
  const name = indexes.path.slice(indexes.path.lastIndexOf('.') + 1)
  let before: number | undefined
  for (const text of indexes.text.split(',')) {
    const interval = intervalOf(text, completions)
    const error = 'error' in interval ? interval.error : orderOf(before, interval.first)
    if (error !== undefined) {
      indexes.invalid(`error parsing ${name}: ${error}`)
      return
    }
    if ('last' in interval) before = interval.last
  }
}

function orderOf(previous: number | undefined, current: number): string | undefined {
  if (previous === undefined || previous < current) return undefined
  return `non-increasing order, previous: ${previous}, current: ${current}`
}

/** The interval of indexes in a text such as `3` or `3-5`. */
function intervalOf(text: string, completions: number): Interval {
  const parts = text.split('-')
  if (parts.length > 2) {
    return {
      error: `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    }
  }
  const numbers: number[] = []
  for (const part of parts) {
    const { value } = goParseInt(part, 'Atoi')
    if (value === undefined) {
      return { error: `cannot convert string to integer for index: ${goQuote(part)}` }
    }
    if (value >= completions) return { error: `too large index: ${goQuote(part)}` }
    numbers.push(Number(value))
  }
  const [first = 0, last = first] = numbers
  const error = parts.length === 1 ? undefined : orderOf(first, last)
  return error === undefined ? { first, last } : { error }
}

/** The first index that both have; what is no interval is passed over. */
function overlapOf(completed: string, failed: string, completions: number): number | undefined {
  const [ours = [], theirs = []] = [completed, failed].map(list =>
    list
      .split(',')
      .map(text => intervalOf(text, completions))
      .filter(interval => 'first' in interval),
  )
  for (let [i, j] = [0, 0]; ;) {
    const [one, other] = [ours[i], theirs[j]]
    if (one === undefined || other === undefined) return undefined
    if (one.first <= other.last && other.first <= one.last) return Math.max(one.first, other.first)
    if (one.first <= other.first) i++
    else j++
  }
}

function checkPods(job: JobChange): void {
  const { status } = job
  const [terminating, ready] = [status.in('terminating'), status.in('ready')]
  if (job.hasFinished || job.hasChanged('terminating')) {
    if (terminating.number > 0 && job.isFinished) {
      terminating.invalid('terminating>0 is invalid for finished job')
    }
  }
  if (job.hasChanged('ready', 'active') && ready.isSet) {
    if (ready.number > status.in('active').number) {
      ready.invalid('cannot set more ready pods than active')
    }
  }
}

function checkSuccess(job: JobChange): void {
  if (job.is('SuccessCriteriaMet')) {
    for (const other of ['Failed', 'FailureTarget']) {
      if (!job.is(other)) continue
      job.refuseConditions(`cannot set SuccessCriteriaMet=True and ${other}=true conditions`)
    }
  } else if (job.object.in('spec', 'successPolicy').isSet && job.is('Complete')) {
    job.refuseConditions(
      'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True',
    )
  }
}

/** The conditions, counts and times that cannot go back. */
function checkTransitions(job: JobChange): void {
  const { status, old } = job
  for (const condition of ['Failed', 'Complete', 'FailureTarget']) {
    if (!old.is(condition) || job.is(condition)) continue
    job.refuseConditions(`cannot disable the terminal ${condition}=True condition`)
  }
  const spec = job.object.in('spec')
  // Jobs with as many pods at once as they need may be scaled down.
  const mayShrink =
    job.isIndexed && isSame(spec.in('completions').value, spec.in('parallelism').value)
  for (const name of mayShrink ? ['failed'] : ['failed', 'succeeded']) {
    const count = status.in(name)
    if (count.number >= old.status.in(name).number) continue
    count.invalid(`cannot decrease the ${name} counter`, count.number)
  }
  const [end, oldEnd] = [status.in('completionTime'), old.status.in('completionTime')]
  if (end.isSet && oldEnd.isSet && end.text !== oldEnd.text) end.invalid('field is immutable')
  checkStart(job)
  if (old.is('SuccessCriteriaMet') && !job.is('SuccessCriteriaMet')) {
    job.refuseConditions('cannot disable the SuccessCriteriaMet=True condition')
  }
  if (old.is('Complete') && !old.is('SuccessCriteriaMet') && job.is('SuccessCriteriaMet')) {
    job.refuseConditions(
      'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    )
  }
}

/** The start stays unless the Job is suspended, or resumed with this write. */
function checkStart({ object, status, old }: JobChange): void {
  const [start, before] = [status.in('startTime'), old.status.in('startTime')]
  const isResuming =
    old.is('Suspended') &&
    status.in('conditions').items.some(condition => {
      return condition.in('type').text === 'Suspended' && condition.in('status').text === 'False'
    })
  if (!before.isSet || start.text === before.text || isResuming) return
  if (object.in('spec', 'suspend').isTrue) return
  start.invalid('field is immutable for unsuspended job once set', start.value ?? null)
}
