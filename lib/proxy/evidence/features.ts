/** Later features as the upstream treats them: whether it obeys what asks for one, or ignores it.
 *  No version and no document says so for sure, because they are behind feature gates: an object is
 *  asked for in a way that only servers with the feature answer otherwise, once for each resource
 *  and form, and again when the state of the upstream changes. */

import { type Clock, type Key, NotExact } from '@watchglass/base'
import type { ObjectEncoder } from '@watchglass/codec'
import type { LaterFeature, Resource } from '@watchglass/kube'
import type { Upstream } from '../upstream/upstream.ts'
import { BothWays } from './both-ways.ts'
import { asked, dateOf, differenceOf, type Held } from './compare.ts'
import type { Evident } from './evidents.ts'
import type { ComparedForm } from './form.ts'
import { comparedForm, formName } from './form-names.ts'
import { streamPath } from './question.ts'
import { firstSample, samplesOf } from './samples.ts'

export interface FeaturesOptions {
  readonly upstreamOf: (version: string) => Pick<Upstream, 'call'>
  readonly clock: Clock
  /** The evidence of a resource, which has the states of the upstream. */
  readonly evidentsOf: (resource: Resource) => readonly Pick<Evident, 'version' | 'state'>[]
  /** The evidence of all resources that are answered here. */
  readonly evidents: () => readonly Pick<Evident, 'resource'>[]
  readonly held: (keyspace: Key) => Held | undefined
  readonly encoderOf: (resource: Resource) => ObjectEncoder | NotExact
}

/** Questions that are under way at the same time. */
const underWayMax = 2
const retryMs = 5_000
/** Streams are compressed in every form. */
const anyForm: ComparedForm = comparedForm({
  encoding: 'json',
  rendering: 'object',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
})
/** More than a cluster has; beyond it everything is asked again. */
const knownMax = 20_000

interface Known {
  /** The state of the upstream for which it is known. */
  readonly state: string
  /** Undefined: not known. */
  isObeyed: boolean | undefined
  isUnderWay: boolean
  /** No question is asked again before. */
  dueMs: number
}

export class Features {
  readonly #options: FeaturesOptions
  readonly #known = new Map<string, Known>()
  readonly #stopped = new AbortController()
  #underWay = 0

  constructor(options: FeaturesOptions) {
    this.#options = options
  }

  stop(): void {
    this.#stopped.abort()
  }

  /** Whether the upstream obeys the feature for a resource in a form. Undefined while it is not
   *  known: the upstream is asked then, so that the next client is told. */
  isObeyed(feature: LaterFeature, resource: Resource, output: ComparedForm): boolean | undefined {
    const form = feature === 'zippedStreams' ? anyForm : comparedForm(output)
    const known = this.#knownOf(feature, resource, form)
    if (known !== undefined || resource.learned !== undefined) return known
    // Perhaps nothing tells. The feature gate is the same for all resources of a server.
    const namespaces = this.#options.evidents().find(one => one.resource.resource === 'namespaces')
    const isIgnored = namespaces && this.#knownOf(feature, namespaces.resource, form) === false
    return isIgnored === true ? false : undefined
  }

  #knownOf(feature: LaterFeature, resource: Resource, form: ComparedForm): boolean | undefined {
    const [evident, ...others] = this.#options.evidentsOf(resource)
    // Servers of several versions may treat it differently.
    if (evident === undefined || others.length > 0) return undefined
    const { version, state } = evident
    const { group, version: served, resource: name } = resource
    const key = `${feature} ${group}/${served}/${name} ${formName(form)}`
    let known = this.#known.get(key)
    if (known?.state !== state) {
      known = { state, isObeyed: undefined, isUnderWay: false, dueMs: 0 }
      if (this.#known.size >= knownMax) this.#known.clear()
      this.#known.set(key, known)
    }
    if (known.isObeyed === undefined) void this.#find(known, { feature, resource, form, version })
    return known.isObeyed
  }

  async #find(known: Known, question: Question): Promise<void> {
    const { clock } = this.#options
    if (known.isUnderWay || clock.monotonicMs() < known.dueMs) return
    if (this.#underWay >= underWayMax) return
    known.isUnderWay = true
    this.#underWay++
    try {
      known.isObeyed =
        question.feature === 'zippedStreams'
          ? await this.#askStream(question)
          : await this.#ask(question)
    } finally {
      this.#underWay--
      known.isUnderWay = false
      known.dueMs = clock.monotonicMs() + retryMs
    }
  }

  /** Asks for a streaming list of no objects. */
  async #askStream({ resource, version }: Question): Promise<boolean | undefined> {
    const answer = await asked(
      {
        upstream: this.#options.upstreamOf(version),
        onBytes: () => {},
        signal: this.#stopped.signal,
      },
      { output: anyForm, acceptsGzip: true },
      streamPath(resource),
      'item',
    )
    if ('type' in answer) return undefined
    return answer.headers['content-encoding'] === 'gzip'
  }

  /** Asks for one object that is shown in one way with the feature, and in another without.
   *  Undefined if there is none, or if the answer is neither. */
  async #ask({ feature, resource, form, version }: Question): Promise<boolean | undefined> {
    const { clock, held: heldOf, encoderOf, upstreamOf } = this.#options
    const held = firstSample(samplesOf(resource, heldOf))
    const encoder = encoderOf(resource)
    if (held === undefined || encoder instanceof NotExact) return undefined
    await encoder.prepare(form, clock)
    const both = new BothWays({ feature, resource, form, encoder, held, now: clock.wallMs() })
    if (both.path === undefined) return undefined
    const answer = await asked(
      { upstream: upstreamOf(version), onBytes: () => {}, signal: this.#stopped.signal },
      { output: { ...form, drops: feature === 'drop' ? true : undefined } },
      both.path,
      'item',
    )
    if ('type' in answer) return undefined
    const now = dateOf(answer, clock)
    for (const isObeyed of [false, true]) {
      const body = both.body(isObeyed, now)
      if (body instanceof NotExact) return undefined
      if (differenceOf({ output: form, resource }, body, answer) === undefined) return isObeyed
    }
    return undefined
  }
}

interface Question {
  readonly feature: LaterFeature
  readonly resource: Resource
  readonly form: ComparedForm
  readonly version: string
}
