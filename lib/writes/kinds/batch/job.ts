/** Jobs: pods that run to their end. A Job makes the selector of its pods itself, most of its spec
 *  never changes, and its status only goes on (KEP 3998, KEP 3850, KEP 3329). */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { metadataOf, textOf } from '../../metadata.ts'
import { dnsLabel } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { hasWrongTerms } from '../../validation/pods/scheduling.ts'
import { checkLabelSelector, isWrongSelector, selects } from '../../validation/selectors.ts'
import { hasChanged, ofPodName } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkJobSpec, ofJob } from './job/spec.ts'
import { checkJobStatus } from './job/status.ts'

export const job: BuiltInKind = kind({
  group: 'batch',
  kind: 'Job',
  plural: 'jobs',
  hasStatus: true,
  collection: 'orphan',
  counted: ['spec'],
  podSpec: ['spec', 'template', 'spec'],
  prepareCreate: selectPods,
  hasOwnMetadata: true,
  validateCreate: object => checkJob(object, true),
  validateUpdate: (object, old) => {
    // Jobs of old servers have only the labels without a prefix.
    const before = old.in('spec', 'template', 'metadata', 'labels')
    checkJob(
      object,
      prefixed.every(name => before.in(name).isSet),
      old,
    )
    checkChangedMeta(object, old)
    checkSelectedJob(object.in('spec'), old.in('spec'))
    checkJobUpdate(object, old)
  },
  warn: (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofJob(object.in('spec'), hasChanged(object, old)),
  ],
  warningOfDelete:
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  subresources: {
    status: {
      validate: checkJobStatus,
    },
  },
})

/** The labels that a Job's pods get so that it can find them. */
const ownLabels = [
  ['controller-uid', 'uid'],
  ['job-name', 'name'],
  ['batch.kubernetes.io/controller-uid', 'uid'],
  ['batch.kubernetes.io/job-name', 'name'],
] as const

/** A Job chooses its pods by labels that it makes itself, unless it says otherwise. */
function selectPods(object: JsonObject): void {
  const job = object.get('spec')
  if (!(job instanceof Map) || job.get('manualSelector') === true) return
  const uid = textOf(memberOf(object.get('metadata'), 'uid'))
  const template = job.get('template')
  if (!(template instanceof Map)) return
  const metadata = metadataOf(template)
  const known = metadata.get('labels')
  const labels: JsonObject = known instanceof Map ? new Map(known) : new Map()
  for (const [label, member] of ownLabels) {
    if (!labels.has(label)) labels.set(label, textOf(memberOf(object.get('metadata'), member)))
  }
  const sorted = new Map([...labels].sort(([a], [b]) => (a < b ? -1 : 1)))
  metadata.set('labels', sorted)
  const own = metadataOf(object)
  if (known !== undefined && own.get('labels') === known) own.set('labels', sorted)
  const selector = job.get('selector')
  const chosen: JsonObject = selector instanceof Map ? new Map(selector) : new Map()
  const matched = chosen.get('matchLabels')
  const matchLabels: JsonObject = matched instanceof Map ? new Map(matched) : new Map()
  if (!matchLabels.has('batch.kubernetes.io/controller-uid')) {
    matchLabels.set('batch.kubernetes.io/controller-uid', uid)
  }
  chosen.set('matchLabels', matchLabels)
  job.set('selector', chosen)
}

function checkJob(object: Place, needsPrefixed: boolean, old?: Place): void {
  checkNewMeta(object)
  checkGeneratedSelector(object, needsPrefixed)
  const spec = object.in('spec')
  checkSelectedJob(spec, old?.in('spec'))
  const [mode, completions] = [spec.in('completionMode').text, spec.in('completions').number]
  if (mode !== 'Indexed' || completions <= 0) return
  const name = object.in('metadata', 'name')
  const last = `${name.text}-${completions - 1}`
  if (dnsLabel(last).length === 0) return
  name.invalid(`will not able to create pod with invalid DNS label: ${last}`, name.text)
}

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
  const isRight = !isWrongSelector(selector)
  if (isRight && !selects(selector, expected)) selector.invalid('`selector` not auto-generated')
}

function checkSelectedJob(spec: Place, old: Place | undefined): void {
  checkJobSpec(spec, old)
  const [selector, labels] = [spec.in('selector'), spec.in('template', 'metadata', 'labels')]
  const areValuesFree =
    isWrongSelector(old?.in('selector')) || hasWrongTerms(old?.in('template', 'spec'))
  if (selector.isSet) checkLabelSelector(selector, { areValuesFree })
  else selector.required()
  if (isWrongSelector(selector)) return
  if (selector.isSet && selects(selector, labels.object ?? new Map())) return
  labels.invalid('`selector` does not match template `labels`', labels.shown)
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
