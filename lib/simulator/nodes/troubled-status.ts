/** The statuses of pods in trouble, as a kubelet reports them. */

import type { StatusCondition, Pod } from '../runtime/objects.ts'
import { goSeconds } from './kubelet-texts.ts'

/** The pod waits for its first image. */
export function unpulledStatus({ spec, status }: Pod, now: string, isAgain: boolean): object {
  const containers = spec.containers.map(({ name, image = '' }, i) => {
    const why = isAgain ? 'ImagePullBackOff' : 'ErrImagePull'
    const message = isAgain ? `Back-off pulling image "${image}"` : pullProblem(image)
    const waiting = i === 0 ? { reason: why, message } : { reason: 'ContainerCreating' }
    const rest = { ready: false, started: false, restartCount: 0, lastState: {} }
    return { name, image, imageID: '', ...rest, state: { waiting } }
  })
  const names = spec.containers.map(({ name }) => name)
  return {
    phase: 'Pending',
    startTime: status?.startTime ?? now,
    conditions: unreadyConditions(status?.conditions, names, now),
    containerStatuses: containers,
  }
}

export function pullProblem(image: string): string {
  const what = `failed to pull and unpack image "${image}"`
  return `rpc error: code = NotFound desc = ${what}: not found (on purpose)`
}

/** The first container has ended with an error. With `waitsMs` it is started again after that. */
export function crashedStatus(pod: Pod, now: string, waitsMs: number | undefined): object {
  const { metadata, spec, status } = pod
  const [first, ...others] = status?.containerStatuses ?? []
  const name = spec.containers[0]?.name ?? ''
  const startedAt = first?.state?.running?.startedAt ?? now
  const ended = { exitCode: 1, reason: 'Error', startedAt, finishedAt: now }
  const terminated = { ...ended, containerID: first?.containerID }
  const place = `pod=${metadata.name}_${metadata.namespace ?? ''}(${metadata.uid})`
  const waiting = {
    reason: 'CrashLoopBackOff',
    message: `back-off ${goSeconds(waitsMs ?? 0)} restarting failed container=${name} ${place}`,
  }
  const isOver = waitsMs === undefined
  const crashed = {
    ...first,
    ready: false,
    started: false,
    ...(isOver ? {} : { lastState: { terminated } }),
    state: isOver ? { terminated } : { waiting },
  }
  return {
    ...(isOver ? { phase: 'Failed' } : {}),
    conditions: unreadyConditions(status?.conditions, [name], now),
    containerStatuses: [crashed, ...others],
  }
}

/** The first container runs again. */
export function startedAgainStatus({ status }: Pod, now: string): object {
  const [first, ...others] = status?.containerStatuses ?? []
  const running = {
    ...first,
    ready: true,
    started: true,
    restartCount: (first?.restartCount ?? 0) + 1,
    state: { running: { startedAt: now } },
  }
  return {
    conditions: readyConditions(status?.conditions, now),
    containerStatuses: [running, ...others],
  }
}

/** The conditions of a pod whose node does not say that it is there. */
export function lostConditions(known: readonly StatusCondition[] = [], now: string): object[] {
  return known.map(one =>
    one.type === 'Ready' ? { ...one, status: 'False', lastTransitionTime: now } : one,
  )
}

/** The conditions of a pod whose node is back. */
export function readyConditions(known: readonly StatusCondition[] = [], now: string): object[] {
  return known.map(one => {
    const { type, status } = one
    if ((type !== 'Ready' && type !== 'ContainersReady') || status === 'True') return one
    return { type, status: 'True', lastProbeTime: null, lastTransitionTime: now }
  })
}

function unreadyConditions(
  known: readonly StatusCondition[] = [],
  names: readonly string[],
  now: string,
): object[] {
  const message = `containers with unready status: [${names.join(' ')}]`
  const others = known.filter(({ type }) => type !== 'Ready' && type !== 'ContainersReady')
  const made = ['Ready', 'ContainersReady'].map(type => {
    const before = known.find(one => one.type === type && one.status === 'False')
    const since = before?.lastTransitionTime ?? now
    const condition = { type, status: 'False', reason: 'ContainersNotReady', message }
    return { ...condition, lastProbeTime: null, lastTransitionTime: since }
  })
  return [...others, ...made]
}
