/** What a service has that does the writes itself: the writes, and the controllers that go on around them. */

import type { Clock } from '../../base/clock.ts'
import { type Key, keyFromText, minKey } from '../../base/keys.ts'
import { Controllers } from '../../controllers/controllers.ts'
import type { WriteServices } from '../../kube/write/operations/session.ts'
import type { Keyspace } from '../../store/keyspace.ts'
import type { LiveRegistry } from '../../upkeep/live-registry.ts'
import { ApiCluster } from '../../controllers/api-cluster.ts'
import type { ServiceOptions } from '../service-options.ts'
import { seedNamespaces } from './seed-namespaces.ts'
import { createWriteServices } from './write-store.ts'

export interface WriteSide {
  readonly writes: WriteServices
  readonly controllers: Controllers | undefined
  start(): Promise<void>
  stop(): void
}

/** Undefined if the service only reads. */
export function createWriteSide(
  options: ServiceOptions,
  {
    clock,
    registry,
    storeOf,
  }: {
    readonly clock: Clock
    readonly registry: LiveRegistry
    readonly storeOf: (keyspace: Key) => Keyspace | undefined
  },
): WriteSide | undefined {
  if (options.isWritable !== true) return undefined
  const abort = new AbortController()
  const writes = createWriteServices(options, clock)
  const state = (): LiveRegistry['state'] => registry.state
  const cluster = new ApiCluster({ state, writes, signal: abort.signal })
  const controllers =
    options.hasControllers === true
      ? new Controllers({
          cluster,
          namespaces: keyFromText(`${options.prefix}/namespaces/`),
          pods: keyFromText(`${options.prefix}/pods/`),
          contentsOf: keyspace =>
            storeOf(keyspace)?.latest().iterate({ start: minKey, end: undefined }) ?? [],
          objectOf: place => cluster.objectOf(place),
          clock,
          logger: options.logger,
        })
      : undefined
  return {
    writes,
    controllers,
    async start() {
      if (options.hasSystemNamespaces === true) await seedNamespaces(registry.state, writes)
    },
    stop() {
      abort.abort()
      controllers?.stop()
    },
  }
}
