/** The objects as actors read them: as the API shows them. */

import type { ContainerResources, DeclaredSpec, PodContainer } from '../containers/declared-pod.ts'

export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Labels
  readonly annotations?: Labels
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface OwnerReference {
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

export interface NodeExpression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

/** The fields of a pod's spec that say where it may go. */
export interface Placing {
  readonly nodeSelector?: Labels
  readonly tolerations?: readonly Toleration[]
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms: readonly {
          readonly matchExpressions?: readonly NodeExpression[]
          readonly matchFields?: readonly NodeExpression[]
        }[]
      }
    }
  }
}

export interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

export type Labels = Readonly<Record<string, string>>

export interface StatusCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastHeartbeatTime?: string
  readonly lastProbeTime?: string
  readonly lastUpdateTime?: string
  readonly lastTransitionTime?: string
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Labels
    readonly annotations?: Labels
    readonly finalizers?: readonly string[]
  }
  readonly spec: object
}

/** The metadata that pods take from their template. A name in it is not taken: two pods could not
 *  have it. */
export function metadataForPods({ metadata = {} }: PodTemplate): PodTemplate['metadata'] & object {
  const { labels, annotations, finalizers } = metadata
  return {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
  }
}

export interface Pod {
  readonly metadata: Metadata
  readonly spec: Placing &
    DeclaredSpec & {
      readonly nodeName?: string
      readonly restartPolicy?: string
      readonly schedulingGates?: readonly object[]
      readonly ephemeralContainers?: readonly PodContainer[]
    }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly StatusCondition[]
    readonly startTime?: string
    readonly podIP?: string
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly ephemeralContainerStatuses?: readonly object[]
  }
}

export interface ContainerStatus {
  readonly name?: string
  readonly containerID?: string
  readonly restartCount?: number
  readonly ready?: boolean
  readonly started?: boolean
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string }
    readonly running?: { readonly startedAt?: string }
    readonly terminated?: ContainerEnd
  }
  readonly lastState?: { readonly terminated?: ContainerEnd }
  /** The resources that the container has been given. */
  readonly resources?: ContainerResources
}

export interface ContainerEnd {
  readonly exitCode?: number
  readonly reason?: string
  readonly startedAt?: string
  readonly finishedAt?: string
  readonly containerID?: string
}

export interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
  readonly tolerationSeconds?: number
}

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
  readonly timeAdded?: string
}

export interface NodeObject {
  readonly metadata: Metadata
  readonly spec?: { readonly taints?: readonly Taint[]; readonly unschedulable?: boolean }
  readonly status?: {
    readonly conditions?: readonly StatusCondition[]
    readonly addresses?: readonly { readonly type: string; readonly address: string }[]
    readonly allocatable?: Labels
  }
}

export interface ReplicaSet {
  readonly metadata: Metadata
  readonly spec: {
    readonly replicas?: number
    readonly minReadySeconds?: number
    readonly selector?: Selector
    readonly template: PodTemplate
  }
  readonly status?: {
    readonly replicas?: number
    readonly fullyLabeledReplicas?: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly observedGeneration?: number
    readonly conditions?: readonly StatusCondition[]
  }
}

export interface Deployment {
  readonly metadata: Metadata
  readonly spec: {
    readonly replicas?: number
    readonly paused?: boolean
    readonly minReadySeconds?: number
    readonly progressDeadlineSeconds?: number
    readonly revisionHistoryLimit?: number
    readonly selector: Selector
    readonly template: PodTemplate
    readonly strategy?: {
      readonly type?: string
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string
        readonly maxUnavailable?: number | string
      }
    }
  }
  readonly status?: {
    readonly conditions?: readonly StatusCondition[]
    readonly collisionCount?: number
    readonly [count: string]: unknown
  }
}

export function hasCondition(
  conditions: readonly StatusCondition[] | undefined,
  type: string,
): boolean {
  return conditions?.some(one => one.type === type && one.status === 'True') ?? false
}

/** A text that is equal for templates that mean the same. */
export function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** FNV-1a in 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  }
  return hash
}
