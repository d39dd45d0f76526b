/** Request lines and what follows from them alone: clients ask for the same things again and again.
 *  To take a line apart, to decide who answers it and to plan the read costs as much as all that is
 *  done for it then. */

import { LRUCache } from 'lru-cache'
import { latin1Copy } from '@watchglass/base'
import type { Offer } from '@watchglass/codec'
import { decide, type DecidedRequest, type Decision, type DecisionPolicy } from './decide.ts'
import type { GetPlan } from './read-plan.ts'
import type { Reported } from './request/reported.ts'
import { longSubresources, parseTarget, type RequestTarget } from './request/request.ts'
import { type Route, routeRequest } from './request/routes.ts'
import type { Registry } from './resources/registry.ts'

/** A request line once it is understood. What is found out later is kept with it, for the next
 *  request that has the same line. */
export class KnownRequest {
  readonly target: RequestTarget
  readonly route: Route
  /** True for a watch, be it by path or by query. */
  readonly isWatch: boolean
  /** True for a request that may last for as long as its client likes. */
  readonly lasts: boolean
  /** True for a request that limits its own time (`timeoutSeconds`). */
  readonly hasTimeout: boolean
  readonly hasLabelSelector: boolean
  readonly hasFieldSelector: boolean
  /** The parameter `pretty`. */
  readonly pretty: string | undefined
  /** The plan of a get, which depends on nothing else. */
  plan: GetPlan | undefined = undefined
  /** The media types in which it may be answered. */
  offer: Offer | undefined = undefined
  /** Its labels in the metrics of kube-apiserver. */
  reported: Reported | undefined = undefined
  #decision: Decision | undefined = undefined

  constructor(target: RequestTarget, route: Route) {
    const { query } = target
    const { verb, subresource } = route.type === 'resource' ? route : noResource
    this.target = target
    this.route = route
    this.isWatch = verb === 'watch' || (verb === 'list' && query.flag('watch'))
    this.lasts = this.isWatch || longSubresources.has(subresource)
    this.hasTimeout = query.text('timeout') !== ''
    this.hasLabelSelector = query.text('labelSelector') !== ''
    this.hasFieldSelector = query.text('fieldSelector') !== ''
    this.pretty = query.first('pretty')
  }

  /** The decision who answers. Without an upstream nothing but the line decides about a GET, and
   *  the policy is always the same, so that it is decided once. */
  decide(request: DecidedRequest, accept: string, policy: DecisionPolicy): Decision {
    const isByLine = !policy.hasUpstream
    if (isByLine && this.#decision !== undefined) return this.#decision
    const decision = decide({ known: this, request, accept }, policy)
    if (isByLine) this.#decision = decision
    return decision
  }
}

const noResource = { verb: '', subresource: '' }

const keptLinesMax = 2_000
/** Longer ones are seldom asked for twice, and a client could fill much memory with them. */
const keptLineMaxLength = 256

/** The request lines of late, as they were understood. */
export class RecentRequests {
  #registry: Registry | undefined = undefined
  readonly #kept = new LRUCache<string, KnownRequest>({ max: keptLinesMax })

  /** Undefined where `parseTarget` is. */
  find(method: string, target: string, registry: Registry): KnownRequest | undefined {
    if (method !== 'GET' || target.length > keptLineMaxLength) {
      return readLine(method, target, registry)
    }
    if (registry !== this.#registry) {
      this.#registry = registry
      this.#kept.clear()
    }
    const recent = this.#kept.get(target)
    if (recent !== undefined) return recent
    const own = latin1Copy(target)
    if (own === undefined) return readLine(method, target, registry)
    const known = readLine(method, own, registry)
    if (known !== undefined) this.#kept.set(own, known)
    return known
  }
}

function readLine(method: string, raw: string, registry: Registry): KnownRequest | undefined {
  const target = parseTarget(raw)
  return target && new KnownRequest(target, routeRequest(method, target.path, registry))
}
