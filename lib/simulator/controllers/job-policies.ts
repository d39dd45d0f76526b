/** The policies of a job: what the failure of a pod means (podFailurePolicy, KEP-3329), and when
 *  enough indexes have succeeded (successPolicy, KEP-3998). */

import type { PodFact } from '../runtime/facts.ts'
import type { Job, PodFailureRule } from '../runtime/job.ts'
import type { ContainerExit } from '../runtime/job-pod-fact.ts'
import {
  commonIndexCount,
  indexCount,
  type IndexIntervals,
  indexesFromText,
} from './job-indexes.ts'

export interface FailureVerdict {
  /** The failure counts towards the limit. */
  readonly counts: boolean
  /** Undefined: no rule matches. */
  readonly action?: string
  /** Why the job fails, if it does. */
  readonly message?: string
}

/** The first rule that matches decides (matchPodFailurePolicy). */
export function failureVerdict({ spec }: Job, pod: PodFact): FailureVerdict {
  for (const [at, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = whyMatched(rule, pod)
    if (why === undefined) continue
    const { action } = rule
    if (action === 'Ignore') return { counts: false, action }
    if (action === 'FailIndex' || action === 'Count') return { counts: true, action }
    if (action === 'FailJob') {
      return { counts: true, action, message: `${why} matching FailJob rule at index ${at}` }
    }
  }
  return { counts: true }
}

function whyMatched(
  { onExitCodes, onPodConditions = [] }: PodFailureRule,
  { namespace, name, job }: PodFact,
): string | undefined {
  if (onExitCodes !== undefined) {
    const exit = job?.exits.find(one => isMatched(onExitCodes, one))
    if (exit === undefined) return undefined
    return `Container ${exit.name} for pod ${namespace}/${name} failed with exit code ${exit.exitCode}`
  }
  const met = job?.conditions.find(({ type, status }) =>
    onPodConditions.some(one => one.type === type && one.status === status),
  )
  return met && `Pod ${namespace}/${name} has condition ${met.type}`
}

function isMatched(
  { containerName, operator, values }: NonNullable<PodFailureRule['onExitCodes']>,
  { name, exitCode }: ContainerExit,
): boolean {
  if (containerName !== undefined && containerName !== name) return false
  if (operator === 'In') return values.includes(exitCode)
  return operator === 'NotIn' && !values.includes(exitCode)
}

/** The message about the first rule that is met (matchSuccessPolicy). */
export function successMessage(
  { successPolicy, completions = 1 }: Job['spec'],
  succeeded: IndexIntervals,
): string | undefined {
  if (succeeded.length === 0) return undefined
  const at = successPolicy?.rules.findIndex(({ succeededIndexes, succeededCount = Infinity }) => {
    if (succeededIndexes === undefined) return indexCount(succeeded) >= succeededCount
    const required = indexesFromText(succeededIndexes, completions)
    if (required.length === 0) return false
    const common = commonIndexCount(required, succeeded)
    return common === indexCount(required) || common >= succeededCount
  })
  return at === undefined || at < 0 ? undefined : `Matched rules at index ${at}`
}
