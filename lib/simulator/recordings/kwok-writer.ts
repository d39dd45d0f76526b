/** Writes recordings as kwokctl does: the objects that there are, and a ResourcePatch for each
 *  change, in YAML, with times relative to the start. Of the resources that kwokctl records if
 *  nothing else is asked for. */

import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import { type Key, keyFromText, objectOf, textOf, type UntypedObject } from '@watchglass/base'
import { schemaOf } from '@watchglass/codec'
import { builtInResources, type Resource } from '@watchglass/kube'
import type { Change, KeyValue } from '@watchglass/store'
import { directive, type PatchType, patchTypeOf, StrategicFailure } from '@watchglass/writes'
import { patchApiVersion, patchKind } from './kwok.ts'
import { type Offsets, withOffsets } from './kwok-times.ts'
import { patchedObject, UnfitPatch } from './patches.ts'
import { objectIn } from './stored-objects.ts'
import { strategicDifference } from './strategic-difference.ts'

/** As `kwokctl snapshot export` has them. */
const recorded: ReadonlySet<string> = new Set([
  'v1 namespaces',
  'v1 nodes',
  'v1 serviceaccounts',
  'v1 configmaps',
  'v1 secrets',
  'v1 limitranges',
  'v1 persistentvolumeclaims',
  'v1 persistentvolumes',
  'v1 pods',
  'v1 services',
  'v1 endpoints',
  'node.k8s.io/v1 runtimeclasses',
  'scheduling.k8s.io/v1 priorityclasses',
  'rbac.authorization.k8s.io/v1 clusterrolebindings',
  'rbac.authorization.k8s.io/v1 clusterroles',
  'rbac.authorization.k8s.io/v1 rolebindings',
  'rbac.authorization.k8s.io/v1 roles',
  'apps/v1 daemonsets',
  'apps/v1 deployments',
  'apps/v1 replicasets',
  'apps/v1 statefulsets',
  'batch/v1 cronjobs',
  'batch/v1 jobs',
])

export class KwokWriter {
  readonly #resources: readonly { readonly prefix: Key; readonly resource: Resource }[]
  /** The objects that are there, JSON. */
  readonly #objects = new Map<Key, string>()
  readonly #offsets: Offsets
  #isEmpty = true

  constructor(startMs: number) {
    this.#offsets = { startMs, startNanos: BigInt(Math.floor(startMs)) * 1_000_000n }
    this.#resources = builtInResources(schemaOf()).flatMap(resource => {
      const { group, version, storage } = resource
      const name = `${group === '' ? '' : `${group}/`}${version} ${resource.resource}`
      if (!recorded.has(name) || storage === undefined) return []
      return [{ prefix: keyFromText(storage.prefix), resource }]
    })
  }

  /** The text for a part of what there was. */
  base(entries: readonly KeyValue[]): string {
    return entries
      .map(entry => {
        const object = this.#resourceAt(entry.key) && objectIn(entry)
        if (object === undefined) return ''
        this.#objects.set(entry.key, JSON.stringify(object))
        return this.#document(object)
      })
      .join('')
  }

  /** The text for changes at a time. */
  changes(changes: readonly Change[], timeMs: number): string {
    const durationNanosecond = Math.max(0, Math.round(timeMs - this.#offsets.startMs)) * 1_000_000
    return changes
      .map(change => {
        const key = change.type === 'put' ? change.entry.key : change.key
        const resource = this.#resourceAt(key)
        const patch = resource && this.#patchOf(change, key, resource)
        if (patch === undefined) return ''
        const head = { apiVersion: patchApiVersion, kind: patchKind }
        return this.#document({ ...head, durationNanosecond, ...patch })
      })
      .join('')
  }

  #resourceAt(key: Key): Resource | undefined {
    return this.#resources.find(({ prefix }) => key.startsWith(prefix))?.resource
  }

  #patchOf(change: Change, key: Key, of: Resource): UntypedObject | undefined {
    const { group, version, resource } = of
    const before = this.#objects.get(key)
    const object = change.type === 'put' ? objectIn(change.entry) : undefined
    const { name, namespace } = objectOf(
      (object ?? objectOf(before === undefined ? {} : JSON.parse(before)))['metadata'],
    )
    if (change.type === 'delete' ? !this.#objects.delete(key) : object === undefined) {
      return undefined
    }
    const target = { name: textOf(name), ...(namespace === undefined ? {} : { namespace }) }
    const what = { resource: { ...(group === '' ? {} : { group }), version, resource }, target }
    if (object === undefined) return { method: 'delete', ...what }
    this.#objects.set(key, JSON.stringify(object))
    if (before === undefined) return { method: 'create', ...what, template: object }
    const { type } = schemaOf().findKind(textOf(object['apiVersion']), textOf(object['kind'])) ?? {}
    const template = patchBetween(before, object, type && patchTypeOf(type))
    return { method: 'patch', ...what, template }
  }

  #document(object: object): string {
    const text = stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })
    const start = this.#isEmpty ? '' : '---\n'
    this.#isEmpty = false
    return start + withOffsets(text, this.#offsets)
  }
}

/** A patch that makes the second object of the first, which is given as JSON: the whole of it where
 *  no smaller one does. */
function patchBetween(
  before: string,
  to: UntypedObject,
  type: PatchType | undefined,
): UntypedObject {
  const whole = { [directive]: 'replace', ...to }
  if (type === undefined) return whole
  try {
    const patch = strategicDifference(objectOf(JSON.parse(before)), to, type)
    return isDeepStrictEqual(patchedObject(before, patch, type), to) ? patch : whole
  } catch (error) {
    // An object of another version of Kubernetes may have fields that no patch here knows.
    const isUnfit = error instanceof UnfitPatch || error instanceof StrategicFailure
    if (!isUnfit) throw error
    return whole
  }
}
