/** Follows claims, volumes, classes and pods, so that claims are bound: a claim is looked at again
 *  when a volume may have come for it, or a pod that waits for it. */

import type { Key } from '@watchglass/base'
import type { ApiClient } from '../runtime/api-client.ts'
import { type Fact, factOf, type PodFact } from '../runtime/facts.ts'
import type { Informer } from '../runtime/informer.ts'
import type { Controller, ControllerRuntime } from '../runtime/controller-runtime.ts'
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
  readonly #claims: Informer<ClaimFact, Claim>
  readonly #volumes: Informer<VolumeFact, Volume>
  readonly #classes: Informer<ClassFact, StorageClass>
  readonly #api: ApiClient
  /** Volumes that are for nobody. */
  readonly #free = new Set<Key>()
  /** Claims that have no volume. */
  readonly #waiting = new Set<Key>()
  /** Volumes by the claims that they are for. */
  readonly #volumeOf = new Map<Key, Key>()
  /** The pods that use each claim. */
  readonly #users = new Map<Key, Set<Key>>()
  readonly #claimController: Controller
  readonly #volumeController: Controller

  constructor(runtime: ControllerRuntime) {
    this.#claims = runtime.informer('persistentvolumeclaims', claimFact)
    this.#volumes = runtime.informer('persistentvolumes', volumeFact)
    this.#classes = runtime.informer('storageclasses', classFact)
    this.#api = runtime.api('kube-controller-manager')
    const source = { component: 'persistentvolume-controller' }
    this.#claimController = runtime.controller<Claim, ClaimParts>({
      name: 'a simulated claim',
      source,
      gather: (_, key) => this.#partsOf(key),
      reconcile: reconcileClaim,
    })
    this.#volumeController = runtime.controller<Volume, VolumeParts>({
      name: 'a simulated volume',
      source,
      gather: async volume => {
        const key = this.#claimOf(volume)
        return { claim: key && (await this.#api.find<Claim>(key))?.object }
      },
      reconcile: reconcileVolume,
    })
    this.#listen(runtime)
  }

  /** For a cluster that has none. */
  async makeClass(): Promise<void> {
    if (this.#classes.index.size > 0) return
    const place = { group: 'storage.k8s.io', resource: 'storageclasses', namespace: '' }
    await this.#api.createNew({ ...place, object: madeUpClass })
  }

  #listen(runtime: ControllerRuntime): void {
    this.#claims.listen({
      noted: ({ key, isBound }) => this.#noteClaim(key, isBound),
      changed: ({ key, isBound }) => {
        if (!isBound) this.#claimController.lookAt(key)
      },
      gone: ({ key }) => {
        this.#waiting.delete(key)
        const volume = this.#volumeOf.get(key)
        if (volume !== undefined) this.#volumeController.lookAt(volume)
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
    this.#classes.listen({ changed: () => this.#waiting.forEach(this.#claimController.lookAt) })
    runtime.pods.listen({ noted: pod => this.#noteUser(pod), gone: pod => this.#userGone(pod) })
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
    this.#volumeController.lookAt(key)
    const claim = this.#claimOf(object)
    if (claim === undefined) this.#waiting.forEach(this.#claimController.lookAt)
    else if (this.#waiting.has(claim)) this.#claimController.lookAt(claim)
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
      if (this.#waiting.has(claim)) this.#claimController.lookAt(claim)
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
