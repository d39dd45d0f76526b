/** The log of a simulated pod: the file of a declared rule, what its annotation says, what the
 *  script of a container has written, or a line for each start of it. No program runs in it that
 *  could write more, so the log ends when it has been read. */

import { textFromMilliseconds } from '@watchglass/go'
import { badRequest, type Query } from '@watchglass/kube'
import {
  type ScriptedContainer,
  scriptRun,
  type ScriptRun,
} from '../containers/container-script.ts'
import type { LogFile } from '../pod-rules/log-file.ts'
import type { LogRule } from '../pod-rules/pod-rules.ts'
import type { Rule, RuleSet } from '../pod-rules/rule-set.ts'

/** The log of all containers of a pod, or of one: `watchglass.local/logs.NAME`. */
const annotation = 'watchglass.local/logs'

interface Container extends ScriptedContainer {
  readonly image?: string
}

interface ContainerStatus {
  readonly name: string
  readonly state?: {
    readonly waiting?: { readonly reason?: string }
    readonly running?: { readonly startedAt?: string }
    readonly terminated?: Ended
  }
  readonly lastState?: { readonly terminated?: Ended }
}

interface Ended {
  readonly exitCode?: number
  readonly startedAt?: string
  readonly finishedAt?: string
}

export interface LoggedPod {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly Container[]
    readonly initContainers?: readonly Container[]
    readonly ephemeralContainers?: readonly Container[]
  }
  readonly status?: {
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly ephemeralContainerStatuses?: readonly ContainerStatus[]
  }
}

interface Line {
  readonly at: string
  readonly text: string
}

export interface LogOptions {
  readonly nowMs: number
  /** Files that were declared. */
  readonly rules?: RuleSet<LogRule> | undefined
  /** The run of the script of the container that is asked for (`loggedScript`). */
  readonly script?: ScriptRun | undefined
}

/** The run of the script of the container that is asked for; undefined if it has none. */
export function loggedScript(pod: LoggedPod, query: Query): Promise<ScriptRun | undefined> {
  const container = chosenContainer(pod, query.text('container'))
  return scriptRun(pod, container, startOf(pod, container.name) ?? '')
}

function startOf(pod: LoggedPod, name: string): string | undefined {
  const { state, lastState } = statusOf(pod, name) ?? {}
  return (state?.running ?? state?.terminated ?? lastState?.terminated)?.startedAt
}

/** Refusals are those of kube-apiserver and of kubelets, in their words. */
export function podLog(pod: LoggedPod, query: Query, { nowMs, rules, script }: LogOptions): string {
  const container = chosenContainer(pod, query.text('container'))
  const status = statusOf(pod, container.name)
  const isPrevious = query.text('previous') === 'true'
  const { running, terminated } = status?.state ?? {}
  const rule = rules && ruleFor(rules, 'log', pod, container.name)
  const file = isPrevious ? rule?.previous : rule?.log
  const ended = status?.lastState?.terminated
  const run = isPrevious ? (ended ?? (file && {})) : (running ?? terminated ?? ended)
  if (run === undefined) throw badRequest(notThere(pod, status, container.name, isPrevious))
  const isStamped = query.text('timestamps') === 'true'
  const tail = numberOf(query.text('tailLines'))
  const since = sinceMs(query, nowMs)
  const all = file
    ? linesIn(file, run)
    : (annotatedLines(pod, container, run) ??
      (script ? scriptLines(script, run, nowMs) : startLines(container, run)))
  const lines = since === undefined ? all : all.filter(({ at }) => !(Date.parse(at) < since))
  const shown = tail === undefined ? lines : lines.slice(Math.max(0, lines.length - tail))
  const text = shown.map(line => `${isStamped ? `${line.at} ` : ''}${line.text}\n`).join('')
  const limit = numberOf(query.text('limitBytes'))
  return limit === undefined ? text : Buffer.from(text).subarray(0, limit).toString()
}

/** The container that is meant. Of several, one must be named. */
export function chosenContainer({ metadata, spec }: LoggedPod, name: string): Container {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec
  const [first, second] = containers
  if (name === '' && first !== undefined && second === undefined) return first
  const all = [...initContainers, ...containers, ...ephemeralContainers]
  if (name === '') {
    const names = all.map(one => one.name).join(' ')
    const said = `a container name must be specified for pod ${metadata.name}`
    throw badRequest(`${said}, choose one of: [${names}]`)
  }
  const found = all.find(one => one.name === name)
  if (found !== undefined) return found
  throw badRequest(`container ${name} is not valid for pod ${metadata.name}`)
}

export function isRunning(pod: LoggedPod, container: string): boolean {
  return statusOf(pod, container)?.state?.running !== undefined
}

function statusOf({ status }: LoggedPod, name: string): ContainerStatus | undefined {
  const {
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
  } = status ?? {}
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses]
  return all.find(one => one.name === name)
}

/** As a kubelet says it (validateContainerLogStatus). */
function notThere(
  { metadata }: LoggedPod,
  status: ContainerStatus | undefined,
  container: string,
  isPrevious: boolean,
): string {
  const named = `container "${container}" in pod "${metadata.name}"`
  if (isPrevious) return `previous terminated ${named} not found`
  const { reason = 'ContainerCreating' } = status?.state?.waiting ?? {}
  return `${named} is waiting to start: ${waitingTexts[reason] ?? reason}`
}

const waitingTexts: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

/** The rule for a container; undefined if there is none for its pod. A pod with rules of its own
 *  that leave the container out is refused, as kwok does it. */
export function ruleFor<T extends Rule>(
  rules: RuleSet<T>,
  what: string,
  { metadata }: LoggedPod,
  container: string,
): T | undefined {
  const rule = rules.find(metadata, container)
  if (rule !== 'none of its own') return rule
  const pod = `${metadata.namespace ?? ''}/${metadata.name}`
  throw badRequest(`${what} target not found for container "${container}" in pod "${pod}"`)
}

function linesIn(file: LogFile, { startedAt = '' }: Ended): Line[] {
  return file.map(({ at = startedAt, text }) => ({ at, text }))
}

/** The time from which on lines are asked for; of two the later one. */
function sinceMs(query: Query, nowMs: number): number | undefined {
  const seconds = numberOf(query.text('sinceSeconds'))
  const time = Date.parse(query.text('sinceTime'))
  const times = [
    ...(seconds === undefined ? [] : [nowMs - seconds * 1000]),
    ...(Number.isNaN(time) ? [] : [time]),
  ]
  return times.length === 0 ? undefined : Math.max(...times)
}

function annotatedLines(
  { metadata }: LoggedPod,
  { name }: Container,
  { startedAt = '' }: Ended,
): Line[] | undefined {
  const { annotations = {} } = metadata
  const written = annotations[`${annotation}.${name}`] ?? annotations[annotation]
  const texts = written?.replace(/\n$/, '').split('\n')
  return texts?.map(text => ({ at: startedAt, text }))
}

/** The lines that a script has written by now, each with the time at which it began. */
function scriptLines({ written }: ScriptRun, { startedAt = '' }: Ended, nowMs: number): Line[] {
  const startedMs = Date.parse(startedAt)
  const lines: { at: string; text: string }[] = []
  let isOpen = false
  for (const { afterMs, text } of written) {
    if (startedMs + afterMs > nowMs) break
    const pieces = text.split('\n')
    const isEnded = pieces.at(-1) === ''
    for (const piece of isEnded ? pieces.slice(0, -1) : pieces) {
      const open = isOpen ? lines.at(-1) : undefined
      if (open !== undefined) open.text += piece
      else lines.push({ at: textFromMilliseconds(startedMs + afterMs), text: piece })
      isOpen = false
    }
    isOpen = !isEnded
  }
  return lines
}

function startLines({ name, image = '' }: Container, run: Ended): Line[] {
  const { startedAt = '', finishedAt } = run
  const start = `container ${name} (${image}) was started: it is made up, and writes nothing`
  const lines = [{ at: startedAt, text: start }]
  if (finishedAt === undefined) return lines
  const code = String(run.exitCode ?? 0)
  return [...lines, { at: finishedAt, text: `container ${name} ended with exit code ${code}` }]
}

/** A number that validation would take; undefined if there is none. */
function numberOf(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
