/** Keeps the condition Dangling of FlowSchemas: whether the priority level that a schema names
 *  exists. kube-apiserver does so itself (presyncFlowSchemaStatus of apiserver's
 *  pkg/util/flowcontrol/apf_controller.go), in these words. */

import { type Clock, type Key, Slice } from '@watchglass/base'
import {
  goQuote,
  itemsOf,
  type JsonObject,
  type JsonValue,
  memberOf,
  textFromMilliseconds,
} from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'

export interface FlowStatusOptions {
  readonly cluster: ClusterApi
  /** The prefixes of keys. */
  readonly flowSchemas: Key
  readonly priorityLevels: Key
  /** Contents of a keyspace now; undefined while the mirror has none of it. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly objectOf: (place: ApiPlace) => Promise<JsonObject | undefined>
  readonly clock: Clock
  /** `work` is to be called with the key soon. */
  readonly lookAt: (key: Key) => void
}

const manager = 'api-priority-and-fairness-config-consumer-v1'

interface LevelChange {
  readonly key: Key
  readonly before?: unknown
  readonly after?: unknown
}

export class FlowStatus {
  readonly #options: FlowStatusOptions

  constructor(options: FlowStatusOptions) {
    this.#options = options
  }

  /** A schema is looked at when it changes, and each of them when a level comes or goes. */
  changed(keyspace: Key, { key, before, after }: LevelChange): void {
    const { flowSchemas, priorityLevels, lookAt } = this.#options
    const isLevel = keyspace === priorityLevels && (before === undefined || after === undefined)
    if (keyspace === flowSchemas || isLevel) lookAt(key)
  }

  /** A schema that was there when it was first mirrored. */
  found(keyspace: Key, key: Key): void {
    if (keyspace === this.#options.flowSchemas) this.#options.lookAt(key)
  }

  async work(key: Key): Promise<void> {
    const { cluster, objectOf, priorityLevels, clock } = this.#options
    if (key.startsWith(priorityLevels)) return this.#lookAtAll()
    const place = cluster.placeOf(key)
    const schema = place && (await objectOf(place))
    if (place === undefined || schema === undefined) return
    const name = memberOf(memberOf(schema.get('spec'), 'priorityLevelConfiguration'), 'name')
    const level = typeof name === 'string' ? name : ''
    const wanted = conditionFor(level, await this.#hasLevel(level))
    const known = itemsOf(memberOf(schema.get('status'), 'conditions')).find(
      condition => memberOf(condition, 'type') === 'Dangling',
    )
    if (Object.entries(wanted).every(([member, text]) => memberOf(known, member) === text)) return
    const condition = new Map<string, JsonValue>([
      ...Object.entries(wanted),
      ['lastTransitionTime', textFromMilliseconds(clock.wallMs())],
    ])
    const status = new Map<string, JsonValue>([['conditions', [condition]]])
    await cluster.apply(place, { status }, manager, 'status')
  }

  async #lookAtAll(): Promise<void> {
    const { flowSchemas, contentsOf, clock, lookAt } = this.#options
    const slice = new Slice(clock)
    for (const { key } of contentsOf(flowSchemas) ?? []) {
      lookAt(key)
      await slice.giveWay()
    }
  }

  async #hasLevel(name: string): Promise<boolean> {
    const { cluster } = this.#options
    const apiVersion = 'flowcontrol.apiserver.k8s.io/v1'
    const kind = 'PriorityLevelConfiguration'
    const key = cluster.keyOf({ apiVersion, kind, name, namespace: '' })
    return key !== undefined && (await cluster.read(key)) !== undefined
  }
}

function conditionFor(level: string, isFound: boolean): Readonly<Record<string, string>> {
  const [status, reason, end] = isFound
    ? ['False', 'Found', 'and it exists']
    : ['True', 'NotFound', 'but there is no such object']
  const message = `This FlowSchema references the PriorityLevelConfiguration object named ${goQuote(level)} ${end}`
  return { type: 'Dangling', status, reason, message }
}
