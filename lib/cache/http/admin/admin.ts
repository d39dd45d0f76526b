/** The admin listener: health, metrics, version, and the switch that passes all reads to the
 *  upstream. With an upstream the same paths on the main listener are the upstream's own.
 *
 *  ```
 *  GET /pass-through              {"passThrough":false}
 *  PUT /pass-through?state=on     all reads pass from now on; off: they are answered from the mirror again
 *  GET /log-level                 {"logLevel":"info"}
 *  PUT /log-level?level=debug     what is logged from now on: debug, info, warn or error
 *  GET /resources                 which resources are answered here, and why others are not
 *  GET /                          the page for people, for browsers
 *  GET /faults, PUT /faults       see fault-switch.ts
 *  ```
 *
 *  There is no authorization here: the address that it listens on decides who can connect. A
 *  change needs a PUT, which a web page of another server cannot have a browser send, and is
 *  accepted from this machine only. */

import { CacheError, findLogLevel, isLoopback, type LevelledLogger } from '@watchglass/base'
import { parseTarget, type RequestTarget } from '@watchglass/kube'
import type { MetricsText } from '../documents/documents.ts'
import type { HttpRequest, Handler, OnFault } from '../server/http-request.ts'
import { answerPage, isForPage } from '../page/answer-page.ts'
import type { PageSource } from '../page/page-source.ts'
import { faultsBody, type FaultSwitch, readRules } from './fault-switch.ts'
import { answerHealth, type Health } from '../documents/health.ts'
import { webPageProblem } from '../server/host-guard.ts'
import { type Response, sendWhole } from '../server/respond.ts'

/** Passes all reads to the upstream, while it is on. */
export interface PassThroughSwitch {
  readonly isSwitchedOff: boolean
  set(isSwitchedOff: boolean): void
}

export interface AdminOptions {
  readonly health: Health
  readonly metrics: MetricsText
  /** The body of /version. */
  readonly version: string
  /** Undefined without an upstream, to which reads could pass. */
  readonly readSwitch: PassThroughSwitch | undefined
  /** Undefined without an upstream: then all are answered here. */
  readonly resources: (() => readonly object[]) | undefined
  /** The page at `/`; undefined where there is no API to show. */
  readonly page?: PageSource | undefined
  /** The logger whose level can be changed; undefined: none. */
  readonly log?: LevelledLogger | undefined
  /** Undefined with an upstream. */
  readonly faults?: FaultSwitch | undefined
  readonly onFault: OnFault
}

/** The handler of the admin listener. */
export function createAdminHandler(options: AdminOptions): Handler {
  return request => {
    answer(options, request).catch((error: unknown) => {
      options.onFault(error)
      request.abort()
    })
  }
}

const text = 'text/plain; charset=utf-8'
const json = 'application/json'

async function answer(options: AdminOptions, request: HttpRequest): Promise<void> {
  const target = parseTarget(request.target)
  if (target === undefined) {
    send(request, 400, text, '400 Bad Request\n')
    return
  }
  const { path, query } = target
  if (path === '/pass-through') {
    answerSwitch(options, request, target)
    return
  }
  if (path === '/log-level' && options.log !== undefined) {
    answerLogLevel(options.log, request, target)
    return
  }
  if (options.page !== undefined && isForPage(request, path)) {
    await answerPage(request, options.page)
    return
  }
  if (path === '/faults') {
    await answerFaults(options, request)
    return
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    send(request, 405, text, 'method not allowed\n')
    return
  }
  const health = answerHealth(options.health, path, query)
  if (health !== undefined) send(request, health.status, text, health.body)
  else if (path === '/metrics') {
    send(request, 200, options.metrics.contentType, await options.metrics.text())
  } else if (path === '/resources' && options.resources !== undefined) {
    send(request, 200, json, `${JSON.stringify({ resources: options.resources() }, null, 2)}\n`)
  } else if (path === '/version') send(request, 200, json, options.version)
  else send(request, 404, text, '404 page not found\n')
}

function answerSwitch(
  { readSwitch }: AdminOptions,
  request: HttpRequest,
  { query }: RequestTarget,
): void {
  if (readSwitch === undefined) {
    send(request, 404, text, 'there is no upstream to pass to\n')
    return
  }
  const change = (): string | undefined => {
    const state = query.text('state')
    if (state !== 'on' && state !== 'off') return 'state is on or off'
    readSwitch.set(state === 'on')
    return undefined
  }
  answerSetting(request, change, () => ({ passThrough: readSwitch.isSwitchedOff }))
}

function answerLogLevel(log: LevelledLogger, request: HttpRequest, { query }: RequestTarget): void {
  const change = (): string | undefined => {
    const level = findLogLevel(query.text('level'))
    if (level === undefined) return 'level is debug, info, warn or error'
    log.level = level
    log.warn('the log level was changed on the admin listener', { level })
    return undefined
  }
  answerSetting(request, change, () => ({ logLevel: log.level }))
}

/** Shows a setting, after PUT has changed it. `change` returns what is wrong with what was asked
 *  for. */
function answerSetting(
  request: HttpRequest,
  change: () => string | undefined,
  now: () => object,
): void {
  if (request.method === 'PUT') {
    if (!mayChange(request)) return
    const problem = change()
    if (problem !== undefined) {
      send(request, 400, text, `${problem}\n`)
      return
    }
  } else if (request.method !== 'GET') {
    send(request, 405, text, 'method not allowed\n')
    return
  }
  send(request, 200, json, `${JSON.stringify(now())}\n`)
}

async function answerFaults({ faults }: AdminOptions, request: HttpRequest): Promise<void> {
  if (faults === undefined) {
    send(request, 404, text, 'faults are for a server without an upstream\n')
    return
  }
  if (request.method === 'PUT') {
    if (!mayChange(request)) return
    try {
      await faults.replace(await readRules(request))
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      send(request, 400, text, `${error.message}\n`)
      return
    }
  } else if (request.method !== 'GET') {
    send(request, 405, text, 'method not allowed\n')
    return
  }
  send(request, 200, json, faultsBody(faults))
}

/** From this machine only, and not by a web page that a browser on it shows: the listener may be on
 *  an address where the guard of web pages does not stand before all that is asked. Refuses what
 *  may not. */
function mayChange(request: HttpRequest): boolean {
  const isHere = isLoopback(request.peer.address)
  const problem = isHere ? webPageProblem(request) : 'settings are changed from this machine only'
  if (problem !== undefined) send(request, 403, text, `${problem}\n`)
  return problem === undefined
}

function send(request: HttpRequest, status: number, type: string, body: string): void {
  const response: Response = {
    status,
    headers: {
      'content-type': type,
      'cache-control': 'no-cache, private',
      'x-content-type-options': 'nosniff',
    },
  }
  sendWhole(request, response, Buffer.from(body))
}
