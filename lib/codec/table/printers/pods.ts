/** Pods: the status column follows from the states of the containers. */

import { none, since } from '../format.ts'
import { type Printer, type RowCondition, named, printer } from '../printer.ts'
import type { Picked } from '../pattern.ts'

const terminatedFields = {
  exitCode: 'integer',
  signal: 'integer',
  reason: 'text',
  finishedAt: 'time',
} as const

const statusFields = {
  name: 'text',
  ready: 'flag',
  restartCount: 'integer',
  started: 'flag?',
  state: {
    waiting: { '?': { reason: 'text' } },
    running: 'isSet',
    terminated: { '?': terminatedFields },
  },
  lastState: { terminated: { '?': terminatedFields } },
} as const

const fields = {
  metadata: { ...named, deletionTimestamp: 'isSet' },
  spec: {
    nodeName: 'text',
    containers: 'count',
    initContainers: [{ name: 'text', restartPolicy: 'text' }],
    readinessGates: [{ conditionType: 'text' }],
  },
  status: {
    phase: 'text',
    reason: 'text',
    podIP: 'text',
    podIPs: [{ ip: 'text' }],
    nominatedNodeName: 'text',
    conditions: [{ type: 'text', status: 'text', reason: 'text' }],
    initContainerStatuses: [statusFields],
    containerStatuses: [statusFields],
  },
} as const

type Pod = Picked<typeof fields>
type ContainerStatus = Picked<typeof statusFields>

/** The sum of a pod's containers: ready, restarts, status. */
interface Summary {
  reason: string
  restarts: number
  readyContainers: number
  lastRestart: number | null
}

/** The share of init containers that keep running (sidecars, KEP-753), which counts once the pod is
 *  initialized. */
interface Sidecars {
  restarts: number
  lastRestart: number | null
}

export const pods: Printer = printer({
  fields,
  cells(pod, now, schema) {
    const { metadata, spec, status } = pod
    const { reason, restarts, readyContainers, lastRestart } = summarize(
      pod,
      schema.has('podErrorOverCompleted'),
    )
    const sidecars = spec.initContainers.filter(isSidecar).length
    const ago = restarts !== 0 && lastRestart !== null ? ` (${since(lastRestart, now)} ago)` : ''
    return [
      metadata.name,
      `${readyContainers}/${spec.containers + sidecars}`,
      statusText(pod, reason),
      `${restarts}${ago}`,
      since(metadata.creationTimestamp, now),
      status.podIP || status.podIPs[0]?.ip || none,
      spec.nodeName || none,
      status.nominatedNodeName || none,
      readinessGates(pod),
    ]
  },
  condition({ status: { phase } }) {
    if (phase === 'Succeeded') return succeeded
    return phase === 'Failed' ? failed : undefined
  },
})

const succeeded: RowCondition = {
  type: 'Completed',
  status: 'True',
  reason: 'Succeeded',
  message: 'The pod has completed successfully.',
}
const failed: RowCondition = {
  type: 'Completed',
  status: 'True',
  reason: 'Failed',
  message: 'The pod failed.',
}

function isSidecar({ restartPolicy }: { readonly restartPolicy: string }): boolean {
  return restartPolicy === 'Always'
}

/** Terminating comes last, except for pods that have ended already. */
function statusText({ metadata, status }: Pod, reason: string): string {
  if (!metadata.deletionTimestamp) return reason
  if (status.reason === 'NodeLost') return 'Unknown'
  return status.phase === 'Succeeded' || status.phase === 'Failed' ? reason : 'Terminating'
}

function summarize(pod: Pod, hasErrors: boolean): Summary {
  const { status } = pod
  const isGated = status.conditions.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  )
  const summary: Summary = {
    reason: isGated ? 'SchedulingGated' : status.reason || status.phase,
    restarts: 0,
    readyContainers: 0,
    lastRestart: null,
  }
  const sidecars: Sidecars = { restarts: 0, lastRestart: null }
  const isInitializing = addInitContainers(summary, sidecars, pod)
  const isInitialized = status.conditions.find(({ type }) => type === 'Initialized')?.status
  if (!isInitializing || isInitialized === 'True') {
    summary.restarts = sidecars.restarts
    summary.lastRestart = sidecars.lastRestart
    addContainers(summary, pod, hasErrors)
  }
  return summary
}

/** True when one of them has not done its part yet: that one is what the status is about. */
function addInitContainers(summary: Summary, sidecars: Sidecars, { spec, status }: Pod): boolean {
  for (const [i, container] of status.initContainerStatuses.entries()) {
    const declared = spec.initContainers.findLast(({ name }) => name === container.name)
    const isSidecarHere = declared !== undefined && isSidecar(declared)
    addRestarts(summary, container)
    if (isSidecarHere) addRestarts(sidecars, container)
    const { terminated, waiting } = container.state
    if (terminated?.exitCode === 0) continue
    if (isSidecarHere && container.started === true) {
      if (container.ready) summary.readyContainers++
      continue
    }
    if (terminated !== undefined) {
      summary.reason = `Init:${terminated.reason || exitText(terminated)}`
    } else if (
      waiting !== undefined &&
      waiting.reason !== '' &&
      waiting.reason !== 'PodInitializing'
    ) {
      summary.reason = `Init:${waiting.reason}`
    } else {
      summary.reason = `Init:${i}/${spec.initContainers.length}`
    }
    return true
  }
  return false
}

function addRestarts(
  sum: Sidecars,
  { restartCount, lastState: { terminated } }: ContainerStatus,
): void {
  sum.restarts += restartCount
  if (terminated !== undefined) sum.lastRestart = later(sum.lastRestart, terminated.finishedAt)
}

function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return a < b ? b : a
}

function exitText({
  signal,
  exitCode,
}: {
  readonly signal: number
  readonly exitCode: number
}): string {
  return signal !== 0 ? `Signal:${signal}` : `ExitCode:${exitCode}`
}

/** A container that failed beside one that completed shows since servers look for it
 *  (`hasErrors`). */
function addContainers(summary: Summary, { status }: Pod, hasErrors: boolean): void {
  let hasRunning = false
  let errorReason = ''
  for (const container of status.containerStatuses.toReversed()) {
    addRestarts(summary, container)
    const { waiting, terminated, running } = container.state
    if (waiting !== undefined && waiting.reason !== '') {
      summary.reason = waiting.reason
    } else if (terminated !== undefined) {
      summary.reason = terminated.reason || exitText(terminated)
      if (hasErrors && terminated.exitCode !== 0) errorReason = summary.reason
    } else if (container.ready && running) {
      hasRunning = true
      summary.readyContainers++
    }
  }
  if (summary.reason !== 'Completed') return
  const isReady = status.conditions.some(
    ({ type, status: is }) => type === 'Ready' && is === 'True',
  )
  if (hasRunning && isReady) summary.reason = 'Running'
  else if (errorReason !== '') summary.reason = errorReason
  else if (hasRunning) summary.reason = 'NotReady'
}

function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates
  if (gates.length === 0) return none
  const open = gates.filter(
    ({ conditionType }) =>
      status.conditions.find(({ type }) => type === conditionType)?.status === 'True',
  )
  return `${open.length}/${gates.length}`
}
