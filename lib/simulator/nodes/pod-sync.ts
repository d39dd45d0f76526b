/** One look of a kubelet at a pod whose containers end, fail or wait: what its status becomes, what
 *  is told in Events, and when there is something to do again. All that is remembered is in the
 *  status, so another process can go on with the pod.
 *
 *      waiting ──▶ running ──▶ terminated ──▶ waiting (CrashLoopBackOff) ──▶ running
 *         │ no image, no ConfigMap                 10 s, 20 s, ... 5 min
 *         └──▶ waiting (ErrImagePull, CreateContainerConfigError)
 */

import { textFromMilliseconds } from '@watchglass/go'
import { goSeconds, presentMessage } from './kubelet-texts.ts'
import { containerId, containerStatus } from './pod-status.ts'
import type { PodAddresses } from '../runtime/api-client.ts'
import type { Note } from '../runtime/event-recorder.ts'
import type { ContainerEnd, ContainerStatus, Pod } from '../runtime/objects.ts'
import type { ScriptRun } from '../containers/container-script.ts'
import type { PodContainer } from '../containers/declared-pod.ts'
import type { PullOutcome } from '../containers/image-pulls.ts'
import { isInitDone, isSidecar, podConditions, podPhase } from './pod-phase.ts'
import {
  failsAfterMs,
  firstAfterMs,
  periodMs,
  probeFailure,
  type ProbeKind,
  probeOf,
  type ProbeRuns,
} from '../containers/probes.ts'
import { backoffMs, type ContainerRole, firstRestartMs, restartsAfter } from './restarts.ts'

/** Everything that a look needs beside the pod. */
export interface PodSyncParts {
  /** For a pod that has none yet. */
  readonly addresses: PodAddresses
  /** The runs of scripts, by the names of containers; others run on. */
  readonly runs: ReadonlyMap<string, ScriptRun>
  readonly probes: ProbeRuns
  /** Messages of volumes that cannot be mounted. */
  readonly mounts: readonly string[]
  /** The reasons why containers cannot be created, by their names. */
  readonly configProblems: ReadonlyMap<string, string>
  readonly pull: (image: string) => PullOutcome
  /** A fault ends the first container so long after its start. */
  readonly crashesAfterMs: number | undefined
}

export interface PodSync {
  readonly status: object
  readonly notes: readonly Note[]
  readonly againMs: number | undefined
}

/** Missing objects are looked for again after this. */
const missingAgainMs = 5_000
/** A container that has ended is seen as such for a moment. */
const leastMs = 100

export function syncPod(pod: Pod, parts: PodSyncParts, nowMs: number): PodSync {
  return new PodLook(pod, parts, nowMs).done()
}

/** Whether the first container is started at this look: a fault decides about each start. */
export function isStartDue({ spec, status }: Pod, nowMs: number): boolean {
  const [first] = spec.containers
  const known = status?.containerStatuses?.find(({ name }) => name === first?.name)
  if (known?.state?.running !== undefined) return false
  const end = endIn(known)
  return end === undefined || nowMs >= dueMs(known?.restartCount ?? 0, end)
}

class PodLook {
  readonly #pod: Pod
  readonly #parts: PodSyncParts
  readonly #nowMs: number
  readonly #now: string
  readonly #statuses = new Map<string, ContainerStatus>()
  readonly #notes: Note[] = []
  #againMs: number | undefined

  constructor(pod: Pod, parts: PodSyncParts, nowMs: number) {
    this.#pod = pod
    this.#parts = parts
    this.#nowMs = nowMs
    this.#now = textFromMilliseconds(nowMs)
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
    for (const status of [...initContainerStatuses, ...containerStatuses]) {
      if (status.name !== undefined) this.#statuses.set(status.name, status)
    }
  }

  done(): PodSync {
    const { spec, status } = this.#pod
    const { mounts, addresses } = this.#parts
    const isMounted = mounts.length === 0
    for (const message of mounts) this.#tell('FailedMount', message, undefined, 'Warning')
    if (!isMounted) this.#wake(missingAgainMs)
    const isInitialized = this.#lookAtInit(isMounted)
    for (const container of spec.containers) {
      if (isMounted && isInitialized) this.#step(container, 'main')
      else this.#hold(container)
    }
    const state = { pod: this.#pod, statuses: this.#statuses, isInitialized }
    const overdue = this.#overdue()
    const phase = overdue === undefined ? podPhase(state) : 'Failed'
    if (phase === 'Succeeded' || phase === 'Failed') this.#endAll()
    const { initContainers = [] } = spec
    const { podIP = addresses.podAddress } = status ?? {}
    const address = isMounted ? { podIP, podIPs: [{ ip: podIP }] } : {}
    return {
      status: {
        phase,
        ...overdue,
        conditions: podConditions({ ...state, phase, hasStarted: isMounted }, this.#now),
        hostIP: addresses.nodeAddress,
        hostIPs: [{ ip: addresses.nodeAddress }],
        ...address,
        startTime: status?.startTime ?? this.#now,
        ...(initContainers.length === 0
          ? {}
          : { initContainerStatuses: this.#listed(initContainers) }),
        containerStatuses: this.#listed(spec.containers),
      },
      notes: this.#notes,
      againMs: phase === 'Succeeded' || phase === 'Failed' ? undefined : this.#againMs,
    }
  }

  /** Starts the init containers one after the other; true once all are done. Those of a pod whose
   *  containers have started are done, and its sidecars are kept. */
  #lookAtInit(isMounted: boolean): boolean {
    const { initContainers = [], containers } = this.#pod.spec
    const hasStarted = containers.some(({ name }) => {
      const { state, lastState } = this.#statuses.get(name) ?? {}
      return (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined
    })
    let isNext = isMounted
    for (const container of initContainers) {
      if (hasStarted && !isSidecar(container)) continue
      if (isNext) this.#step(container, 'init')
      else this.#hold(container)
      isNext &&= isInitDone(container, this.#statuses.get(container.name))
    }
    return hasStarted || isNext
  }

  #listed(containers: readonly PodContainer[]): ContainerStatus[] {
    return containers.flatMap(({ name }) => this.#statuses.get(name) ?? [])
  }

  /** A container whose turn has not come. */
  #hold(container: PodContainer): void {
    const known = this.#statuses.get(container.name)
    if (known?.state?.running !== undefined || known?.state?.terminated !== undefined) return
    const isInitFirst = (this.#pod.spec.initContainers?.length ?? 0) > 0
    const reason = isInitFirst ? 'PodInitializing' : 'ContainerCreating'
    this.#statuses.set(container.name, this.#waiting(container, { reason }))
  }

  #step(container: PodContainer, role: ContainerRole): void {
    const { name } = container
    const known = this.#statuses.get(name)
    const startedAt = known?.state?.running?.startedAt
    if (known !== undefined && startedAt !== undefined) {
      this.#statuses.set(name, this.#run(container, role, { known, startedAt }))
      return
    }
    const end = endIn(known)
    if (known !== undefined && end !== undefined) {
      if (!restartsAfter(this.#pod, container, role, end)) return
      if (this.#isHeldBack(container, known, end)) return
    }
    this.#statuses.set(name, this.#start(container, end))
  }

  /** A container that runs: it may have ended, or its probes have failed. */
  #run(
    container: PodContainer,
    role: ContainerRole,
    { known, startedAt }: { readonly known: ContainerStatus; readonly startedAt: string },
  ): ContainerStatus {
    const ending = this.#endingOf(container, Date.parse(startedAt))
    if (ending === undefined || ending.atMs > this.#nowMs) {
      if (ending !== undefined) this.#wake(ending.atMs - this.#nowMs)
      return { ...known, ...this.#probed(container, startedAt) }
    }
    const { exitCode, killedFor } = ending
    const finishedAt = textFromMilliseconds(Math.max(ending.atMs, Date.parse(startedAt)))
    const reason = exitCode === 0 ? 'Completed' : 'Error'
    const { containerID } = known
    const end: ContainerEnd = {
      exitCode,
      reason,
      startedAt,
      finishedAt,
      ...(containerID === undefined ? {} : { containerID }),
    }
    const isRestarted = restartsAfter(this.#pod, container, role, end)
    if (killedFor !== undefined) {
      const what = role === 'init' ? 'Init container' : 'Container'
      const then = isRestarted ? ', will be restarted' : ''
      this.#tell('Killing', `${what} ${container.name} failed ${killedFor} probe${then}`, container)
    }
    this.#wake(leastMs)
    const ready = role === 'init' && !isSidecar(container) && exitCode === 0
    return { ...known, ready, started: false, state: { terminated: end } }
  }

  /** The first of the ways in which it may end. */
  #endingOf(container: PodContainer, startedMs: number): Ending | undefined {
    const { runs, crashesAfterMs, probes } = this.#parts
    const { name } = container
    const run = runs.get(name)
    const endings: Ending[] = []
    if (run !== undefined && run.endsAfterMs < Infinity) {
      endings.push({ atMs: startedMs + run.endsAfterMs, exitCode: run.exitCode })
    }
    const isFirst = name === this.#pod.spec.containers[0]?.name
    if (isFirst && crashesAfterMs !== undefined) {
      endings.push({ atMs: startedMs + crashesAfterMs, exitCode: 1 })
    }
    for (const kind of ['startup', 'liveness'] as const) {
      const probe = probeOf(container, kind)
      if (probe === undefined) continue
      if (probeFailure(kind, this.#pod, container, probes) === undefined) continue
      endings.push({ atMs: startedMs + failsAfterMs(probe), exitCode: 137, killedFor: kind })
      // Other probes begin once a container has started.
      break
    }
    return endings.reduce<Ending | undefined>(
      (first, one) => (first === undefined || one.atMs < first.atMs ? one : first),
      undefined,
    )
  }

  /** Whether a container that runs has started and is ready; probes that fail are told. */
  #probed(container: PodContainer, startedAt: string): Pick<ContainerStatus, 'ready' | 'started'> {
    const { probes } = this.#parts
    const startedMs = Date.parse(startedAt)
    const isDelayed = (kind: ProbeKind): boolean => {
      const waitsMs = startedMs + firstAfterMs(container, kind) - this.#nowMs
      if (waitsMs > 0) this.#wake(waitsMs)
      return waitsMs > 0
    }
    const [isStartDelayed, isReadyDelayed] = [isDelayed('startup'), isDelayed('readiness')]
    const failing = (['startup', 'liveness', 'readiness'] as const).filter(kind => {
      const failure = probeFailure(kind, this.#pod, container, probes)
      const probe = probeOf(container, kind)
      if (failure === undefined || probe === undefined) return false
      const isTried = this.#nowMs >= startedMs + firstAfterMs(container, kind)
      const said = `${kind.replace(/^./, first => first.toUpperCase())} probe failed: ${failure}`
      if (isTried) this.#tell('Unhealthy', said, container, 'Warning')
      this.#wake(periodMs(probe))
      return true
    })
    const started = !isStartDelayed && !failing.includes('startup')
    return { ready: started && !isReadyDelayed && !failing.includes('readiness'), started }
  }

  /** A container that has ended, until it is started again. */
  #isHeldBack(container: PodContainer, known: ContainerStatus, end: ContainerEnd): boolean {
    const { restartCount = 0 } = known
    const waitsMs = dueMs(restartCount, end) - this.#nowMs
    if (waitsMs <= 0) return false
    this.#wake(waitsMs)
    const wholeMs = backoffMs(restartCount, end)
    if (wholeMs <= firstRestartMs) return true
    const { name } = container
    const { metadata } = this.#pod
    const place = `${metadata.name}_${metadata.namespace ?? ''}(${metadata.uid})`
    const said = `Back-off restarting failed container ${name} in pod ${place}`
    this.#tell('BackOff', said, container, 'Warning')
    const message = `back-off ${goSeconds(wholeMs)} restarting failed container=${name} pod=${place}`
    const waiting = { reason: 'CrashLoopBackOff', message }
    const lastState = { terminated: end }
    this.#statuses.set(name, {
      ...known,
      ready: false,
      started: false,
      lastState,
      state: { waiting },
    })
    return true
  }

  #start(container: PodContainer, end: ContainerEnd | undefined): ContainerStatus {
    const { name, image = '' } = container
    const pulled = this.#parts.pull(image)
    if (pulled !== 'pulled') return this.#unpulled(container, pulled)
    const problem = this.#parts.configProblems.get(name)
    this.#tell('Pulled', presentMessage(image), container)
    if (problem !== undefined) {
      this.#tell('Failed', `Error: ${problem}`, container, 'Warning')
      this.#wake(missingAgainMs)
      return this.#waiting(container, { reason: 'CreateContainerConfigError', message: problem })
    }
    this.#tell('Created', 'Container created', container)
    this.#tell('Started', 'Container started', container)
    const known = this.#statuses.get(name)
    const restartCount = (known?.restartCount ?? 0) + (end === undefined ? 0 : 1)
    const ending = this.#endingOf(container, Math.floor(this.#nowMs / 1000) * 1000)
    if (ending !== undefined) this.#wake(ending.atMs - this.#nowMs)
    return {
      ...containerStatus(this.#pod, container),
      containerID: startedId(this.#pod.metadata.uid, name, restartCount),
      restartCount,
      lastState: end === undefined ? {} : { terminated: end },
      state: { running: { startedAt: this.#now } },
      ...this.#probed(container, this.#now),
    }
  }

  #unpulled(
    container: PodContainer,
    { reason, message, againMs }: Exclude<PullOutcome, 'pulled'>,
  ): ContainerStatus {
    const { image = '' } = container
    const tell = (what: string, said: string, type?: 'Warning'): void =>
      this.#tell(what, said, container, type)
    if (reason === 'ImagePullBackOff') tell('BackOff', `Back-off pulling image "${image}"`)
    else if (reason === 'InvalidImageName') tell('InspectFailed', message, 'Warning')
    else {
      tell('Pulling', `Pulling image "${image}"`)
      tell('Failed', `Failed to pull image "${image}": ${message}`, 'Warning')
    }
    tell('Failed', `Error: ${reason}`, 'Warning')
    this.#wake(againMs)
    return this.#waiting(container, { reason, message })
  }

  #waiting(
    { name, image = '' }: PodContainer,
    waiting: { readonly reason: string; readonly message?: string },
  ): ContainerStatus {
    const { restartCount = 0, lastState = {} } = this.#statuses.get(name) ?? {}
    const rest = { image, imageID: '', ready: false, started: false, restartCount, lastState }
    return { name, ...rest, state: { waiting } }
  }

  /** The status of a pod that was active for longer than it may be. */
  #overdue(): { readonly reason: string; readonly message: string } | undefined {
    const { activeDeadlineSeconds } = this.#pod.spec
    const { startTime } = this.#pod.status ?? {}
    if (activeDeadlineSeconds === undefined) return undefined
    const startMs = startTime === undefined ? this.#nowMs : Date.parse(startTime)
    const leftMs = startMs + activeDeadlineSeconds * 1_000 - this.#nowMs
    if (leftMs > 0) {
      this.#wake(leftMs)
      return undefined
    }
    const message = 'Pod was active on the node longer than the specified deadline'
    this.#tell('DeadlineExceeded', message)
    return { reason: 'DeadlineExceeded', message }
  }

  /** The containers of a pod that is over end, sidecars among them. */
  #endAll(): void {
    for (const [name, known] of this.#statuses) {
      const startedAt = known.state?.running?.startedAt
      const rest = { ready: false, started: false }
      if (startedAt === undefined) continue
      const { containerID = '' } = known
      const end = { exitCode: 137, reason: 'Error', startedAt, finishedAt: this.#now, containerID }
      this.#statuses.set(name, { ...known, ...rest, state: { terminated: end } })
    }
  }

  #wake(ms: number): void {
    this.#againMs = Math.min(this.#againMs ?? Infinity, Math.max(ms, leastMs))
  }

  #tell(reason: string, message: string, container?: PodContainer, type?: 'Warning'): void {
    const source = { component: 'kubelet', host: this.#pod.spec.nodeName ?? '' }
    const isInit = this.#pod.spec.initContainers?.some(({ name }) => name === container?.name)
    const list = isInit === true ? 'initContainers' : 'containers'
    this.#notes.push({
      reason,
      message,
      source,
      ...(type === undefined ? {} : { type }),
      ...(container === undefined ? {} : { fieldPath: `spec.${list}{${container.name}}` }),
    })
  }
}

interface Ending {
  readonly atMs: number
  readonly exitCode: number
  /** The probe that has failed. */
  readonly killedFor?: string
}

/** The last end of a container that does not run. */
function endIn(known: ContainerStatus | undefined): ContainerEnd | undefined {
  return known?.state?.terminated ?? known?.lastState?.terminated
}

/** The time at which a container that has ended is started again. */
function dueMs(restartCount: number, end: ContainerEnd): number {
  return Date.parse(end.finishedAt ?? '') + backoffMs(restartCount, end)
}

/** Each start makes a container of its own. */
function startedId(uid: string, name: string, restartCount: number): string {
  return containerId(uid, restartCount === 0 ? name : `${name}/${String(restartCount)}`)
}
