/** The mirrored objects of one API group, as whoever decides about requests reads them: by the
 *  snapshot of a resource, and each in the plain values that the API shows. */

import { keyFromText, type Key, NotExact } from '@watchglass/base'
import { textInOrder } from '@watchglass/go'
import type { ApiState } from '@watchglass/kube'
import type { Keyspace, KeyValue, Snapshot } from '@watchglass/store'
import { treeOf } from '@watchglass/writes'

export interface MirroredObjectsOptions {
  readonly state: () => ApiState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
}

export class MirroredObjects {
  readonly #options: MirroredObjectsOptions
  readonly #group: string

  constructor(options: MirroredObjectsOptions, group: string) {
    this.#options = options
    this.#group = group
  }

  /** Undefined while the mirror has none of its contents. */
  snapshotOf(resource: string): Snapshot | undefined {
    const prefix = this.prefixOf(resource)
    const keyspace = prefix === undefined ? undefined : this.#options.storeOf(keyFromText(prefix))
    const snapshot = keyspace?.latest()
    return snapshot?.revision === 0 ? undefined : snapshot
  }

  /** The object as the API shows it; undefined, which is read as empty, if it cannot be shown. */
  plainOf(resource: string, entry: KeyValue): unknown {
    const state = this.#options.state()
    const found = state.registry.find(this.#group, 'v1', resource)
    const encoder = found && state.encoderOf(found)
    if (found === undefined || encoder === undefined || encoder instanceof NotExact) {
      return undefined
    }
    return JSON.parse(textInOrder(treeOf(encoder, found, entry)))
  }

  /** The prefix of keys. */
  prefixOf(resource: string): string | undefined {
    return this.#options.state().registry.find(this.#group, 'v1', resource)?.storage?.prefix
  }
}
