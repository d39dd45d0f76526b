/** The statuses of pods, as a kubelet reports them. */

import { createHash } from 'node:crypto'
import type { PodAddresses } from '../runtime/api-client.ts'
import type { PodContainer } from '../containers/declared-pod.ts'
import type { ContainerStatus, StatusCondition, Pod } from '../runtime/objects.ts'

interface Running extends PodAddresses {
  readonly now: string
}

export function runningStatus(pod: Pod, { now, podAddress, nodeAddress }: Running): object {
  const { spec, status } = pod
  return {
    phase: 'Running',
    conditions: conditionsOf(status?.conditions, now, [
      ['PodReadyToStartContainers', 'True'],
      ['Initialized', 'True'],
      ['Ready', 'True'],
      ['ContainersReady', 'True'],
      ['PodScheduled', 'True'],
    ]),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    podIP: podAddress,
    podIPs: [{ ip: podAddress }],
    startTime: now,
    ...(spec.initContainers === undefined
      ? {}
      : {
          initContainerStatuses: spec.initContainers.map(container => ({
            ...containerStatus(pod, container),
            state: completed(now, now, pod, container),
            ready: true,
            started: false,
          })),
        }),
    containerStatuses: spec.containers.map(container => ({
      ...containerStatus(pod, container),
      state: { running: { startedAt: now } },
      ready: true,
      started: true,
    })),
  }
}

/** The conditions of a pod that no node takes, in the words of the scheduler; undefined if it has
 *  them. */
export function unplacedConditions(
  { status }: Pod,
  message: string,
  now: string,
): object[] | undefined {
  const known = status?.conditions ?? []
  const before = known.find(({ type }) => type === 'PodScheduled')
  if (before?.status === 'False' && before.message === message) return undefined
  const lastTransitionTime = before?.status === 'False' ? before.lastTransitionTime : now
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
  return [
    ...known.filter(({ type }) => type !== 'PodScheduled'),
    { ...condition, lastProbeTime: null, lastTransitionTime },
  ]
}

export function succeededStatus(pod: Pod, now: string): object {
  const { spec, status } = pod
  const startedAt =
    status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? now
  const reason = 'PodCompleted'
  return {
    phase: 'Succeeded',
    conditions: conditionsOf(status?.conditions, now, [
      ['PodReadyToStartContainers', 'False'],
      ['Initialized', 'True', reason],
      ['Ready', 'False', reason],
      ['ContainersReady', 'False', reason],
      ['PodScheduled', 'True'],
    ]),
    containerStatuses: spec.containers.map(container => ({
      ...containerStatus(pod, container),
      state: completed(startedAt, now, pod, container),
      ready: false,
      started: false,
    })),
  }
}

/** A pod that was deleted and whose containers were killed: a kubelet tells so before it lets the
 *  pod go, and whoever holds it by a finalizer sees that it has failed. */
export function killedStatus({ status }: Pod, now: string): object {
  const reason = 'PodFailed'
  return {
    phase: 'Failed',
    conditions: conditionsOf(status?.conditions, now, [
      ['PodReadyToStartContainers', 'False'],
      ['Initialized', 'True'],
      ['Ready', 'False', reason],
      ['ContainersReady', 'False', reason],
      ['PodScheduled', 'True'],
    ]),
    containerStatuses: (status?.containerStatuses ?? []).map(known => {
      const startedAt = known.state?.running?.startedAt
      const { containerID } = known
      const ended = { exitCode: 137, reason: 'Error', startedAt, finishedAt: now, containerID }
      const state = startedAt === undefined ? known.state : { terminated: ended }
      return { ...known, ready: false, started: false, state }
    }),
  }
}

/** Ephemeral containers run from now on. */
export function attachedStatus(pod: Pod, now: string): object {
  const known = pod.status?.ephemeralContainerStatuses ?? []
  const added = (pod.spec.ephemeralContainers ?? []).slice(known.length).map(container => ({
    ...containerStatus(pod, container),
    state: { running: { startedAt: now } },
    ready: false,
  }))
  return { ephemeralContainerStatuses: [...known, ...added] }
}

/** The conditions of a pod that has to go, with the reason. */
export function disruptedConditions(
  { status }: Pod,
  reason: string,
  message: string,
  now: string,
): object[] {
  const others = (status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget')
  const times = { lastProbeTime: null, lastTransitionTime: now }
  return [...others, { type: 'DisruptionTarget', status: 'True', reason, message, ...times }]
}

/** One container has failed, and runs again. */
export function restartedStatus({ status }: Pod, now: string): object {
  const [first, ...others] = status?.containerStatuses ?? []
  if (first === undefined) return {}
  const startedAt = first.state?.running?.startedAt ?? now
  const terminated = { exitCode: 137, reason: 'OOMKilled', startedAt, finishedAt: now }
  const restarted = {
    ...first,
    restartCount: (first.restartCount ?? 0) + 1,
    lastState: { terminated: { ...terminated, containerID: first.containerID } },
    state: { running: { startedAt: now } },
  }
  return { containerStatuses: [restarted, ...others] }
}

/** The node has given the pod up. Whoever made it makes another. */
export function evictedStatus(pod: Pod, now: string): object {
  const { spec, status } = pod
  const startedAt = status?.startTime ?? now
  return {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 64Mi.',
    conditions: conditionsOf(status?.conditions, now, [
      ['DisruptionTarget', 'True', 'TerminationByKubelet'],
      ['PodReadyToStartContainers', 'False'],
      ['Initialized', 'True'],
      ['Ready', 'False', 'PodFailed'],
      ['ContainersReady', 'False', 'PodFailed'],
      ['PodScheduled', 'True'],
    ]),
    containerStatuses: spec.containers.map(container => ({
      ...containerStatus(pod, container),
      state: {
        terminated: {
          exitCode: 137,
          reason: 'Error',
          startedAt,
          finishedAt: now,
          containerID: containerId(pod.metadata.uid, container.name),
        },
      },
      ready: false,
      started: false,
    })),
  }
}

function conditionsOf(
  known: readonly StatusCondition[] = [],
  now: string,
  wanted: readonly (readonly [type: string, status: string, reason?: string])[],
): object[] {
  return wanted.map(([type, status, reason]) => {
    const before = known.find(one => one.type === type && one.status === status)
    const since = before?.lastTransitionTime ?? now
    const condition = { type, status, lastProbeTime: null, lastTransitionTime: since }
    return reason === undefined ? condition : { ...condition, reason }
  })
}

export function containerStatus(pod: Pod, container: PodContainer): object {
  const { name, image = '' } = container
  return {
    name,
    lastState: {},
    restartCount: 0,
    image,
    imageID: `${image.split('@', 1)[0]}@sha256:${digits(image)}`,
    containerID: containerId(pod.metadata.uid, name),
    ...containerResources(container),
  }
}

/** The resources that a container has: what it asks for, which a simulated node always gives. */
export function containerResources({ resources }: PodContainer): object {
  const { requests, limits } = resources ?? {}
  return {
    ...(requests === undefined ? {} : { allocatedResources: requests }),
    ...(requests === undefined && limits === undefined ? {} : { resources: { requests, limits } }),
  }
}

/** The statuses of containers that have been resized: they are given what they ask for now. */
export function resizedStatus({ spec, status }: Pod): object {
  const resized = (
    containers: readonly PodContainer[],
    statuses: readonly ContainerStatus[] = [],
  ): object[] =>
    statuses.map(known => {
      const container = containers.find(({ name }) => name === known.name)
      return container === undefined ? known : { ...known, ...containerResources(container) }
    })
  return { containerStatuses: resized(spec.containers, status?.containerStatuses) }
}

function completed(
  startedAt: string,
  finishedAt: string,
  pod: Pod,
  { name }: PodContainer,
): object {
  const containerID = containerId(pod.metadata.uid, name)
  return { terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt, containerID } }
}

export function containerId(uid: string, container: string): string {
  return `containerd://${digits(`${uid}/${container}`)}`
}

/** 64 hexadecimal digits that are always the same for the same text. */
function digits(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
