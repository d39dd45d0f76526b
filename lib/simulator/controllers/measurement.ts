/** The replicas that metrics of resources ask for, in the way and the words of upstream's
 *  autoscaler. */

import { quantityOf } from '../quantities.ts'
import {
  textsOf,
  type Usage,
  type UsageOf,
  usageOfContainer,
  type UsingPod,
} from '../usage/usage.ts'

export interface Metric {
  readonly type: string
  readonly resource?: {
    readonly name: string
    readonly target: {
      readonly averageUtilization?: number
      readonly averageValue?: string
    }
  }
}

export type Measurement =
  | {
      readonly type: 'measured'
      readonly replicas: number
      /** The metric that asks for most, in words. */
      readonly metric: string
      readonly shown: readonly object[]
    }
  | { readonly type: 'failed'; readonly problem: string }

interface Measured {
  readonly replicas: number
  readonly metric: string
  readonly shown: object
}

/** Sums of fractions are a little more or less than they should be. */
const rounding = 1e-6
/** The tolerance: a ratio this close to the target changes nothing. */
const tolerance = 0.1

/** The metric that asks for most decides. */
export function measure(
  metrics: readonly Metric[],
  pods: readonly UsingPod[],
  nowMs: number,
  usageOf: UsageOf = usageOfContainer,
): Measurement {
  const found: Measured[] = []
  for (const metric of metrics) {
    const one = measureOne(metric, pods, nowMs, usageOf)
    if (typeof one === 'string') return { type: 'failed', problem: one }
    found.push(one)
  }
  const [most] = [...found].sort((a, b) => b.replicas - a.replicas)
  if (most === undefined) return { type: 'failed', problem: 'no metrics are named' }
  const { replicas, metric } = most
  return { type: 'measured', replicas, metric, shown: found.map(({ shown }) => shown) }
}

function measureOne(
  { type, resource }: Metric,
  pods: readonly UsingPod[],
  nowMs: number,
  usageOf: UsageOf,
): Measured | string {
  const name = resource?.name
  if (resource === undefined || (name !== 'cpu' && name !== 'memory')) {
    return `failed to get ${type} metric: only cpu and memory of simulated pods are measured`
  }
  if (pods.length === 0) {
    return `failed to get ${name} utilization: unable to get metrics for resource ${name}: no metrics returned from resource metrics API`
  }
  const used = sumOf(pods, (pod, i) => usageOf(pod, pod.spec.containers[i]!, nowMs)[name])
  const averageValue = textOf(name, used / pods.length)
  const { averageUtilization, averageValue: wantedValue } = resource.target
  if (averageUtilization === undefined) {
    const ratio = used / pods.length / quantityOf(wantedValue)
    const shown = { type, resource: { name, current: { averageValue } } }
    return { replicas: replicasFor(ratio, pods), metric: `${name} resource`, shown }
  }
  const silent = withoutRequest(pods, name)
  if (silent !== undefined) return silent
  const requested = sumOf(pods, (pod, i) => requestOf(pod, i, name))
  const utilization = Math.floor((used * 100) / requested + rounding)
  const current = { averageUtilization: utilization, averageValue }
  return {
    replicas: replicasFor(utilization / averageUtilization, pods),
    metric: `${name} resource utilization (percentage of request)`,
    shown: { type, resource: { name, current } },
  }
}

function replicasFor(ratio: number, pods: readonly UsingPod[]): number {
  return Math.abs(ratio - 1) <= tolerance ? pods.length : Math.ceil(ratio * pods.length)
}

/** The refusal if a container says nothing of what it needs: nothing is a share of that. */
function withoutRequest(pods: readonly UsingPod[], name: keyof Usage): string | undefined {
  for (const { metadata, spec } of pods) {
    const silent = spec.containers.find(one => one.resources?.requests?.[name] === undefined)
    if (silent === undefined) continue
    return `failed to get ${name} utilization: missing request for ${name} in container ${silent.name} of Pod ${metadata.name}`
  }
  return undefined
}

function requestOf({ spec }: UsingPod, container: number, name: keyof Usage): number {
  return quantityOf(spec.containers[container]?.resources?.requests?.[name])
}

function sumOf(
  pods: readonly UsingPod[],
  amount: (pod: UsingPod, container: number) => number,
): number {
  let sum = 0
  for (const pod of pods) {
    for (const i of pod.spec.containers.keys()) sum += amount(pod, i)
  }
  return sum
}

/** As the status has it: thousandths of cores, bytes. */
function textOf(name: keyof Usage, value: number): string {
  return name === 'cpu'
    ? `${String(Math.ceil(value * 1000 - rounding))}m`
    : textsOf({ cpu: 0, memory: value }).memory
}
