/** The times for which pods have run, by the workload at the end of their owners, as SimKube's
 *  traces have them: pods of a workload that is made anew run for as long, one after the other. */

import { type Key, listOf, memberAt, objectOf, textOf, type UntypedObject } from '@watchglass/base'
import { type Packed, PackedMap, packedMap } from './msgpack.ts'

/** Seconds since 1970. */
interface Lifetime {
  readonly owner: string
  start: number | undefined
  end: number | undefined
}

/** Owners own each other no deeper. */
const depthMax = 8

/** SimKube tells pods of one workload apart by a hash of what they are, but looks for it only where
 *  a workload may have several kinds of pods, which those that are traced do not. */
const hash = 0

export class PodLifetimes {
  /** The owner of each object that has one, both as `apps/v1.ReplicaSet shop/web-1`. */
  readonly #owners = new Map<string, string>()
  readonly #running = new Map<Key, Lifetime>()
  readonly #all: Lifetime[] = []

  /** Notes who owns an object. */
  own(name: string, { metadata }: UntypedObject): void {
    const owner = ownerIn(objectOf(metadata))
    if (owner !== undefined) this.#owners.set(name, owner)
  }

  /** Notes what a pod does. One that nobody owns is its own owner. */
  see(key: Key, name: string, pod: UntypedObject): void {
    const known = this.#running.get(key)
    const life = known ?? {
      owner: ownerIn(objectOf(pod['metadata'])) ?? name,
      start: undefined,
      end: undefined,
    }
    if (known === undefined) {
      this.#running.set(key, life)
      this.#all.push(life)
    }
    const { start, end } = timesOf(pod)
    // Containers that are restarted were started later, and the pod was not.
    life.start ??= start
    life.end ??= end
  }

  /** A pod that is deleted while it runs has ended. */
  gone(key: Key, seconds: number): void {
    const life = this.#running.get(key)
    this.#running.delete(key)
    if (life?.start !== undefined) life.end ??= seconds
  }

  /** The lifetimes of pods that ran since the trace began, of owners that are in it. */
  packed(since: number, isTraced: (owner: string) => boolean): Packed {
    const byOwner = new Map<string, Lifetime[]>()
    for (const life of this.#all) {
      const { start, end } = life
      if (start === undefined || (end !== undefined && end < since)) continue
      const owner = this.#rootOf(life.owner)
      if (!isTraced(owner)) continue
      const known = byOwner.get(owner)
      if (known === undefined) byOwner.set(owner, [life])
      else known.push(life)
    }
    return new PackedMap(
      Array.from(byOwner, ([owner, lives]) => {
        const sorted = lives.toSorted((a, b) => (a.start ?? 0) - (b.start ?? 0))
        const shown = sorted.map(life => packedLife(life, since))
        return [owner.split(' '), new PackedMap([[hash, shown]])] as const
      }),
    )
  }

  #rootOf(name: string): string {
    let root = name
    for (let i = 0; i < depthMax; i++) root = this.#owners.get(root) ?? root
    return root
  }
}

function packedLife({ start = 0, end }: Lifetime, since: number): Packed {
  const from = Math.max(start, since)
  return packedMap(end === undefined ? { Running: from } : { Finished: [from, end] })
}

function ownerIn(metadata: UntypedObject): string | undefined {
  const owner = listOf(metadata['ownerReferences'])
    .map(objectOf)
    .find(one => one['controller'] === true)
  if (owner === undefined) return undefined
  const { apiVersion, kind, name } = owner
  return `${textOf(apiVersion)}.${textOf(kind)} ${textOf(metadata['namespace'])}/${textOf(name)}`
}

/** From the first start of a container to the last end, once all have ended. */
function timesOf(pod: UntypedObject): Pick<Lifetime, 'start' | 'end'> {
  const { initContainerStatuses, containerStatuses } = objectOf(pod['status'])
  const own = listOf(containerStatuses).map(stateOf)
  const all = [...listOf(initContainerStatuses).map(stateOf), ...own]
  const starts = all.flatMap(({ start }) => start ?? [])
  const ends = own.flatMap(({ end }) => end ?? [])
  const count = listOf(memberAt(pod, ['spec', 'containers'])).length
  const isOver = ends.length > 0 && ends.length === count
  return {
    start: starts.length === 0 ? undefined : Math.min(...starts),
    end: isOver ? Math.max(...ends) : undefined,
  }
}

function stateOf(status: unknown): Pick<Lifetime, 'start' | 'end'> {
  const { running, terminated } = objectOf(objectOf(status)['state'])
  const { startedAt, finishedAt } = objectOf(terminated ?? running)
  return { start: secondsOf(startedAt), end: secondsOf(finishedAt) }
}

function secondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time))
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}
