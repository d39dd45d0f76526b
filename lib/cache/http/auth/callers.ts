/** Finds out who sent a request: by a client certificate, by the headers of a front proxy, or by
 *  a token, which only the upstream can verify. The order is upstream's: what is verified here
 *  comes before a token. */

import type { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate } from 'node:tls'
import type { Clock } from '@watchglass/base'
import type { Identity } from '@watchglass/kube'
import type { HttpRequest, Peer } from '../server/http-request.ts'
import { authorizationOf, bearerToken, type Caller, hashed, tokenCaller } from './caller.ts'
import { commonNameOf, identityOfCertificate, trustedUntil } from './certificates.ts'
import {
  defaultIdentityHeaders,
  headersOfIdentity,
  headersOfImpersonation,
  identityFromHeaders,
  type IdentityHeaderNames,
  isImpersonationHeader,
  isSaidByHeaders,
} from './identity-headers.ts'

/** The front proxies whose headers are believed. */
export interface FrontProxies {
  readonly authorities: readonly X509Certificate[]
  /** Common names of their certificates; none means any. */
  readonly allowedNames: readonly string[]
  readonly headers: IdentityHeaderNames
}

/** Ways to tell the upstream about callers whom we have authenticated ourselves. */
export type PassIdentity = 'headers' | 'impersonate'

export interface CallersOptions {
  readonly clock: Clock
  /** The current authorities of users' certificates. Without one, certificates identify no user. */
  readonly userAuthorities: () => readonly X509Certificate[]
  /** The current front proxies; undefined: identity headers are never believed. */
  readonly frontProxies: () => FrontProxies | undefined
  /** The headers that tell the upstream who the user is; X-Remote-* if it is left out. */
  readonly identityHeaders?: (() => IdentityHeaderNames) | undefined
  /** Undefined: the upstream is not told about callers whom we have authenticated. */
  readonly passIdentity: PassIdentity | undefined
}

/** A caller whom we have authenticated, and until when. */
interface Known {
  readonly identity: Identity
  readonly expiresAtMs: number
}

/** A certificate, and who may have signed it. */
interface Shown {
  readonly certificate: DetailedPeerCertificate
  readonly users: readonly X509Certificate[]
  readonly proxies: FrontProxies | undefined
}

interface Bearer {
  readonly authorization: string | undefined
  readonly caller: Caller | undefined
}

export class Callers {
  readonly #options: CallersOptions
  readonly #lastBearers = new WeakMap<Peer, Bearer>()
  /** The times until which authorities vouch for certificates; -Infinity for those of others. */
  readonly #trust = new WeakMap<DetailedPeerCertificate, Map<readonly X509Certificate[], number>>()

  constructor(options: CallersOptions) {
    this.#options = options
  }

  /** The caller who sent the request; undefined if it has no credentials. */
  callerOf(request: HttpRequest): Caller | undefined {
    const certificate = request.peer.certificate()
    const known = certificate === undefined ? undefined : this.#known(request, certificate)
    return known === undefined ? this.#bearer(request) : this.#callerFrom(known)
  }

  /** True for a request with a client certificate that is nobody's here, and without other
   *  credentials. kube-apiserver answers it with 401: its authenticator of certificates fails, and
   *  anonymous users are only those for whom none has failed (`union.NewFailOnError`). A server
   *  without authorities asks for no certificates, so where several share a listener, a certificate
   *  says nothing to those without. */
  isRefused(request: HttpRequest): boolean {
    const users = this.#options.userAuthorities()
    const proxies = this.#options.frontProxies()
    if (users.length === 0 && proxies === undefined) return false
    const { peer } = request
    const certificate = peer.certificate()
    const isNobody =
      certificate === undefined
        ? peer.hasRefusedCertificate()
        : !this.#isSomebody(request, { certificate, users, proxies })
    return isNobody && bearerToken(authorizationOf(request)) === undefined
  }

  /** A front proxy that names no user is nobody where certificates are users', too. */
  #isSomebody(request: HttpRequest, { certificate, users, proxies }: Shown): boolean {
    if (this.#trustedUntil(certificate, users) >= this.#options.clock.wallMs()) return true
    if (proxies === undefined || !this.#isFrontProxy(certificate, proxies)) return false
    const { headers } = proxies
    return users.length === 0 || identityFromHeaders(request.rawHeaders, headers) !== undefined
  }

  /** The headers and credentials with which a request passes to the upstream. A request that
   *  impersonates another user passes with its own credentials, never with an identity that we
   *  have authenticated; but what a front proxy says is passed on as a front proxy's. */
  passed(request: HttpRequest): Pick<Caller, 'headers' | 'as'> {
    const caller = this.callerOf(request)
    const { authorization } = request.headers
    if (caller?.identity !== undefined && this.#maySpeakFor(request)) return caller
    return { headers: authorization === undefined ? {} : { authorization }, as: 'caller' }
  }

  #maySpeakFor(request: HttpRequest): boolean {
    if (!isImpersonating(request)) return true
    const proxies = this.#options.frontProxies()
    const certificate = request.peer.certificate()
    if (this.#options.passIdentity !== 'headers' || proxies === undefined) return false
    return certificate !== undefined && this.#isFrontProxy(certificate, proxies)
  }

  /** A connection mostly sends the same token again and again, and hashing it costs as much as
   *  writing a small object. So the hash is kept as long as the connection. */
  #bearer(request: HttpRequest): Caller | undefined {
    const { peer } = request
    const authorization = authorizationOf(request)
    const last = this.#lastBearers.get(peer)
    if (last !== undefined && last.authorization === authorization) return last.caller
    const caller = tokenCaller(authorization)
    this.#lastBearers.set(peer, { authorization, caller })
    return caller
  }

  #known(request: HttpRequest, certificate: DetailedPeerCertificate): Known | undefined {
    const { frontProxies, userAuthorities, passIdentity } = this.#options
    const proxies = frontProxies()
    if (proxies !== undefined && this.#isFrontProxy(certificate, proxies)) {
      const identity = identityFromHeaders(request.rawHeaders, proxies.headers)
      const expiresAtMs = this.#trustedUntil(certificate, proxies.authorities)
      if (identity !== undefined) return { identity, expiresAtMs }
    }
    const expiresAtMs = this.#trustedUntil(certificate, userAuthorities())
    if (expiresAtMs < this.#options.clock.wallMs()) return undefined
    const identity = identityOfCertificate(certificate)
    if (identity === undefined) return undefined
    // Otherwise the upstream would know somebody else.
    const isSaid = passIdentity === undefined || isSaidByHeaders(identity)
    return isSaid ? { identity, expiresAtMs } : undefined
  }

  #isFrontProxy(certificate: DetailedPeerCertificate, proxies: FrontProxies): boolean {
    const { authorities, allowedNames } = proxies
    const isAllowed = allowedNames.length === 0 || allowedNames.includes(commonNameOf(certificate))
    return isAllowed && this.#trustedUntil(certificate, authorities) >= this.#options.clock.wallMs()
  }

  /** Signatures are checked once for each connection, and once more when the first of a chain has
   *  ended: another may have begun. */
  #trustedUntil(
    certificate: DetailedPeerCertificate,
    authorities: readonly X509Certificate[],
  ): number {
    const nowMs = this.#options.clock.wallMs()
    if (authorities.length === 0) return Number.NEGATIVE_INFINITY
    const known = this.#trust.get(certificate) ?? new Map<readonly X509Certificate[], number>()
    this.#trust.set(certificate, known)
    const before = known.get(authorities)
    if (before !== undefined && (before === Number.NEGATIVE_INFINITY || nowMs <= before)) {
      return before
    }
    const untilMs = trustedUntil(certificate, authorities, nowMs) ?? Number.NEGATIVE_INFINITY
    known.set(authorities, untilMs)
    return untilMs
  }

  #callerFrom({ identity, expiresAtMs }: Known): Caller {
    const { passIdentity, identityHeaders = () => defaultIdentityHeaders } = this.#options
    const { user, uid, groups, extra } = identity
    const key = hashed(['identity', JSON.stringify([user, uid, groups, extra])])
    switch (passIdentity) {
      case undefined:
        return { key, identity, headers: {}, as: 'caller', expiresAtMs }
      case 'headers':
        return {
          key,
          identity,
          headers: headersOfIdentity(identity, identityHeaders()),
          as: 'front-proxy',
          expiresAtMs,
        }
      case 'impersonate':
        return {
          key,
          identity,
          headers: headersOfImpersonation(identity),
          as: 'ourselves',
          expiresAtMs,
        }
    }
  }
}

/** True if the request impersonates another user. */
export function isImpersonating({ headers }: HttpRequest): boolean {
  for (const name in headers) if (name.startsWith('im') && isImpersonationHeader(name)) return true
  return false
}
