/** The spec of a Job, of its own or of a CronJob's template. */

import { domainPrefixedPath } from '../../../validation/domain-names.ts'
import { byteLength } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'
import { checkTemplate } from '../../../validation/pods/pod-spec.ts'
import { ofPod } from '../../../warnings/pods.ts'
import { checkFailurePolicy, checkSuccessPolicy } from './policies.ts'

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
]

export function checkJobSpec(spec: Place, old?: Place): void {
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
  checkTemplate(spec.in('template'), old?.in('template'))
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

export function ofJob(spec: Place, isChecked: boolean): string[] {
  if (!isChecked) return []
  const isLarge =
    spec.in('completionMode').text === 'Indexed' &&
    spec.in('completions').number > 100_000 &&
    spec.in('parallelism').number > 10_000
  return [
    ...(isLarge
      ? [
          `${spec.path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...ofPod(spec.in('template'), true),
  ]
}
