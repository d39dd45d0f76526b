/** What request lines mean, kept for those of late: clients ask for the same things again and again, and to take a line apart costs as much
 *  as to find what it asks for. */

import { LRUCache } from 'lru-cache'
import type { Registry } from '../resources/registry.ts'
import { parseTarget, type RequestTarget } from './request.ts'
import { type Route, routeRequest } from './routes.ts'

export interface KnownRequest {
  readonly target: RequestTarget
  readonly route: Route
}

const keptMax = 2_000
/** Longer ones are seldom asked for twice, and a client could fill much memory with them. */
const keptMaxLength = 256

export class RecentRequests {
  #registry: Registry | undefined = undefined
  readonly #kept = new LRUCache<string, KnownRequest>({ max: keptMax })

  /** Undefined where `parseTarget` is. */
  find(method: string, target: string, registry: Registry): KnownRequest | undefined {
    if (method !== 'GET' || target.length > keptMaxLength) return read(method, target, registry)
    if (registry !== this.#registry) {
      this.#registry = registry
      this.#kept.clear()
    }
    const recent = this.#kept.get(target)
    if (recent !== undefined) return recent
    // V8 has a part of a text keep the whole of it, which may be a request with its token.
    const own = Buffer.from(target, 'latin1').toString('latin1')
    if (own !== target) return read(method, target, registry)
    const known = read(method, own, registry)
    if (known !== undefined) this.#kept.set(own, known)
    return known
  }
}

function read(method: string, raw: string, registry: Registry): KnownRequest | undefined {
  const target = parseTarget(raw)
  return target && { target, route: routeRequest(method, target.path, registry) }
}
