/** A client of the simulated etcd that says when its connections are new: after each break of the
 *  network. */

import { EngineClient, type EngineClientOptions } from '../../lib/etcd-server/engine/client.ts'
import type { FaultyNetwork } from '../support/etcd/faulty-network.ts'

export class SimClient extends EngineClient {
  readonly #network: FaultyNetwork

  constructor(options: EngineClientOptions & { readonly network: FaultyNetwork }) {
    super(options)
    this.#network = options.network
  }

  get connections(): number {
    return this.#network.breaks
  }
}
