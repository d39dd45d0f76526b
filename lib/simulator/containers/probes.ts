/** Probes of simulated pods. Nobody listens there, so a probe succeeds once its initial delay is
 *  over, unless an annotation of the pod says otherwise, or its command is one that the built-in
 *  shell knows and that fails. */

import type { ContainerProbe, DeclaredPod, PodContainer } from './declared-pod.ts'
import { isKnownCommand } from '../streams/shell.ts'
import { type ScriptRun, scriptRunOf } from './container-script.ts'

export type ProbeKind = 'readiness' | 'liveness' | 'startup'

export const probeKinds: readonly ProbeKind[] = ['readiness', 'liveness', 'startup']

/** `watchglass.local/readiness-probe`, for all containers, or with `.NAME` for one: `fail`, or what
 *  the probe says. */
export function probeAnnotation(kind: ProbeKind): string {
  return `watchglass.local/${kind}-probe`
}

/** The runs of the commands of probes, by `readiness/NAME`. */
export type ProbeRuns = ReadonlyMap<string, ScriptRun>

export function probeOf(container: PodContainer, kind: ProbeKind): ContainerProbe | undefined {
  return container[`${kind}Probe`]
}

/** Whether the command of a probe is done by the built-in shell. */
export function isKnownProbe(container: PodContainer, kind: ProbeKind): boolean {
  const command = probeOf(container, kind)?.exec?.command
  return command !== undefined && isKnownCommand(command)
}

export async function probeRuns(
  pod: DeclaredPod,
  container: PodContainer,
): Promise<[string, ScriptRun][]> {
  const runs: [string, ScriptRun][] = []
  for (const kind of probeKinds) {
    const command = probeOf(container, kind)?.exec?.command
    if (command === undefined || !isKnownCommand(command)) continue
    runs.push([`${kind}/${container.name}`, await scriptRunOf(command, pod, container, '')])
  }
  return runs
}

/** The output of a probe that fails; undefined: it succeeds, or there is none. */
export function probeFailure(
  kind: ProbeKind,
  pod: DeclaredPod,
  container: PodContainer,
  runs: ProbeRuns,
): string | undefined {
  const probe = probeOf(container, kind)
  if (probe === undefined) return undefined
  const { annotations = {} } = pod.metadata
  const name = probeAnnotation(kind)
  const said = annotations[`${name}.${container.name}`] ?? annotations[name]
  if (said === 'fail') return outputOf(probe, pod)
  if (said !== undefined) return said === 'succeed' ? undefined : said
  const run = runs.get(`${kind}/${container.name}`)
  if (run === undefined || run.exitCode === 0) return undefined
  return run.written.map(({ text }) => text).join('')
}

/** In the words of the probers of kubelets. */
function outputOf({ httpGet, tcpSocket, exec }: ContainerProbe, { status }: DeclaredPod): string {
  if (httpGet !== undefined) return 'HTTP probe failed with statuscode: 500'
  const { podIP = '' } = status ?? {}
  if (tcpSocket !== undefined) {
    return `dial tcp ${podIP}:${String(tcpSocket.port)}: connect: connection refused`
  }
  return exec === undefined ? 'service unhealthy (responded with "NOT_SERVING")' : ''
}

/** The time after the start of a container at which a probe that fails has failed often enough. */
export function failsAfterMs(probe: ContainerProbe): number {
  const { initialDelaySeconds = 0, failureThreshold = 3 } = probe
  return initialDelaySeconds * 1_000 + periodMs(probe) * failureThreshold
}

/** The time after the start of a container at which it is asked for the first time. */
export function firstAfterMs(container: PodContainer, kind: ProbeKind): number {
  return (probeOf(container, kind)?.initialDelaySeconds ?? 0) * 1_000
}

export function periodMs({ periodSeconds = 10 }: ContainerProbe): number {
  return Math.max(1, periodSeconds) * 1_000
}
