/** Whether and when a container that has ended is started again, as a kubelet decides it. */

import type { PodContainer } from '../containers/declared-pod.ts'
import type { ContainerEnd, Pod } from '../runtime/objects.ts'

export type ContainerRole = 'init' | 'main'

/** Sidecars start again whatever the pod says. */
export function restartsAfter(
  { spec }: Pod,
  { restartPolicy }: PodContainer,
  role: ContainerRole,
  { exitCode = 0 }: Pick<ContainerEnd, 'exitCode'>,
): boolean {
  if (restartPolicy === 'Always') return true
  if (role === 'init' && exitCode === 0) return false
  const { restartPolicy: ofPod = 'Always' } = spec
  if (ofPod === 'Always') return true
  return ofPod === 'OnFailure' && exitCode !== 0
}

/** A kubelet notices that a container has ended about so late. */
export const firstRestartMs = 1_000
const firstBackoffMs = 10_000
const lastBackoffMs = 300_000
/** A container that has run for so long begins anew: twice the longest back-off. */
const forgivenMs = 600_000

/** The time between the end of a container and its next start: none the first time, then twice as
 *  long each time (MaxContainerBackOff). */
export function backoffMs(restartCount: number, { startedAt, finishedAt }: ContainerEnd): number {
  const ranMs = Date.parse(finishedAt ?? '') - Date.parse(startedAt ?? '')
  if (restartCount === 0 || ranMs >= forgivenMs) return firstRestartMs
  return Math.min(firstBackoffMs * 2 ** (restartCount - 1), lastBackoffMs)
}
