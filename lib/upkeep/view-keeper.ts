/** Compiles the encoder of a kind when the first object of it is mirrored: in slices, between other work, so that the first list need not
 *  wait for it and does not hold the event loop. */

import type { Clock } from '../base/clock.ts'
import { inSlices } from '../base/slice.ts'
import { prepareView } from '../codec/served/view.ts'
import type { Key } from '../base/keys.ts'
import type { Registry } from '../kube/resources/registry.ts'
import { groupVersionText } from '../kube/resources/resource.ts'
import type { Keyspace } from '../store/keyspace.ts'
import type { Follower } from './followers.ts'

export class ViewKeeper implements Follower {
  readonly #registry: () => Registry
  readonly #storeOf: (keyspace: Key) => Keyspace | undefined
  readonly #clock: Clock
  readonly #seen = new Set<string>()
  #last: Promise<void> = Promise.resolve()

  constructor(
    registry: () => Registry,
    storeOf: (keyspace: Key) => Keyspace | undefined,
    clock: Clock,
  ) {
    this.#registry = registry
    this.#storeOf = storeOf
    this.#clock = clock
  }

  reset(keyspace: Key): void {
    if ((this.#storeOf(keyspace)?.latest().size ?? 0) > 0) this.applied(keyspace)
  }

  applied(keyspace: string): void {
    if (this.#seen.has(keyspace)) return
    this.#seen.add(keyspace)
    const { schema, resources } = this.#registry()
    const storage = resources.find(found => found.storage?.prefix === keyspace)?.storage
    if (storage?.encoding !== 'protobuf') return
    const steps = prepareView(
      schema,
      groupVersionText(storage.group, storage.version),
      storage.kind,
    )
    this.#last = this.#last.then(() => inSlices(steps, this.#clock))
  }
}
