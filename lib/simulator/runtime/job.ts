/** A job as its controller reads it. */

import type { Metadata, PodTemplate, Selector, StatusCondition } from './objects.ts'

export interface Job {
  readonly metadata: Metadata
  readonly spec: {
    readonly parallelism?: number
    readonly completions?: number
    readonly completionMode?: string
    readonly suspend?: boolean
    readonly backoffLimit?: number
    readonly backoffLimitPerIndex?: number
    readonly maxFailedIndexes?: number
    readonly activeDeadlineSeconds?: number
    readonly ttlSecondsAfterFinished?: number
    readonly podFailurePolicy?: { readonly rules: readonly PodFailureRule[] }
    readonly podReplacementPolicy?: string
    readonly successPolicy?: { readonly rules: readonly SuccessRule[] }
    readonly managedBy?: string
    readonly selector?: Selector
    readonly template: PodTemplate
  }
  readonly status?: JobStatus
}

export interface PodFailureRule {
  readonly action: string
  readonly onExitCodes?: {
    readonly containerName?: string
    readonly operator: string
    readonly values: readonly number[]
  }
  readonly onPodConditions?: readonly { readonly type: string; readonly status: string }[]
}

export interface SuccessRule {
  readonly succeededIndexes?: string
  readonly succeededCount?: number
}

export interface JobStatus {
  readonly active?: number
  readonly ready?: number
  readonly terminating?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly completedIndexes?: string
  readonly failedIndexes?: string
  readonly uncountedTerminatedPods?: {
    readonly succeeded?: readonly string[]
    readonly failed?: readonly string[]
  }
  readonly startTime?: string
  readonly completionTime?: string
  readonly conditions?: readonly StatusCondition[]
}
