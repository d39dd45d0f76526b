/** The admission of a server that takes writes: the plugins, one after the other. */

import type { Key } from '@watchglass/base'
import type { Keyspace } from '@watchglass/store'
import type { Admission, AdmissionRequest } from '../operations/session.ts'
import { type AdmissionPlugin, AdmissionAttributes } from './plugin.ts'
import { chosenPlugins, type PluginChoice } from './plugin-names.ts'
import { alwaysPullImages } from './plugins/always-pull-images.ts'
import { limitAntiAffinity } from './plugins/anti-affinity.ts'
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from './plugins/certificates.ts'
import { persistentVolumeClaimResize } from './plugins/claim-resize.ts'
import { defaultIngressClass, defaultStorageClass } from './plugins/default-classes.ts'
import { defaultTolerationSeconds } from './plugins/default-tolerations.ts'
import { extendedResourceToleration } from './plugins/extended-resources.ts'
import { denyServiceExternalIps } from './plugins/external-ips.ts'
import { limitRanger } from './plugins/limit-ranger.ts'
import { namespaceLifecycle } from './plugins/namespace-lifecycle.ts'
import { ownerReferences } from './plugins/owner-references.ts'
import { podResizeValidator } from './plugins/pod-resize.ts'
import { podSecurity } from './plugins/pod-security.ts'
import { podTopologyLabels } from './plugins/pod-topology-labels.ts'
import { priority } from './plugins/priority.ts'
import { createResourceQuota } from './plugins/resource-quota.ts'
import { runtimeClass } from './plugins/runtime-class.ts'
import { serviceAccount } from './plugins/service-account.ts'
import { storageObjectInUseProtection } from './plugins/storage-protection.ts'
import { taintNodesByCondition } from './plugins/taint-nodes.ts'
import { createMutatingWebhooks, createValidatingWebhooks } from './plugins/webhooks.ts'
import { holdsConditions } from './policies/conditions.ts'
import { mutatingAdmissionPolicy } from './policies/mutating.ts'
import { validatingAdmissionPolicy } from './policies/validating.ts'
import { StoredObjects } from './stored-objects.ts'
import { type HookCaller, noCaller } from './webhooks/caller.ts'

export interface AdmissionParts {
  readonly choice: PluginChoice
  /** The mirrored contents of a keyspace; undefined where it is not mirrored. */
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** The way to webhooks; nobody is called if it is left out. */
  readonly caller?: HookCaller | undefined
}

export function createAdmission({ choice, storeOf, caller = noCaller }: AdmissionParts): Admission {
  const known: readonly AdmissionPlugin[] = [
    { name: 'AlwaysAdmit' },
    namespaceLifecycle,
    limitAntiAffinity,
    limitRanger,
    serviceAccount,
    taintNodesByCondition,
    alwaysPullImages,
    podSecurity,
    priority,
    defaultTolerationSeconds,
    extendedResourceToleration,
    defaultStorageClass,
    storageObjectInUseProtection,
    ownerReferences,
    persistentVolumeClaimResize,
    runtimeClass,
    certificateApproval,
    certificateSigning,
    certificateSubjectRestriction,
    defaultIngressClass,
    denyServiceExternalIps,
    podTopologyLabels,
    podResizeValidator,
    mutatingAdmissionPolicy,
    createMutatingWebhooks({ caller, holdsConditions }),
    validatingAdmissionPolicy,
    createValidatingWebhooks({ caller, holdsConditions }),
    createResourceQuota(),
  ]
  const byName = new Map(known.map(plugin => [plugin.name, plugin]))
  const plugins = chosenPlugins(choice).flatMap(name => byName.get(name) ?? [])
  return new Chain(plugins, new StoredObjects(storeOf))
}

class Chain implements Admission {
  readonly #mutating: readonly AdmissionPlugin[]
  readonly #validating: readonly AdmissionPlugin[]
  readonly #objects: StoredObjects

  constructor(plugins: readonly AdmissionPlugin[], objects: StoredObjects) {
    this.#mutating = plugins.filter(plugin => plugin.mutate !== undefined)
    this.#validating = plugins.filter(plugin => plugin.validate !== undefined)
    this.#objects = objects
  }

  async mutate(request: AdmissionRequest): Promise<void> {
    const attributes = new AdmissionAttributes(request, 'mutate', this.#objects)
    await this.#mutateAll(attributes)
    if (!attributes.reinvocation.isNeeded) return
    attributes.reinvocation.isSecond = true
    await this.#mutateAll(attributes)
  }

  async #mutateAll(attributes: AdmissionAttributes): Promise<void> {
    for (const plugin of this.#mutating) {
      const work = plugin.mutate?.(attributes)
      if (work !== undefined) await work
    }
  }

  async validate(request: AdmissionRequest): Promise<void> {
    const attributes = new AdmissionAttributes(request, 'validate', this.#objects)
    for (const plugin of this.#validating) {
      const work = plugin.validate?.(attributes)
      if (work !== undefined) await work
    }
  }
}
