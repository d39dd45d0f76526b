/** The shape of an admission plugin. kube-apiserver asks all plugins to mutate, one after the
 *  other, and once the object is complete and valid all to validate. Each looks at the resource
 *  first and returns at once when it has nothing to say, so that a write costs little. */

import type { JsonObject } from '@watchglass/go'
import type { AdmissionRequest } from '../operations/session.ts'
import type { StoredObjects } from './stored-objects.ts'

export interface AdmissionPlugin {
  /** As kube-apiserver calls it. */
  readonly name: string
  mutate?(attributes: AdmissionAttributes): Promise<void> | undefined
  validate?(attributes: AdmissionAttributes): Promise<void> | undefined
}

/** The second round of mutations, for hooks and policies that want to see what later ones have
 *  changed. */
class Reinvocation {
  /** True in the second round. */
  isSecond = false
  /** An object was changed: there is to be a second round. */
  isNeeded = false
  readonly #rounds = new Map<string, Round>()

  /** The part of a plugin. */
  of(plugin: string): Round {
    let known = this.#rounds.get(plugin)
    if (known === undefined) {
      known = new Round()
      this.#rounds.set(plugin, known)
    }
    return known
  }
}

/** The hooks, or the policies, of one plugin. */
class Round {
  /** The object as these hooks left it. */
  output = ''
  /** Hooks that were asked, and want to be asked again if something changes. */
  readonly previous: Set<string> = new Set()
  /** Hooks that are asked again. */
  readonly required: Set<string> = new Set()

  requirePrevious(): void {
    for (const id of this.previous) this.required.add(id)
    this.previous.clear()
  }
}

/** One request for admission, and what has been looked up for it. */
export class AdmissionAttributes implements AdmissionRequest {
  readonly session: AdmissionRequest['session']
  readonly operation: AdmissionRequest['operation']
  readonly object: JsonObject | undefined
  readonly old: JsonObject | undefined
  readonly isDryRun: boolean
  readonly options: JsonObject | undefined
  /** The phase in which plugins are asked. */
  readonly phase: 'mutate' | 'validate'
  readonly startMs: number
  readonly reinvocation: Reinvocation = new Reinvocation()
  /** Other objects of the cluster. */
  readonly objects: StoredObjects
  #namespace: Promise<JsonObject | undefined> | undefined

  constructor(
    request: AdmissionRequest,
    phase: AdmissionAttributes['phase'],
    objects: StoredObjects,
  ) {
    this.phase = phase
    this.startMs = request.session.services.clock.monotonicMs()
    this.session = request.session
    this.operation = request.operation
    this.object = request.object
    this.old = request.old
    this.isDryRun = request.isDryRun
    this.options = request.options
    this.objects = objects
  }

  /** The namespace of the object, read once; undefined if it is not there. A namespace is in
   *  itself. */
  namespace(): Promise<JsonObject | undefined> {
    const { kind, name, namespace } = this.session
    const isOwn = kind.group === '' && kind.resource === 'namespaces'
    this.#namespace ??= this.objects.get(this.session, namespaces, {
      namespace: '',
      name: isOwn ? name : namespace,
    })
    return this.#namespace
  }

  /** True for objects of this resource themselves, and not for a subresource. */
  isOf(group: string, resource: string): boolean {
    const { kind, subresource } = this.session
    return subresource === '' && kind.group === group && kind.resource === resource
  }

  /** True for a pod itself. */
  get isPod(): boolean {
    return this.isOf('', 'pods')
  }
}

const namespaces = ['', 'v1', 'namespaces'] as const
