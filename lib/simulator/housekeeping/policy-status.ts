/** Keeps the status of validating admission policies: warnings about expressions that do not fit
 *  the types of what a policy is about. */

import { type Clock, type Key, Slice } from '@watchglass/base'
import { JsonNumber, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import type { Registry } from '@watchglass/kube'
import { typeWarnings } from '@watchglass/writes'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'

export interface PolicyStatusOptions {
  readonly cluster: ClusterApi
  /** The prefix of keys. */
  readonly policies: Key
  /** The kinds that are served now. */
  readonly registry: () => Registry
  readonly objectOf: (place: ApiPlace) => Promise<JsonObject | undefined>
  readonly clock: Clock
  /** `work` is to be called with the key soon. */
  readonly lookAt: (key: Key) => void
}

const manager = 'validatingadmissionpolicy-status'

export class PolicyStatus {
  readonly #options: PolicyStatusOptions

  constructor(options: PolicyStatusOptions) {
    this.#options = options
  }

  changed(keyspace: Key, { key }: { readonly key: Key }): void {
    if (keyspace === this.#options.policies) this.#options.lookAt(key)
  }

  async work(key: Key): Promise<void> {
    const { cluster, objectOf, registry, clock } = this.#options
    const place = cluster.placeOf(key)
    const policy = place && (await objectOf(place))
    if (place === undefined || policy === undefined) return
    const generation = numberAt(policy.get('metadata'), 'generation')
    if (generation <= numberAt(policy.get('status'), 'observedGeneration')) return
    const number = (clock.wallMs() % 1000) * 1_000_000
    const steps = typeWarnings(policy.get('spec'), registry(), number)
    const warnings = await new Slice(clock).take(steps)
    const typeChecking = new Map<string, JsonValue>()
    if (warnings.length > 0) {
      typeChecking.set(
        'expressionWarnings',
        warnings.map(warning => new Map<string, JsonValue>(Object.entries(warning))),
      )
    }
    const status = new Map<string, JsonValue>([
      ['observedGeneration', new JsonNumber(String(generation))],
      ['typeChecking', typeChecking],
    ])
    await cluster.apply(place, { status }, manager, 'status')
  }
}

function numberAt(value: JsonValue | undefined, name: string): number {
  const number = memberOf(value, name)
  return number instanceof JsonNumber ? Number(number.text) : 0
}
