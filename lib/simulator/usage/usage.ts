/** The usage of simulated containers, by rule: what annotations say, or else a share of what the
 *  container requests, which follows from the pod's uid and moves a little from one window to the
 *  next. The same pod has the same figures wherever it is asked. */

import { createHash } from 'node:crypto'
import { quantityOf } from '../quantities.ts'

type Texts = Readonly<Record<string, string>>

export interface UsingContainer {
  readonly name: string
  readonly resources?: { readonly requests?: Texts }
}

export interface UsingPod {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly labels?: Texts
    readonly annotations?: Texts
  }
  readonly spec: { readonly nodeName?: string; readonly containers: readonly UsingContainer[] }
  readonly status?: { readonly phase?: string }
}

/** Cores and bytes. */
export interface Usage {
  readonly cpu: number
  readonly memory: number
}

export const noUsage: Usage = { cpu: 0, memory: 0 }

/** Figures are those of a window of this length, as a metrics server scrapes them. */
export const windowMs = 15_000

/** kwok's own example rules read the annotations of the second prefix. */
const prefixes = ['watchglass.local/usage-', 'kwok.x-k8s.io/usage-']

/** A container without requests uses so much, at least and at most. */
const idle = { cpu: [0.001, 0.01], memory: [2 ** 23, 2 ** 26] } as const
/** The share of what is requested that is used, at least and at most. */
const used = [0.2, 0.8] as const
/** The share of a figure by which it moves. */
const moves = 0.1

/** A pod that does not run is not measured. */
export function isMeasurable({ status }: UsingPod): boolean {
  return status?.phase === 'Running'
}

export function usageOfContainer(pod: UsingPod, container: UsingContainer, nowMs: number): Usage {
  return {
    cpu: amount(pod, container, 'cpu', nowMs),
    memory: amount(pod, container, 'memory', nowMs),
  }
}

/** The usage of a container: `usageOfContainer`, or what declared rules say. */
export type UsageOf = (pod: UsingPod, container: UsingContainer, nowMs: number) => Usage

export function usageOfPod(
  pod: UsingPod,
  nowMs: number,
  usageOf: UsageOf = usageOfContainer,
): Usage {
  return pod.spec.containers.reduce(
    (sum, container) => plus(sum, usageOf(pod, container, nowMs)),
    noUsage,
  )
}

/** Kubelet and system of a node use something, too. */
export const usageOfSystem: Usage = { cpu: 0.1, memory: 2 ** 29 }

export function plus(one: Usage, other: Usage): Usage {
  return { cpu: one.cpu + other.cpu, memory: one.memory + other.memory }
}

/** The figure that an annotation of the object says; undefined if none says anything. */
export function annotated(
  annotations: Texts = {},
  resource: keyof Usage,
  container = '',
): number | undefined {
  for (const prefix of prefixes) {
    const text = annotations[`${prefix}${resource}.${container}`] ?? annotations[prefix + resource]
    if (text !== undefined) return Math.max(0, quantityOf(text))
  }
  return undefined
}

/** As the API writes them. */
export function textsOf({ cpu, memory }: Usage): { readonly cpu: string; readonly memory: string } {
  return { cpu: `${Math.round(cpu * 1e9)}n`, memory: `${Math.round(memory / 1024)}Ki` }
}

function amount(
  { metadata }: UsingPod,
  { name, resources }: UsingContainer,
  resource: keyof Usage,
  nowMs: number,
): number {
  const said = annotated(metadata.annotations, resource, name)
  if (said !== undefined) return said
  const requested = quantityOf(resources?.requests?.[resource])
  const [least, most] = requested > 0 ? used.map(share => share * requested) : idle[resource]
  const place = `${metadata.uid}/${name}/${resource}`
  const usual = between(least ?? 0, most ?? 0, shareOf(place))
  const window = Math.floor(nowMs / windowMs)
  return usual * between(1 - moves, 1 + moves, shareOf(`${place}/${String(window)}`))
}

function between(least: number, most: number, share: number): number {
  return least + (most - least) * share
}

/** From 0 to 1, always the same for the same text. */
export function shareOf(text: string): number {
  return createHash('sha1').update(text).digest().readUInt32BE(0) / 2 ** 32
}
