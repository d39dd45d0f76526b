/** Who is told of claims, volumes, classes and pods, for claims to be bound. */

import type { Key } from '@watchglass/base'
import type { ActorApi } from '../actor-api.ts'
import { type Fact, factOf, type PodFact } from '../facts.ts'
import type { Follow } from '../follow.ts'
import type { World } from '../world.ts'
import {
  type Claim,
  claimFact,
  type ClaimFact,
  type ClaimParts,
  isDefault,
  reconcileClaim,
  reconcileVolume,
  type StorageClass,
  type Volume,
  volumeFact,
  type VolumeFact,
  type VolumeParts,
} from './volumes.ts'

interface ClassFact extends Fact {
  readonly object: StorageClass
}

function classFact(key: Key, revision: number, object: StorageClass): ClassFact {
  return factOf(key, revision, object.metadata, { object })
}

/** The class of a cluster that has none. */
const madeUpClass = {
  metadata: { name: 'standard', annotations: { [isDefault]: 'true' } },
  provisioner: 'watchglass.local/simulated',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
}

export class VolumeWiring {
  readonly #claims: Follow<ClaimFact, Claim>
  readonly #volumes: Follow<VolumeFact, Volume>
  readonly #classes: Follow<ClassFact, StorageClass>
  readonly #api: ActorApi
  /** Volumes that are for nobody. */
  readonly #free = new Set<Key>()
  /** Claims that have no volume. */
  readonly #waiting = new Set<Key>()
  /** Volumes by the claims that they are for. */
  readonly #volumeOf = new Map<Key, Key>()
  /** The pods that use each claim. */
  readonly #users = new Map<Key, Set<Key>>()
  readonly #lookAtClaim: (key: Key) => void
  readonly #lookAtVolume: (key: Key) => void

  constructor(world: World) {
    this.#claims = world.follow('persistentvolumeclaims', claimFact)
    this.#volumes = world.follow('persistentvolumes', volumeFact)
    this.#classes = world.follow('storageclasses', classFact)
    this.#api = world.api('kube-controller-manager')
    const source = { component: 'persistentvolume-controller' }
    this.#lookAtClaim = world.controller<Claim, ClaimParts>({
      name: 'a simulated claim',
      source,
      gather: (_, key) => this.#partsOf(key),
      reconcile: reconcileClaim,
    })
    this.#lookAtVolume = world.controller<Volume, VolumeParts>({
      name: 'a simulated volume',
      source,
      gather: async volume => {
        const key = this.#claimOf(volume)
        return { claim: key && (await this.#api.read<Claim>(key))?.object }
      },
      reconcile: reconcileVolume,
    })
    this.#listen(world)
  }

  /** For a cluster that has none. */
  async makeClass(): Promise<void> {
    if (this.#classes.index.size > 0) return
    const place = { group: 'storage.k8s.io', resource: 'storageclasses', namespace: '' }
    await this.#api.create({ ...place, object: madeUpClass })
  }

  #listen(world: World): void {
    this.#claims.listen({
      noted: ({ key, isBound }) => this.#noteClaim(key, isBound),
      changed: ({ key, isBound }) => {
        if (!isBound) this.#lookAtClaim(key)
      },
      gone: ({ key }) => {
        this.#waiting.delete(key)
        const volume = this.#volumeOf.get(key)
        if (volume !== undefined) this.#lookAtVolume(volume)
      },
    })
    this.#volumes.listen({
      noted: volume => this.#noteVolume(volume),
      changed: volume => this.#volumeChanged(volume),
      gone: ({ key, object }) => {
        this.#free.delete(key)
        const claim = this.#claimOf(object)
        if (claim !== undefined) this.#volumeOf.delete(claim)
      },
    })
    this.#classes.listen({ changed: () => this.#waiting.forEach(this.#lookAtClaim) })
    world.pods.listen({ noted: pod => this.#noteUser(pod), gone: pod => this.#userGone(pod) })
  }

  #partsOf(claim: Key): ClaimParts {
    const own = this.#volumeOf.get(claim)
    const keys = own === undefined ? this.#free : [own, ...this.#free]
    return {
      volumes: [...keys].flatMap(key => this.#volumes.index.get(key) ?? []),
      classes: [...this.#classes.index.values()].map(({ object }) => object),
      hasPod: this.#users.has(claim),
    }
  }

  #claimOf({ spec: { claimRef } }: Volume): Key | undefined {
    const { namespace = '', name } = claimRef ?? {}
    return name === undefined ? undefined : this.#claims.keyOf(namespace, name)
  }

  #noteClaim(key: Key, isBound: boolean): void {
    if (isBound) this.#waiting.delete(key)
    else this.#waiting.add(key)
  }

  #noteVolume({ key, object }: VolumeFact): void {
    const claim = this.#claimOf(object)
    if (claim === undefined) {
      this.#free.add(key)
      return
    }
    this.#free.delete(key)
    this.#volumeOf.set(claim, key)
  }

  #volumeChanged({ key, object }: VolumeFact): void {
    this.#lookAtVolume(key)
    const claim = this.#claimOf(object)
    if (claim === undefined) this.#waiting.forEach(this.#lookAtClaim)
    else if (this.#waiting.has(claim)) this.#lookAtClaim(claim)
  }

  #noteUser({ key, namespace, claims }: PodFact): void {
    for (const name of claims) {
      const claim = this.#claims.keyOf(namespace, name)
      const users = this.#users.get(claim)
      if (users !== undefined) {
        users.add(key)
        continue
      }
      this.#users.set(claim, new Set([key]))
      if (this.#waiting.has(claim)) this.#lookAtClaim(claim)
    }
  }

  #userGone({ key, namespace, claims }: PodFact): void {
    for (const name of claims) {
      const claim = this.#claims.keyOf(namespace, name)
      const users = this.#users.get(claim)
      users?.delete(key)
      if (users?.size === 0) this.#users.delete(claim)
    }
  }
}
