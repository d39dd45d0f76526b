/** Passes requests to the upstream and streams its responses back. Nothing is stored. */

import type { Clock } from '@watchglass/base'
import {
  badRequest,
  longSubresources,
  type PassReason,
  requestInfo,
  type RequestTarget,
  type TokenEncryption,
  tooManyRequests,
} from '@watchglass/kube'
import {
  answerHeaders,
  isRemoteHeader,
  requestHeaders,
  requestTrailers,
} from './forwarded-headers.ts'
import { collapseKey } from './collapse-key.ts'
import type { CollapsibleRead } from './collapsed-reads.ts'
import { withDecryptedToken } from './decrypted-token.ts'
import type { ProxyOptions } from './proxy-options.ts'
import { Relay } from './relay.ts'
import {
  beginBody,
  type HttpRequest,
  isImpersonating,
  type PassedKind,
  type RequestContext,
} from '@watchglass/cache'
import { holdPassed, nameForPass, type PassShares } from './pass-shares.ts'
import type { Slots } from './slots.ts'
import { isTunnel, passTunnel } from './tunnel.ts'
import { defaultUpstreamTimeouts } from '../upstream/server.ts'
import type { ForwardBody, ForwardControl, ForwardRequest } from '../upstream/upstream.ts'

/** Reads that pass in large numbers when the mirror fails. They are limited, so that they do not
 *  overload the upstream. */
const limitedReasons: ReadonlySet<PassReason> = new Set<PassReason>([
  'not-ready',
  'suspect',
  'progress-untrusted',
  'revision-not-kept',
])

/** All of a body has come by then, of a request that does not run for long: kube-apiserver answers
 *  after a minute at the latest, and its answer is awaited for no longer than this. */
const bodyMaxMs = defaultUpstreamTimeouts.answerMs

/** The services that pass a request. */
export interface PassServices extends PassShares {
  readonly clock: Clock
  readonly proxy: ProxyOptions
  readonly tokenEncryption?: TokenEncryption | undefined
}

const nothing = (): void => {}
const unlimited = (): (() => void) => nothing

/** Passes the request to the upstream. Resolves when the response has ended. */
export async function passOn(
  context: RequestContext,
  services: PassServices,
  reason: PassReason,
): Promise<void> {
  const { request, reply } = context
  const { proxy, clock } = services
  context.facts = { ...context.facts, source: 'upstream' }
  reply.origin = `pass; reason=${reason}`
  proxy.metrics.passed(reason)
  let free = nothing
  let leave = nothing
  try {
    if (request.takeover !== undefined && request.hasBody) {
      throw badRequest('a request that upgrades its connection must not have a body')
    }
    const kind = kindOf(context)
    let share = holdPassed(context, kind, services)
    leave = share.leave
    const naming = nameForPass(context, services)
    if (naming !== undefined) {
      await naming
      // It has counted as the token's, and is the user's now.
      leave()
      share = holdPassed(context, kind, services)
      leave = share.leave
    }
    const outgoing = await outgoingOf(context, proxy, { ...services, user: share.user })
    const limit = limitedReasons.has(reason) ? (): (() => void) => takeSlot(proxy.slots) : unlimited
    const key = collapseKey(context.target, outgoing)
    const onAnswered = (code: number): void => noteLacked(context, { proxy, reason, code })
    if (key !== undefined) {
      await forwardShared(context, services, {
        request: outgoing,
        key,
        takeSlot: limit,
        onAnswered,
      })
      return
    }
    free = limit()
    const { upstream } = proxy
    if (kind === 'upgrade') await passTunnel(context, { upstream, clock, onAnswered }, outgoing)
    else {
      const passing = {
        outgoing,
        clock,
        onAnswered(code: number): void {
          free()
          onAnswered(code)
        },
      }
      await forward(context, passing, relay => upstream.forward(outgoing, relay))
    }
  } finally {
    leave()
    free()
  }
}

function kindOf({ request, target }: RequestContext): PassedKind {
  if (request.takeover !== undefined && isTunnel(request.headers.upgrade)) return 'upgrade'
  return isLongRunning(request.method, target) ? 'long' : 'short'
}

/** Tells of a list or a watch that the upstream has answered, and that the mirror lacks. */
function noteLacked(
  { known: { route } }: RequestContext,
  {
    proxy,
    reason,
    code,
  }: { readonly proxy: ProxyOptions; readonly reason: PassReason; readonly code: number },
): void {
  if (reason !== 'not-ready' || (code !== 200 && code !== 101)) return
  // Nobody mirrors a hundred thousand pods for one of them.
  if (route.type === 'resource' && route.verb !== 'get') proxy.onLacked?.(route)
}

function takeSlot(slots: Slots): () => void {
  const free = slots.take()
  if (free === undefined) {
    throw tooManyRequests(`${slots.max} reads are with the upstream that the mirror lacks`, 1)
  }
  return free
}

async function outgoingOf(
  context: RequestContext,
  { passed, isIdentityHeader, upstream }: ProxyOptions,
  { tokenEncryption, clock, user }: PassServices & { readonly user: string },
): Promise<ForwardRequest> {
  const { request, target, trace } = context
  const { method, peer, rawHeaders, hasBody } = request
  const credentials = passed?.(request)
  const as = credentials?.as ?? 'caller'
  const own = as === 'ourselves' ? ownFor(request, await upstream.credentials()) : {}
  const isIdentity = (name: string): boolean =>
    isRemoteHeader(name) || isIdentityHeader?.(name) === true
  const headers = requestHeaders(
    {
      rawHeaders,
      method,
      hasBody,
      host: request.headers.host ?? '',
      address: peer.address,
      isSecure: peer.isSecure,
    },
    {
      isIdentityHeader: isIdentity,
      // If we vouch for the user, the client's own credentials are dropped.
      replaced: [
        ...(credentials === undefined ? [] : ['authorization']),
        ...(trace === undefined ? [] : ['traceparent']),
      ],
      added: {
        ...credentials?.headers,
        ...own,
        ...(trace === undefined ? {} : { traceparent: trace.traceparent }),
      },
    },
  )
  const isLong = isLongRunning(method, target)
  const endsAtMs = isLong ? Infinity : clock.monotonicMs() + bodyMaxMs
  return {
    method,
    path: tokenEncryption === undefined ? target.raw : withDecryptedToken(context, tokenEncryption),
    headers,
    // Nothing of the upstream's is taken before there is something to send.
    body: hasBody ? await bodyOf(request, isIdentity, { clock, endsAtMs }) : undefined,
    user,
    isLongRunning: isLong,
    as,
    isIdentified: as !== 'caller' || request.headers.authorization !== undefined,
  }
}

/** Our credentials for a client's request. Whom we act as is left out where the client says itself
 *  whom it acts as. */
function ownFor(
  request: HttpRequest,
  own: Readonly<Record<string, string | string[]>>,
): Readonly<Record<string, string | string[]>> {
  if (!isImpersonating(request)) return own
  return Object.fromEntries(
    Object.entries(own).filter(([name]) => !name.startsWith('impersonate-')),
  )
}

async function bodyOf(
  request: HttpRequest,
  isIdentityHeader: (name: string) => boolean,
  { clock, endsAtMs }: { readonly clock: Clock; readonly endsAtMs: number },
): Promise<ForwardBody> {
  const pieces = await beginBody(request, clock, endsAtMs)
  return {
    pieces: () => pieces,
    trailers: () => requestTrailers(request.rawTrailers, request.rawHeaders, isIdentityHeader),
  }
}

/** kube-apiserver's own rule for requests without a time limit. */
function isLongRunning(method: string, { path, query }: RequestTarget): boolean {
  const info = requestInfo(method, path)
  if (info === undefined) return false
  const isWatch = info.verb === 'watch' || (info.verb === 'get' && query.flag('watch'))
  return isWatch || info.verb === 'proxy' || longSubresources.has(info.subresource)
}

/** Forwards a read that may share its answer with identical ones. */
function forwardShared(
  context: RequestContext,
  { proxy, clock }: PassServices,
  read: Omit<CollapsibleRead, 'sink' | 'onShared'> & Pick<Forwarded, 'onAnswered'>,
): Promise<void> {
  const { reply } = context
  const onShared = (reads: number): void => {
    reply.origin = `${reply.origin}; collapsed=${reads}`
  }
  const { request: outgoing, onAnswered } = read
  return forward(context, { outgoing, clock, onAnswered }, relay =>
    proxy.collapsed.forward({ ...read, sink: relay, onShared }),
  )
}

interface Forwarded {
  readonly outgoing: ForwardRequest
  readonly clock: Clock
  /** Called when the answer begins. */
  readonly onAnswered: (code: number) => void
}

function forward(
  { request, reply }: RequestContext,
  { outgoing, clock, onAnswered }: Forwarded,
  ask: (relay: Relay) => ForwardControl,
): Promise<void> {
  const { method } = outgoing
  const { canHaveTrailers } = request
  return new Promise((resolve, reject) => {
    let ignoreClose = (): void => {}
    const relay = new Relay(request, clock, {
      started(code, headers) {
        onAnswered(code)
        // A request without credentials authenticates nobody, even if its path is open to everyone.
        if (code !== 401 && outgoing.isIdentified) request.accept()
        const passed = answerHeaders(code, headers, { method, canHaveTrailers })
        request.respond(code, reply.passed(code, passed))
      },
      over: failure => {
        ignoreClose()
        if (failure === undefined) resolve()
        else reject(failure)
      },
    })
    const control = ask(relay)
    relay.control = control
    ignoreClose = request.onClose(() => {
      control.abort()
      relay.over(undefined)
    })
  })
}
