/** Lets claims and volumes go that are being deleted, when nobody uses them any more: admission
 *  gives each of them a finalizer that says so. */

import { type Key, keyFromText, Slice, type SliceClock, textFromKey } from '@watchglass/base'
import type { Event, KeyValue } from '@watchglass/store'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'
import { factsOf, type ObjectFacts } from './object-facts.ts'
import {
  type ClaimingPod,
  isClaimUsed,
  isVolumeUsed,
  type ProtectedClaim,
  type ProtectedVolume,
} from './protected-volumes.ts'

const claimFinalizer = 'kubernetes.io/pvc-protection'
const volumeFinalizer = 'kubernetes.io/pv-protection'

export interface VolumeProtectionOptions {
  readonly cluster: ClusterApi
  /** Prefixes of keys. */
  readonly claims: Key
  readonly volumes: Key
  readonly pods: Key
  /** The object as the API shows it, in plain values; undefined if it cannot be shown. */
  readonly plainOf: (place: ApiPlace, entry: KeyValue) => unknown
  readonly clock: SliceClock
  /** The claim or volume is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
}

export class VolumeProtection {
  readonly #options: VolumeProtectionOptions
  /** Claims that wait for pods to go, by namespace. */
  readonly #claims = new Map<string, Set<Key>>()
  /** Volumes that wait for their claims to go. */
  readonly #volumes = new Set<Key>()

  constructor(options: VolumeProtectionOptions) {
    this.#options = options
  }

  /** An object that was there before. */
  found(keyspace: Key, key: Key, facts: ObjectFacts): void {
    const { claims, volumes, lookAt } = this.#options
    const finalizer = keyspace === claims ? claimFinalizer : volumeFinalizer
    if (keyspace !== claims && keyspace !== volumes) return
    if (facts.deletedAtMs !== undefined && facts.finalizers.includes(finalizer)) lookAt(key)
  }

  changed(keyspace: Key, { key, after }: Event): void {
    const { claims, volumes, pods, lookAt } = this.#options
    if (keyspace === pods && after === undefined && this.#claims.size > 0) {
      for (const claim of this.#claims.get(namespaceOf(key, pods)) ?? []) lookAt(claim)
    }
    if (keyspace !== claims && keyspace !== volumes) return
    const facts = after === undefined ? undefined : factsOf(after)
    if (facts !== undefined) {
      this.found(keyspace, key, facts)
      return
    }
    this.#forget(keyspace, key)
    if (keyspace === claims) for (const volume of this.#volumes) lookAt(volume)
  }

  async work(key: Key): Promise<void> {
    const { cluster, claims, volumes } = this.#options
    const place = cluster.placeOf(key)
    const entry = await cluster.read(key)
    const facts = entry && factsOf(entry)
    const keyspace = key.startsWith(claims) ? claims : volumes
    this.#forget(keyspace, key)
    if (place === undefined || entry === undefined || facts?.deletedAtMs === undefined) return
    const isUsed =
      keyspace === claims
        ? await this.#isClaimUsed(key, place, entry)
        : await this.#isVolumeUsed(key, place, entry)
    if (isUsed) return
    const finalizer = keyspace === claims ? claimFinalizer : volumeFinalizer
    const finalizers = facts.finalizers.filter(one => one !== finalizer)
    if (finalizers.length === facts.finalizers.length) return
    const { resourceVersion } = facts
    await cluster.patch(place, { metadata: { resourceVersion, finalizers } })
  }

  /** Noted as waiting before anything is read: a pod may go meanwhile. */
  async #isClaimUsed(key: Key, place: ApiPlace, entry: KeyValue): Promise<boolean> {
    const { cluster, pods, plainOf, clock } = this.#options
    const { namespace } = place
    const waiting = this.#claims.get(namespace)
    if (waiting === undefined) this.#claims.set(namespace, new Set([key]))
    else waiting.add(key)
    const resource = cluster.placeOf(keyFromText(`${textFromKey(pods)}${namespace}/x`))?.resource
    const claim = plainOf(place, entry) as ProtectedClaim | undefined
    if (resource === undefined || claim === undefined) return true
    const podPlace = { resource, namespace, name: '' }
    const slice = new Slice(clock)
    // Each pod that goes has all claims of its namespace looked at that wait.
    for (const entry of await cluster.readAll(resource, namespace)) {
      await slice.giveWay()
      if (!mayUse(entry, claim.metadata.name)) continue
      const pod = plainOf(podPlace, entry) as ClaimingPod | undefined
      if (pod !== undefined && isClaimUsed(claim, [pod])) return true
    }
    return false
  }

  async #isVolumeUsed(key: Key, place: ApiPlace, entry: KeyValue): Promise<boolean> {
    const { cluster, claims, plainOf } = this.#options
    this.#volumes.add(key)
    const volume = plainOf(place, entry) as ProtectedVolume | undefined
    if (volume === undefined) return true
    const { namespace = '', name = '' } = volume.spec?.claimRef ?? {}
    const claim = await cluster.read(keyFromText(`${textFromKey(claims)}${namespace}/${name}`))
    return isVolumeUsed(volume, claim && factsOf(claim)?.uid)
  }

  #forget(keyspace: Key, key: Key): void {
    if (keyspace !== this.#options.claims) {
      this.#volumes.delete(key)
      return
    }
    const namespace = namespaceOf(key, keyspace)
    const waiting = this.#claims.get(namespace)
    waiting?.delete(key)
    if (waiting?.size === 0) this.#claims.delete(namespace)
  }
}

/** Only a pod that names the claim, or whose name the claim's begins with, is worth decoding. */
function mayUse({ key, value }: KeyValue, claim: string): boolean {
  const pod = textFromKey(key.slice(key.lastIndexOf('/') + 1) as Key)
  if (claim.startsWith(`${pod}-`)) return true
  return Buffer.from(value.buffer, value.byteOffset, value.length).includes(claim)
}

function namespaceOf(key: Key, keyspace: Key): string {
  return textFromKey(key).slice(textFromKey(keyspace).length).split('/')[0] ?? ''
}
