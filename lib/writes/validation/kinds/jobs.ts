/** Jobs and CronJobs. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { domainPrefixedPath } from '../domain-names.ts'
import { byteLength, dnsLabel } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkTemplate } from '../pods/pod-spec.ts'
import { checkLabelSelector, selects } from '../selectors.ts'
import { checkFailurePolicy, checkSuccessPolicy } from '../jobs/policies.ts'
import { checkJobStatus } from '../jobs/status.ts'
import { checkSchedule, checkTimeZone } from '../jobs/schedules.ts'

export const jobRules: Readonly<Record<string, KindRules>> = {
  'Job.batch': {
    hasOwnMetadata: true,
    create: object => checkJob(object, true),
    update: (object, old) => {
      // Jobs of old servers have only the labels without a prefix.
      const before = old.in('spec', 'template', 'metadata', 'labels')
      checkJob(
        object,
        prefixed.every(name => before.in(name).isSet),
      )
      checkChangedMeta(object, old)
      checkSelectedJob(object.in('spec'))
      checkJobUpdate(object, old)
    },
    subresources: { status: checkJobStatus },
  },
  'CronJob.batch': {
    hasFreeStatusMetadata: true,
    create: object => {
      checkCronJob(object.in('spec'))
      const name = object.in('metadata', 'name')
      if (name.text.length > 52) name.invalid('must be no more than 52 characters')
    },
    update: (object, old) => checkCronJob(object.in('spec'), old.in('spec')),
  },
}

function checkJob(object: Place, needsPrefixed: boolean): void {
  checkNewMeta(object)
  checkGeneratedSelector(object, needsPrefixed)
  const spec = object.in('spec')
  checkSelectedJob(spec)
  const [mode, completions] = [spec.in('completionMode').text, spec.in('completions').number]
  if (mode !== 'Indexed' || completions <= 0) return
  const name = object.in('metadata', 'name')
  const last = `${name.text}-${completions - 1}`
  if (dnsLabel(last).length === 0) return
  name.invalid(`will not able to create pod with invalid DNS label: ${last}`, name.text)
}

/** The labels that a Job's pods get so that it can find them. */
const ownLabels = [
  ['controller-uid', 'uid'],
  ['job-name', 'name'],
  ['batch.kubernetes.io/controller-uid', 'uid'],
  ['batch.kubernetes.io/job-name', 'name'],
] as const

const prefixed = ['batch.kubernetes.io/controller-uid', 'batch.kubernetes.io/job-name']

function checkGeneratedSelector(object: Place, needsPrefixed: boolean): void {
  const [spec, metadata] = [object.in('spec'), object.in('metadata')]
  const selector = spec.in('selector')
  if (spec.in('manualSelector').isTrue || !selector.isSet) return
  const labels = spec.in('template', 'metadata', 'labels')
  const expected = new Map<string, string>()
  for (const [label, member] of ownLabels) {
    if (!needsPrefixed && prefixed.includes(label)) continue
    const value = metadata.in(member).text
    expected.set(label, value)
    const place = labels.in(label).as(`${labels.path}[${label}]`)
    if (!place.isSet) place.required(`must be '${value}'`)
    else if (place.text !== value) place.invalid(`must be '${value}'`, labels.value)
  }
  const isRight = isValidSelector(selector)
  if (isRight && !selects(selector, expected)) selector.invalid('`selector` not auto-generated')
}

function isValidSelector(selector: Place): boolean {
  const alone = selector.with([])
  checkLabelSelector(alone)
  return alone.errors.length === 0
}

function checkSelectedJob(spec: Place): void {
  checkJobSpec(spec)
  const [selector, labels] = [spec.in('selector'), spec.in('template', 'metadata', 'labels')]
  if (selector.isSet) checkLabelSelector(selector)
  else selector.required()
  if (!isValidSelector(selector)) return
  if (selector.isSet && selects(selector, labels.object ?? new Map())) return
  labels.invalid('`selector` does not match template `labels`', labels.shown)
}

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
]

function checkJobSpec(spec: Place): void {
  for (const name of counts) spec.in(name).notNegative()
  const [perIndex, maxFailed] = [spec.in('backoffLimitPerIndex'), spec.in('maxFailedIndexes')]
  if (maxFailed.isSet && !perIndex.isSet) perIndex.required('when maxFailedIndexes is specified')
  const manager = spec.in('managedBy')
  if (manager.isSet) {
    domainPrefixedPath(manager)
    if (byteLength(manager.text) > 63) manager.tooLong(63)
  }
  const mode = spec.in('completionMode')
  if (mode.isSet) mode.oneOf(['NonIndexed', 'Indexed'], 'unsupported')
  if (mode.text === 'Indexed') checkIndexed(spec)
  if (!mode.isSet || mode.text === 'NonIndexed') {
    for (const place of [perIndex, maxFailed]) {
      if (place.isSet) place.invalid('requires indexed completion mode')
    }
  }
  const [failure, success] = [spec.in('podFailurePolicy'), spec.in('successPolicy')]
  if (failure.isSet) checkFailurePolicy(failure, spec)
  if (success.isSet) checkSuccessPolicy(success, spec)
  const replacement = spec.in('podReplacementPolicy')
  const replacements = failure.isSet ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  if (replacement.isSet) replacement.oneOf(replacements, 'unsupported')
  checkTemplate(spec.in('template'))
  checkRestarts(spec.in('template', 'spec', 'restartPolicy'), failure.isSet)
}

function checkIndexed(spec: Place): void {
  const [completions, parallelism, perIndex, maxFailed] = [
    spec.in('completions'),
    spec.in('parallelism'),
    spec.in('backoffLimitPerIndex'),
    spec.in('maxFailedIndexes'),
  ]
  if (!completions.isSet) completions.required('when completion mode is Indexed')
  if (parallelism.number > 100_000) {
    parallelism.invalid('must be less than or equal to 100000 when completion mode is Indexed')
  }
  if (completions.isSet && maxFailed.isSet && maxFailed.number > completions.number) {
    maxFailed.invalid('must be less than or equal to completions')
  }
  if (maxFailed.number > 100_000) maxFailed.invalid('must be less than or equal to 100000')
  if (completions.number <= 100_000 || !perIndex.isSet) return
  if (!maxFailed.isSet) {
    maxFailed.required('must be specified when completions is above 100000')
  }
  for (const place of [parallelism, maxFailed]) {
    if (place.number <= 10_000) continue
    place.invalid(
      'must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index',
    )
  }
}

function checkRestarts(policy: Place, hasFailurePolicy: boolean): void {
  if (policy.text === 'Always' || policy.text === '') {
    policy.required('valid values: "OnFailure", "Never"')
  } else if (policy.text !== 'OnFailure' && policy.text !== 'Never') {
    policy.notSupported(['OnFailure', 'Never'])
  } else if (hasFailurePolicy && policy.text !== 'Never') {
    policy.invalid('only "Never" is supported when podFailurePolicy is specified')
  }
}

function checkKept(place: Place, old: Place, shown: JsonValue = place.value ?? null): void {
  if (!isSame(place.value, old.value)) place.invalid('field is immutable', shown)
}

function checkJobUpdate(object: Place, old: Place): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  const [completions, parallelism] = [spec.in('completions'), spec.in('parallelism')]
  if (spec.in('completionMode').text !== 'Indexed') {
    checkKept(completions, before.in('completions'))
  } else if (completions.isSet && !isSame(completions.value, before.in('completions').value)) {
    if (completions.number !== parallelism.number) {
      completions.invalid('can only be modified in tandem with spec.parallelism')
    }
  }
  checkKept(spec.in('selector'), before.in('selector'))
  checkTemplateUpdate(object, old)
  checkKept(spec.in('completionMode'), before.in('completionMode'))
  const failure = spec.in('podFailurePolicy')
  const shownFailure = internalValue('*PodFailurePolicy', failure.value)
  checkKept(failure, before.in('podFailurePolicy'), shownFailure)
  for (const name of ['backoffLimitPerIndex', 'managedBy']) {
    checkKept(spec.in(name), before.in(name))
  }
  const success = spec.in('successPolicy')
  const shownSuccess = internalValue('*SuccessPolicy', success.value)
  checkKept(success, before.in('successPolicy'), shownSuccess)
}

/** Checks the template's fields that say on which nodes, and with what, pods of a Job run: they can
 *  change as long as it is suspended and none of them runs. */
function checkTemplateUpdate(object: Place, old: Place): void {
  const template = object.in('spec', 'template')
  const before = old.in('spec', 'template')
  const isSuspended = old.in('spec', 'suspend').isTrue
  const isAtRest = isSuspended && old.in('status', 'active').number === 0 && isHalted(old)
  if (isAtRest) {
    const spec = template.in('spec')
    if (isSame(spec.value, changed(before.in('spec'), spec))) return
    spec.invalid('field is immutable', internalValue('PodSpec', spec.value))
  } else if (!isSame(template.value, before.object ?? new Map())) {
    template.invalid('field is immutable', shownTemplate(template))
  }
}

/** Whether a suspended Job never started, or its controller says that it is suspended. */
function isHalted(old: Place): boolean {
  if (!old.in('status', 'startTime').isSet) return true
  return old.in('status', 'conditions').items.some(condition => {
    return condition.in('type').text === 'Suspended' && condition.in('status').text === 'True'
  })
}

/** The old spec of a template with what may change as it is in the new one. */
function changed(before: Place, spec: Place): JsonObject {
  const rest: JsonObject = new Map(before.object)
  for (const name of ['nodeSelector', 'tolerations', 'schedulingGates']) take(rest, spec, name)
  const affinity: JsonObject = new Map(before.in('affinity').object)
  take(affinity, spec.in('affinity'), 'nodeAffinity')
  if (affinity.size > 0) rest.set('affinity', affinity)
  else rest.delete('affinity')
  for (const name of ['containers', 'initContainers']) {
    const [known, given] = [before.in(name).items, spec.in(name).items]
    if (known.length !== given.length || known.length === 0) continue
    const containers = known.map((container, i): JsonValue => {
      const members: JsonObject = new Map(container.object)
      const now = given[i]
      if (now?.in('name').text === container.in('name').text) take(members, now, 'resources')
      return members
    })
    rest.set(name, containers)
  }
  return rest
}

function take(object: JsonObject, from: Place, name: string): void {
  const { value } = from.in(name)
  if (value === undefined) object.delete(name)
  else object.set(name, value)
}

function shownTemplate(template: Place): JsonValue {
  const spec = internalValue('PodSpec', template.in('spec').value)
  return new Map([...(template.in('metadata').object ?? []), ['Spec', spec]])
}

function checkCronJob(spec: Place, old?: Place): void {
  const [schedule, zone] = [spec.in('schedule'), spec.in('timeZone')]
  const mayNameZone = old?.in('schedule').text.includes('TZ') ?? false
  if (schedule.text === '') schedule.required()
  else checkSchedule(schedule, zone, mayNameZone)
  spec.in('startingDeadlineSeconds').notNegative()
  if (old === undefined || old.in('timeZone').value !== zone.value) checkTimeZone(zone)
  spec.in('concurrencyPolicy').oneOf(['Allow', 'Forbid', 'Replace'], 'required')
  const job = spec.in('jobTemplate', 'spec')
  checkJobSpec(job)
  const [selector, manual] = [job.in('selector'), job.in('manualSelector')]
  if (selector.isSet) selector.invalid('`selector` will be auto-generated')
  if (manual.isTrue) manual.notSupported(['nil', 'false'])
  spec.in('successfulJobsHistoryLimit').notNegative()
  spec.in('failedJobsHistoryLimit').notNegative()
}
