/** A cluster's first objects, made at start where they are missing. What kube-apiserver says of
 *  itself is looked at every ten seconds, as it does, and its lease renewed. */

import { networkInterfaces } from 'node:os'
import {
  assert,
  type Clock,
  type Key,
  keyFromText,
  type Logger,
  NotExact,
  prefixRange,
  repeat,
  singleKey,
} from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import { jsonFromStored, protobufFromJson } from '@watchglass/codec'
import type { ApiState, Resource } from '@watchglass/kube'
import { microTimeText } from '@watchglass/go'
import type { ApiClient } from '../runtime/api-client.ts'
import type { ApiPlace } from '../runtime/cluster-api.ts'
import type { NamespaceBasics } from '../housekeeping/namespace-basics.ts'
import type { Keyspace } from '@watchglass/store'
import type { WriteStore } from '@watchglass/writes'
import { advertisedHost, type NewObject, ownObjects, serverName } from './own-objects.ts'
import { usualClusterIpRange } from '../address-range.ts'
import { storedObjects } from './stored-objects.ts'

export interface FreshClusterOptions {
  readonly state: () => ApiState
  /** The API for whoever is the manager of what is written. */
  readonly clientOf: (manager: string) => ApiClient
  /** HOST:PORT where the server listens. */
  readonly address: string
  /** A CIDR of IPv4 from which Services have their addresses; left out: that of kubeadm. */
  readonly clusterIpRange?: string | undefined
  readonly uid: () => string
  readonly store: WriteStore
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** Objects that each namespace has. */
  readonly basics: NamespaceBasics
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

const server = 'kube-apiserver'

const systemNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system']

const lookEveryMs = 10_000

/** The object that has the range of Services. */
const rangeKey = 'servicecidrs/kubernetes'

export class FreshCluster {
  readonly #options: FreshClusterOptions
  readonly #holder: string
  #stop: () => void = () => {}
  #isFilled = false
  /** First objects that may not be mirrored yet, by key: revisions at which they were there. */
  readonly #unseen = new Map<Key, number>()

  constructor(options: FreshClusterOptions) {
    this.#options = options
    this.#holder = options.uid()
  }

  /** Makes what is missing. */
  async fill(): Promise<void> {
    const { state, store, clock, uid, basics, signal, clusterIpRange } = this.#options
    const { registry } = state()
    const seconds = Math.floor(clock.wallMs() / 1000)
    for (const { key, value: usual } of storedObjects(registry.schema.minor, { uid, seconds })) {
      const value = key === rangeKey ? withRange(usual, clusterIpRange) : usual
      const place = keyFromText(`${registry.etcdPrefix}/${key}`)
      const change = { key: place, expected: 0, value, ttlSeconds: 0 }
      const commit = await store.commit(change, signal)
      const revision = commit.type === 'done' ? commit.revision : commit.current?.modRevision
      this.#unseen.set(place, revision ?? 0)
    }
    const resources = resourcesByKind(registry.resources)
    for (const object of this.#own()) await this.#make(object, resources)
    for (const name of systemNamespaces) await basics.makeIn(name)
    this.#isFilled = true
  }

  /** Clients that ask whether the server is ready find roles and namespaces then. */
  missing(): string | undefined {
    if (!this.#isFilled) return 'the first objects of the cluster are being made'
    const { state, storeOf } = this.#options
    const { registry } = state()
    for (const [key, revision] of this.#unseen) {
      const keyspace = registry.keyspaceOf(key)
      const mirrored = keyspace === undefined ? undefined : storeOf(keyspace)
      if ((mirrored?.latest().revision ?? revision) >= revision) this.#unseen.delete(key)
    }
    return this.#unseen.size === 0 ? undefined : 'the first objects are not all mirrored'
  }

  /** Looks after what the server says of itself from now on. */
  keep(): void {
    const { clock, logger } = this.#options
    this.#stop = repeat(clock, lookEveryMs, () => {
      this.#lookAfter().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        logger.debug('what the API server says of itself is not written', { reason })
      })
    })
  }

  stop(): void {
    this.#stop()
  }

  async #lookAfter(): Promise<void> {
    const resources = resourcesByKind(this.#options.state().registry.resources)
    for (const object of this.#own()) {
      const place = placeOf(object, resources)
      const cluster = this.#options.clientOf(server)
      if (place === undefined) continue
      if ((await cluster.stored(place)) === undefined) await this.#make(object, resources)
      else if (object.kind === 'Lease') await cluster.patch(place, { spec: object['spec'] })
    }
  }

  async #make(object: NewObject, resources: ResourcesByKind): Promise<void> {
    const { clientOf } = this.#options
    const place = placeOf(object, resources)
    if (place === undefined) return
    const cluster = clientOf(server)
    // A Service that is there has its address: a second one could not be made at all.
    if ((await cluster.stored(place)) !== undefined) return
    await cluster.createIfMissing(place, object)
  }

  #own(): readonly NewObject[] {
    const { address, clusterIpRange, clock } = this.#options
    const interfaces = Object.values(networkInterfaces()).flatMap(known => known ?? [])
    const advertised = advertisedHost(address, interfaces)
    const now = microTimeText(clock.wallMs())
    return ownObjects({ address, advertised, clusterIpRange, holder: this.#holder, now })
  }
}

/** Whether an etcd is to have the first objects of a cluster: nothing is in it, or this server has
 *  made them before. One that another API server has filled stays as it is. */
export async function isForFreshCluster(
  client: Pick<Client, 'range'>,
  prefix: string,
  signal: AbortSignal,
): Promise<boolean> {
  const range = prefixRange(keyFromText(`${prefix}/`))
  const { entries } = await client.range({ range, limit: 1 }, signal)
  if (entries.length === 0) return true
  const lease = singleKey(keyFromText(`${prefix}/leases/kube-system/${serverName}`))
  return (await client.range({ range: lease }, signal)).entries.length > 0
}

/** The stored ServiceCIDR with another range. */
function withRange(value: Uint8Array, range: string | undefined): Uint8Array {
  if (range === undefined) return value
  const json = jsonFromStored(value)
  assert(!(json instanceof NotExact), 'a first object can be read')
  const text = Buffer.from(json)
    .toString()
    .replaceAll(usualClusterIpRange, () => range)
  const bytes = Buffer.from(text)
  const stored = protobufFromJson(bytes, 0, bytes.length)
  assert(!(stored instanceof NotExact), 'a first object can be stored')
  return stored
}

type ResourcesByKind = ReadonlyMap<string, Resource>

function resourcesByKind(resources: readonly Resource[]): ResourcesByKind {
  return new Map(
    resources.map(resource => [
      `${resource.group}/${resource.version} ${resource.kind}`.replace(/^\//, ''),
      resource,
    ]),
  )
}

/** Undefined for what this minor does not serve. */
function placeOf(
  { apiVersion, kind, metadata }: NewObject,
  resources: ResourcesByKind,
): ApiPlace | undefined {
  const resource = resources.get(`${apiVersion} ${kind}`)
  const { name, namespace = '' } = metadata
  return resource && { resource, namespace, name }
}
