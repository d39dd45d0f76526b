/** Plays lifecycles that users have declared: a stage that fits an object waits, and does its
 *  steps, after which the next one is chosen for what the object is then. Stages come from the
 *  options, and from kwok's Stage objects, where a definition of them is stored. */

import { type Clock, type Key, type Logger, objectOf } from '@watchglass/base'
import { StatusError } from '@watchglass/kube'
import { KeyedTimers } from '../runtime/keyed-timers.ts'
import { chooseStage } from '../stages/lifecycle.ts'
import { StageSubject } from '../stages/expressions.ts'
import { stageFunctions } from '../stages/functions.ts'
import { type LifecycleStage, stageOf } from '../stages/stage.ts'
import { StageProblem } from '../stages/stage-problem.ts'
import type { Action } from '../stages/steps.ts'
import { TemplateProblem } from '../templates/problem.ts'
import type { WorkQueue } from '../runtime/work-queue.ts'
import { kindOf } from '../runtime/reconciler.ts'
import type { ApiClient } from '../runtime/api-client.ts'
import type { Addresses } from './addresses.ts'
import type { Note } from '../runtime/event-recorder.ts'
import { factOf } from '../runtime/facts.ts'
import type { Metadata, Pod } from '../runtime/objects.ts'
import type { Places } from './places.ts'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'

export interface StagePlayerOptions {
  readonly runtime: ControllerRuntime
  readonly cluster: ApiClient
  /** The stages that are there from the start. */
  readonly stages: readonly LifecycleStage[]
  readonly places: Pick<Places, 'node'>
  readonly addresses: Addresses
  readonly clock: Clock
  readonly logger: Logger
  /** A kind has stages now that had none, or the other way round. */
  readonly onKinds: () => void
}

/** A stage that was chosen for an object as it was. */
interface Awaited {
  readonly stage: LifecycleStage
  readonly revision: number
  isDue: boolean
}

interface Played {
  readonly stage: LifecycleStage
  readonly atMs: number
}

interface AnyObject {
  readonly metadata: Metadata
  readonly status?: Pod['status']
}

const name = 'watchglass'

/** A stage that fits what it has made itself is not played more often. */
const againMs = 1_000
/** Kinds that are not served yet are looked for this long after a definition has changed. */
const settleMs = 1_000
const toldMax = 1_000

export class StagePlayer {
  readonly #options: StagePlayerOptions
  readonly #api: ApiClient
  readonly #queue: WorkQueue<Key>
  readonly #timers: KeyedTimers
  readonly #startedMs: number
  readonly #awaited = new Map<Key, Awaited>()
  readonly #played = new Map<Key, Played>()
  /** The stages that are stored as objects, by their keys. */
  readonly #stored = new Map<Key, LifecycleStage>()
  /** By kind, as `apps/v1 Deployment`. */
  #byKind: ReadonlyMap<string, readonly LifecycleStage[]> = new Map()
  /** Kinds whose objects are followed, and how all of them are looked at again. */
  readonly #followed = new Map<string, () => void>()
  /** Problems that were logged, each once. */
  readonly #told = new Set<string>()

  constructor(options: StagePlayerOptions) {
    this.#options = options
    const { runtime, clock } = options
    this.#startedMs = clock.wallMs()
    this.#api = runtime.api(name)
    this.#timers = new KeyedTimers(clock)
    runtime.atEnd(() => this.#timers.stop())
    this.#queue = runtime.queue('an object with a stage', key => this.#work(key))
    const settled = (): void => this.#timers.set('' as Key, settleMs, () => this.#sync())
    const plain = (key: Key, revision: number, { metadata }: AnyObject) =>
      factOf(key, revision, metadata, {})
    runtime
      .informer('apiextensions.k8s.io/customresourcedefinitions', plain)
      .listen({ changed: settled })
    const read = (key: Key, revision: number, object: AnyObject) => {
      this.#note(key, object)
      return factOf(key, revision, object.metadata, {})
    }
    runtime.informer('kwok.x-k8s.io/stages', read).listen({
      noted: () => runtime.isComplete && this.#sync(),
      gone: ({ key }) => this.#stored.delete(key) && this.#sync(),
    })
    this.#sync()
  }

  /** The stages of a kind decide what goes on with its objects. */
  plays(apiVersion: string, kind: string): boolean {
    return this.#byKind.has(`${apiVersion} ${kind}`)
  }

  /** All that was stored at the start is known. */
  begin(): void {
    this.#sync()
  }

  #note(key: Key, object: AnyObject): void {
    this.#stored.delete(key)
    try {
      const stage = stageOf(object)
      if (stage !== undefined) this.#stored.set(key, stage)
    } catch (error) {
      if (!(error instanceof StageProblem)) throw error
      this.#tell('a stage cannot be used', error.message)
    }
  }

  /** The kinds informer from the stages. */
  #sync(): void {
    const before = this.#byKind
    const byKind = new Map<string, LifecycleStage[]>()
    for (const stage of [...this.#options.stages, ...this.#stored.values()]) {
      const kind = `${stage.apiVersion} ${stage.kind}`
      byKind.set(kind, [...(byKind.get(kind) ?? []), stage])
    }
    this.#byKind = byKind
    for (const [kind, [stage]] of byKind) if (stage !== undefined) this.#informer(kind, stage)
    for (const kind of new Set([...before.keys(), ...byKind.keys()])) this.#followed.get(kind)?.()
    if ([...before.keys()].toSorted().join() !== [...byKind.keys()].toSorted().join()) {
      this.#options.onKinds()
    }
  }

  #informer(kind: string, { apiVersion, kind: kindName }: LifecycleStage): void {
    if (this.#followed.has(kind)) return
    const { runtime, cluster } = this.#options
    const resource = cluster.resourceOfKind(apiVersion, kindName)
    const keyspace = resource?.storage?.prefix as Key | undefined
    if (keyspace === undefined) {
      this.#tell('stages wait for their kind to be served', kind)
      return
    }
    const informer = runtime.informerAt(keyspace, (key, revision, { metadata }: AnyObject) =>
      factOf(key, revision, metadata, {}),
    )
    const lookAt = (key: Key): void => {
      if (runtime.isComplete && this.#byKind.has(kind)) this.#queue.add(key)
    }
    informer.listen({ changed: ({ key }) => lookAt(key), gone: ({ key }) => this.#forget(key) })
    this.#followed.set(kind, () => {
      for (const { key } of informer.index.values()) lookAt(key)
    })
  }

  #forget(key: Key): void {
    this.#timers.cancel(key)
    this.#awaited.delete(key)
    this.#played.delete(key)
  }

  async #work(key: Key): Promise<void> {
    const found = await this.#api.find<AnyObject>(key)
    if (found === undefined) return this.#forget(key)
    const { place, object, revision } = found
    const { apiVersion, kind } = kindOf(place)
    const awaited = this.#awaited.get(key)
    if (awaited?.revision === revision) {
      if (awaited.isDue) await this.#play(key, awaited.stage, { apiVersion, kind, object })
      return
    }
    this.#timers.cancel(key)
    this.#awaited.delete(key)
    const stages = this.#byKind.get(`${apiVersion} ${kind}`)
    if (stages === undefined || !this.#isManaged(kind, object)) return
    const draw = (): number => this.#options.runtime.draw(0, 1)
    const subject = new StageSubject({
      apiVersion,
      kind,
      ...object,
    } as unknown as StageSubject['object'])
    const stage = chooseStage(stages, subject, draw)
    if (stage === undefined) return
    const delayMs = stage.delayMs(subject, this.#options.clock.wallMs(), draw())
    this.#wait(key, { stage, revision, isDue: false }, delayMs)
  }

  #wait(key: Key, awaited: Awaited, delayMs: number): void {
    const played = this.#played.get(key)
    const sinceMs =
      played === undefined ? Infinity : this.#options.clock.monotonicMs() - played.atMs
    const leastMs = played?.stage === awaited.stage ? againMs - sinceMs : 0
    this.#awaited.set(key, awaited)
    this.#timers.set(key, Math.max(delayMs, leastMs), () => {
      awaited.isDue = true
      this.#queue.add(key)
    })
  }

  /** A pod is run by its node. */
  #isManaged(kind: string, object: AnyObject): boolean {
    if (kind !== 'Pod') return true
    return this.#options.places.node((object as Pod).spec.nodeName ?? '') !== undefined
  }

  async #play(
    key: Key,
    stage: LifecycleStage,
    { apiVersion, kind, object }: { apiVersion: string; kind: string; object: AnyObject },
  ): Promise<void> {
    const { clock } = this.#options
    this.#played.set(key, { stage, atMs: clock.monotonicMs() })
    const about = { apiVersion, kind, metadata: object.metadata }
    try {
      for (const action of this.#actionsOf(stage, about, object)) await this.#do(key, about, action)
    } catch (error) {
      const isFinal =
        error instanceof TemplateProblem ||
        (error instanceof StatusError && error.status.code < 500 && error.status.code !== 409)
      if (!isFinal) throw error
      this.#tell(`stage ${stage.name} failed`, error.message)
    }
    this.#awaited.delete(key)
  }

  #actionsOf(
    { steps }: LifecycleStage,
    { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
    object: AnyObject,
  ): readonly Action[] {
    const { clock, places, addresses, cluster } = this.#options
    const subject = { apiVersion, kind, ...object } as unknown as StageSubject['object']
    const functions = stageFunctions({
      nowMs: clock.wallMs(),
      startedMs: this.#startedMs,
      version: cluster.gitVersion,
      name: object.metadata.name,
      addressOfNode: node => places.node(node)?.address ?? '',
      podAddress: () => object.status?.podIP ?? addresses.next(),
      draw: () => this.#options.runtime.draw(0, 1),
    })
    return steps.flatMap(step => step(subject, functions))
  }

  async #do(
    key: Key,
    about: { readonly apiVersion: string; readonly kind: string; readonly metadata: Metadata },
    action: Action,
  ): Promise<void> {
    const { metadata } = about
    switch (action.type) {
      case 'event': {
        const { type, ...said } = action.event
        const note: Note = type === 'Warning' ? { type, ...said } : said
        this.#options.runtime.events.tell({ component: name }, about, note)
        return
      }
      case 'delete':
        return this.#api.deleteAt(key, metadata.uid, about.kind === 'Pod' ? 0 : undefined)
      case 'patch': {
        const { patchType: type, subresource, body } = action
        await this.#api.patchAtAs(key, { type, subresource, body })
        return
      }
      case 'apply': {
        const { patchType: type, subresource, object } = action
        const { apiVersion, kind, metadata: own } = object as unknown as typeof about
        const namespace = own?.namespace ?? metadata.namespace ?? ''
        const applied = { apiVersion, kind, namespace, object: objectOf(object) }
        await this.#api.applyObject(applied, { type, subresource })
      }
    }
  }

  /** Says it in the log, once. */
  #tell(what: string, reason: string): void {
    const text = `${what}: ${reason}`
    if (this.#told.has(text) || this.#told.size >= toldMax) return
    this.#told.add(text)
    this.#options.logger.warn(what, { reason })
  }
}
