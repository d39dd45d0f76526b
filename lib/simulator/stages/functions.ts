/** The functions of a stage's templates that are about the cluster and the time. */

import { healthyNodeConditions } from '../node-conditions.ts'
import type { GivenFunctions } from '../templates/template.ts'

/** The world as a rendering is told of it. */
export interface StageWorld {
  readonly nowMs: number
  readonly startedMs: number
  /** The version of Kubernetes that is answered as. */
  readonly version: string
  /** The name of the object. */
  readonly name: string
  readonly addressOfNode: (name: string) => string
  /** That of the pod, or a new one. */
  readonly podAddress: () => string
  /** A number from 0 up to 1. */
  readonly draw: () => number
}

const routed = {
  type: 'NetworkUnavailable',
  status: 'False',
  reason: 'RouteCreated',
  message: 'RouteController created a route',
}

/** In kwok's order. */
const nodeConditions: readonly object[] = [
  ...healthyNodeConditions.filter(({ type }) => type === 'Ready'),
  ...healthyNodeConditions.filter(({ type }) => type !== 'Ready'),
  routed,
]

/** The port of a kubelet. */
const nodePort = 10250

const letters = 'abcdefghijklmnopqrstuvwxyz'
const digits = '0123456789'

export function stageFunctions(world: StageWorld): GivenFunctions {
  const now = (): string => new Date(world.nowMs).toISOString()
  const addressOf = (name: unknown): string => world.addressOfNode(String(name))
  const podAddress = (node: unknown, isHost: unknown): string =>
    isHost === true ? addressOf(node) : world.podAddress()
  const random = (count: unknown, from: string): string =>
    Array.from(
      { length: Math.min(Number(count) || 0, 1_000) },
      () => from[Math.floor(world.draw() * from.length)] ?? '',
    ).join('')
  return {
    Now: now,
    now,
    StartTime: () => new Date(world.startedMs).toISOString(),
    Version: () => world.version,
    NodeConditions: () => nodeConditions,
    NodeIP: () => addressOf(world.name),
    NodeName: () => world.name,
    NodePort: () => nodePort,
    NodeIPWith: addressOf,
    NodeIPsWith: name => [addressOf(name)],
    PodIP: () => world.podAddress(),
    PodIPWith: podAddress,
    PodIPsWith: (node, isHost) => [podAddress(node, isHost)],
    randAlpha: count => random(count, letters + letters.toUpperCase()),
    randAlphaNum: count => random(count, letters + letters.toUpperCase() + digits),
    randNumeric: count => random(count, digits),
    randInt: (from, to) =>
      Math.floor(Number(from) + world.draw() * Math.max(0, Number(to) - Number(from))),
  }
}

const nothing: StageWorld = {
  nowMs: 0,
  startedMs: 0,
  version: '',
  name: '',
  addressOfNode: () => '',
  podAddress: () => '',
  draw: () => 0,
}

export const stageFunctionNames: ReadonlySet<string> = new Set(Object.keys(stageFunctions(nothing)))
