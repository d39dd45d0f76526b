/** Events as the components of a cluster write them. One that says the same again within an hour is
 *  counted, and while it waits to be written at once: a busy machine would otherwise write of one
 *  container's restarts for minutes before it tells that a job has failed. There are never more
 *  waiting, or written in a second, than a bound says: then events are lost, as those of a real
 *  cluster are. */

import type { Clock, Key, Logger } from '@watchglass/base'
import { textFromMilliseconds } from '@watchglass/go'
import type { ApiClient } from './api-client.ts'
import type { Metadata } from './objects.ts'

/** Something to tell about an object. */
export interface Note {
  /** `Normal`, if it is left out. */
  readonly type?: 'Warning'
  readonly reason: string
  readonly message: string
  /** The component that tells it, if it is another one than that of the controller. */
  readonly source?: EventSource
  /** The part of the object that it is about, such as `spec.containers{web}`. */
  readonly fieldPath?: string
}

/** The component that tells, and the node where it runs. */
export interface EventSource {
  readonly component: string
  readonly host?: string
}

export interface About {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<Metadata, 'name' | 'namespace' | 'uid'>
  /** Such as `spec.containers{web}`. */
  readonly fieldPath?: string
}

interface Told {
  readonly source: EventSource
  readonly about: About
  readonly note: Note
  readonly firstMs: number
  lastMs: number
  count: number
}

interface Known {
  readonly key: Key
  readonly firstMs: number
  count: number
}

export interface EventRecorderOptions {
  readonly api: (component: string) => ApiClient
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

const waitingMax = 2_000
const knownMax = 8_192
/** Events written a second in the long run, and at once. */
const perSecond = 100
const burst = 2_000
/** As long as kube-apiserver keeps events. */
const keptMs = 3_600_000

export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #apis = new Map<string, ApiClient>()
  /** By what they say, in the order in which they were told. */
  readonly #waiting = new Map<string, Told>()
  /** Events by what they say, the oldest first. */
  readonly #known = new Map<string, Known>()
  #isRunning = false
  #tokens = burst
  #refilledMs: number
  #lost = 0

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#refilledMs = options.clock.monotonicMs()
  }

  tell(source: EventSource, about: About, note: Note): void {
    const nowMs = this.#options.clock.wallMs()
    const { uid } = about.metadata
    const says = [source.component, uid, about.fieldPath, note.reason, note.message].join('\n')
    const same = this.#waiting.get(says)
    if (same !== undefined) {
      same.count++
      same.lastMs = nowMs
      return
    }
    if (this.#waiting.size >= waitingMax || !this.#takeToken()) {
      if (this.#lost++ % 1_000 === 0) {
        this.#options.logger.debug('events of simulated components are left out', {
          sofar: this.#lost,
        })
      }
      return
    }
    this.#waiting.set(says, { source, about, note, firstMs: nowMs, lastMs: nowMs, count: 1 })
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#run()
  }

  #takeToken(): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    const added = ((nowMs - this.#refilledMs) / 1_000) * perSecond
    this.#tokens = Math.min(burst, this.#tokens + added)
    this.#refilledMs = nowMs
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  async #run(): Promise<void> {
    const { clock, signal, logger } = this.#options
    await clock.yield()
    // A map goes on with what is told meanwhile.
    for (const [says, told] of this.#waiting) {
      if (signal.aborted) break
      this.#waiting.delete(says)
      try {
        await this.#write(says, told)
      } catch (error) {
        // Its namespace may be going away: nobody waits for it.
        const reason = error instanceof Error ? error.message : String(error)
        if (!signal.aborted) logger.debug('an event could not be written', { reason })
      }
    }
    this.#isRunning = false
  }

  async #write(says: string, told: Told): Promise<void> {
    const { firstMs, lastMs, count } = told
    const known = this.#known.get(says)
    const api = this.#apiOf(told.source.component)
    if (known !== undefined && lastMs - known.firstMs < keptMs) {
      known.count += count
      const lastTimestamp = textFromMilliseconds(lastMs)
      if (await api.patchAt(known.key, { count: known.count, lastTimestamp })) return
    }
    this.#known.delete(says)
    const key = await api.createNew(creationOf(told))
    if (key === undefined) return
    this.#known.set(says, { key, firstMs, count })
    const [oldest] = this.#known.keys()
    if (this.#known.size > knownMax && oldest !== undefined) this.#known.delete(oldest)
  }

  #apiOf(component: string): ApiClient {
    const known = this.#apis.get(component)
    if (known !== undefined) return known
    const made = this.#options.api(managerOf(component))
    this.#apis.set(component, made)
    return made
  }
}

/** The program that a component is a part of: the manager of what it writes. */
export function managerOf(component: string): string {
  if (component === 'kubelet') return component
  return component === 'default-scheduler' ? 'kube-scheduler' : 'kube-controller-manager'
}

let named = 0

/** The name ends with a number that no other event of the object has. */
function creationOf({ source, about, note, firstMs, lastMs, count }: Told): {
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly object: object
} {
  const { apiVersion, kind, metadata, fieldPath } = about
  const { name, uid } = metadata
  const namespace = metadata.namespace ?? 'default'
  named = (named + 1) % 1_000_000
  const nanoseconds = BigInt(Math.floor(firstMs)) * 1_000_000n + BigInt(named)
  const involved = { kind, namespace: metadata.namespace, name, uid, apiVersion, fieldPath }
  const object = {
    metadata: { name: `${name.slice(0, 230)}.${nanoseconds.toString(16)}`, namespace },
    involvedObject: involved,
    reason: note.reason,
    message: note.message.slice(0, 1_024),
    source,
    firstTimestamp: textFromMilliseconds(firstMs),
    lastTimestamp: textFromMilliseconds(lastMs),
    count,
    type: note.type ?? 'Normal',
    eventTime: null,
    reportingComponent: source.component,
    reportingInstance: source.host ?? '',
  }
  return { group: '', resource: 'events', namespace, object }
}
