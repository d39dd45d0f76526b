/** Events as the components of a cluster write them. One that says the same again within an hour is
 *  counted; there are never more waiting, or written in a second, than a bound says: then events
 *  are lost, as those of a real cluster are. */

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
  readonly atMs: number
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
  readonly #waiting: Told[] = []
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
    if (this.#waiting.length >= waitingMax || !this.#takeToken()) {
      if (this.#lost++ % 1_000 === 0) {
        this.#options.logger.debug('events of simulated components are left out', {
          sofar: this.#lost,
        })
      }
      return
    }
    this.#waiting.push({ source, about, note, atMs: this.#options.clock.wallMs() })
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
    let next = 0
    while (next < this.#waiting.length && !signal.aborted) {
      const told = this.#waiting[next++]
      try {
        if (told !== undefined) await this.#write(told)
      } catch (error) {
        // Its namespace may be going away: nobody waits for it.
        const reason = error instanceof Error ? error.message : String(error)
        if (!signal.aborted) logger.debug('an event could not be written', { reason })
      }
      if (next < waitingMax / 2) continue
      this.#waiting.splice(0, next)
      next = 0
    }
    this.#waiting.length = 0
    this.#isRunning = false
  }

  async #write({ source, about, note, atMs }: Told): Promise<void> {
    const { uid } = about.metadata
    const says = [source.component, uid, about.fieldPath, note.reason, note.message].join('\n')
    const known = this.#known.get(says)
    const api = this.#apiOf(source.component)
    if (known !== undefined && atMs - known.firstMs < keptMs) {
      known.count++
      const lastTimestamp = textFromMilliseconds(atMs)
      if (await api.patchAt(known.key, { count: known.count, lastTimestamp })) return
    }
    this.#known.delete(says)
    const key = await api.createNew(creationOf({ source, about, note, atMs }))
    if (key === undefined) return
    this.#known.set(says, { key, firstMs: atMs, count: 1 })
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
function creationOf({ source, about, note, atMs }: Told): {
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly object: object
} {
  const { apiVersion, kind, metadata, fieldPath } = about
  const { name, uid } = metadata
  const namespace = metadata.namespace ?? 'default'
  named = (named + 1) % 1_000_000
  const nanoseconds = BigInt(Math.floor(atMs)) * 1_000_000n + BigInt(named)
  const timestamp = textFromMilliseconds(atMs)
  const involved = { kind, namespace: metadata.namespace, name, uid, apiVersion, fieldPath }
  const object = {
    metadata: { name: `${name.slice(0, 230)}.${nanoseconds.toString(16)}`, namespace },
    involvedObject: involved,
    reason: note.reason,
    message: note.message.slice(0, 1_024),
    source,
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    count: 1,
    type: note.type ?? 'Normal',
    eventTime: null,
    reportingComponent: source.component,
    reportingInstance: source.host ?? '',
  }
  return { group: '', resource: 'events', namespace, object }
}
