/** The phase and the conditions of a pod that follow from its containers, as a kubelet computes
 *  them (getPhase, and status/generate.go). */

import type { PodContainer } from '../containers/declared-pod.ts'
import type { ContainerStatus, Pod } from '../runtime/objects.ts'
import { restartsAfter } from './restarts.ts'

export type Statuses = ReadonlyMap<string, ContainerStatus>

export interface PodContainersState {
  readonly pod: Pod
  readonly statuses: Statuses
  readonly isInitialized: boolean
}

export function isSidecar({ restartPolicy }: PodContainer): boolean {
  return restartPolicy === 'Always'
}

export function podPhase({ pod, statuses, isInitialized }: PodContainersState): string {
  const { spec } = pod
  const hasFailed = (spec.initContainers ?? []).some(container => {
    const end = lastEnd(statuses.get(container.name))
    return !isSidecar(container) && end !== undefined && isFinalFailure(pod, container, end)
  })
  if (hasFailed) return 'Failed'
  if (!isInitialized) return 'Pending'
  const known = spec.containers.map(container => ({
    container,
    status: statuses.get(container.name),
    end: lastEnd(statuses.get(container.name)),
  }))
  if (known.some(({ status, end }) => status?.state?.running === undefined && end === undefined)) {
    return 'Pending'
  }
  const sidecars = (spec.initContainers ?? []).filter(isSidecar)
  const all = [...sidecars, ...spec.containers]
  if (all.some(({ name }) => statuses.get(name)?.state?.running !== undefined)) return 'Running'
  if (known.some(({ container, end }) => end && restartsAfter(pod, container, 'main', end))) {
    return 'Running'
  }
  return known.every(({ end }) => end?.exitCode === 0) ? 'Succeeded' : 'Failed'
}

function isFinalFailure(
  pod: Pod,
  container: PodContainer,
  end: { readonly exitCode?: number },
): boolean {
  return end.exitCode !== 0 && !restartsAfter(pod, container, 'init', end)
}

/** The end of a container that does not run. */
function lastEnd(status: ContainerStatus | undefined): { readonly exitCode?: number } | undefined {
  const { state, lastState } = status ?? {}
  if (state?.running !== undefined) return undefined
  return state?.terminated ?? lastState?.terminated
}

interface Wanted {
  readonly type: string
  readonly isMet: boolean
  readonly reason?: string
  readonly message?: string
}

/** The conditions of a kubelet, and those of others as they are. */
export function podConditions(
  state: PodContainersState & { readonly phase: string; readonly hasStarted: boolean },
  now: string,
): object[] {
  const { pod, phase, isInitialized, hasStarted } = state
  const known = pod.status?.conditions ?? []
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const containersReady = containersReadyOf(state)
  const wanted: Wanted[] = [
    { type: 'PodReadyToStartContainers', isMet: hasStarted && !isOver },
    initializedOf(state, isInitialized),
    { ...readyOf(pod, containersReady), type: 'Ready' },
    { ...containersReady, type: 'ContainersReady' },
    { type: 'PodScheduled', isMet: true },
  ]
  const own = new Set(wanted.map(({ type }) => type))
  return [
    ...known.filter(({ type }) => !own.has(type)),
    ...wanted.map(({ type, isMet, reason, message }) => {
      const status = isMet ? 'True' : 'False'
      const before = known.find(one => one.type === type && one.status === status)
      const lastTransitionTime = before?.lastTransitionTime ?? now
      const said = {
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
      }
      return { type, status, lastProbeTime: null, lastTransitionTime, ...said }
    }),
  ]
}

type Unnamed = Omit<Wanted, 'type'>

function containersReadyOf({
  pod,
  statuses,
  phase,
}: PodContainersState & { readonly phase: string }): Unnamed {
  if (phase === 'Succeeded') return { isMet: false, reason: 'PodCompleted' }
  if (phase === 'Failed') return { isMet: false, reason: 'PodFailed' }
  const { initContainers = [], containers } = pod.spec
  const unready = [...initContainers.filter(isSidecar), ...containers]
    .map(({ name }) => name)
    .filter(name => statuses.get(name)?.ready !== true)
  if (unready.length === 0) return { isMet: true }
  const message = `containers with unready status: [${unready.join(' ')}]`
  return { isMet: false, reason: 'ContainersNotReady', message }
}

function readyOf({ spec, status }: Pod, containersReady: Unnamed): Unnamed {
  if (!containersReady.isMet) return containersReady
  const messages = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = status?.conditions?.find(({ type }) => type === conditionType)
    if (gate === undefined) {
      return `corresponding condition of pod readiness gate "${conditionType}" does not exist.`
    }
    if (gate.status === 'True') return []
    return `the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`
  })
  if (messages.length === 0) return { isMet: true }
  return { isMet: false, reason: 'ReadinessGatesNotReady', message: messages.join(', ') }
}

function initializedOf(
  { pod, statuses, phase }: PodContainersState & { readonly phase: string },
  isInitialized: boolean,
): Wanted {
  const type = 'Initialized'
  if (phase === 'Succeeded') return { type, isMet: true, reason: 'PodCompleted' }
  if (isInitialized) return { type, isMet: true }
  const names = (pod.spec.initContainers ?? [])
    .filter(container => !isInitDone(container, statuses.get(container.name)))
    .map(({ name }) => name)
  const message = `containers with incomplete status: [${names.join(' ')}]`
  return { type, isMet: false, reason: 'ContainersNotInitialized', message }
}

/** Whether the init containers after it may start. */
export function isInitDone(container: PodContainer, status: ContainerStatus | undefined): boolean {
  if (isSidecar(container)) return status?.started === true
  return status?.state?.terminated?.exitCode === 0
}
