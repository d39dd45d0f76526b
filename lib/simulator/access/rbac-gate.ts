/** The gate of a cluster without an upstream: who sends a request, by certificate or token, and
 *  whether RBAC lets them. Readers and writers pass here alike. */

import { createHash } from 'node:crypto'
import type { DetailedPeerCertificate } from 'node:tls'
import {
  authorizationOf,
  bearerToken,
  type Callers,
  type HttpRequest,
  type ResponseHeaders,
  type AccessGate,
  type Grant,
  type Verdict,
  withAuthenticated,
} from '@watchglass/cache'
import {
  type Attributes,
  forbidden,
  forbiddenPath,
  type Identity,
  serviceUnavailable,
  StatusError,
  unauthorized,
} from '@watchglass/kube'
import type { RbacDecision } from '@watchglass/writes'
import { Impersonation, wantedUser } from './impersonation.ts'

export interface RbacGateOptions {
  /** Finds users of certificates. */
  readonly callers: Callers
  /** The user of a token, without the group that all have; undefined if nobody has it. */
  readonly userOfToken: (token: string) => Identity | undefined
  readonly authorize: (user: Identity, attributes: Attributes) => RbacDecision
  /** The headers that name the flow schema of a request; undefined: it has none. */
  readonly flowHeaders: (user: Identity, attributes: Attributes) => ResponseHeaders | undefined
  /** The rules are mirrored. */
  readonly isReady: () => boolean
  /** The version has constrained impersonation. */
  readonly isConstrained: () => boolean
}

const anonymous: Identity = {
  user: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
}

const notReady = serviceUnavailable('access rules are not mirrored yet', 1)

const credential = 'authentication.kubernetes.io/credential-id'

export class RbacGate implements AccessGate {
  readonly #options: RbacGateOptions
  readonly #impersonation: Impersonation
  readonly #certified = new WeakMap<DetailedPeerCertificate, Identity>()

  constructor(options: RbacGateOptions) {
    this.#options = options
    this.#impersonation = new Impersonation(options.authorize)
  }

  authorize(request: HttpRequest, attributes: Attributes): Verdict {
    const sender = this.#senderOf(request)
    if (sender === undefined) return { type: 'refuse', status: unauthorized }
    const { authorize, flowHeaders, isReady, isConstrained } = this.#options
    if (!isReady()) return { type: 'refuse', status: notReady }
    try {
      const wanted = wantedUser(request.rawHeaders)
      const user =
        wanted === undefined
          ? sender
          : this.#impersonation.impersonated({ sender, wanted, attributes }, isConstrained())
      const { isAllowed, reason } = authorize(user, attributes)
      const headers = flowHeaders(user, attributes)
      const impersonator = wanted === undefined ? undefined : sender
      const grant = new RbacGrant(user, impersonator)
      if (isAllowed) return { type: 'granted', grant, reason, headers }
      const { status } =
        'path' in attributes
          ? forbiddenPath(user.user, attributes.verb, attributes.path, reason)
          : forbidden({ ...attributes, user: user.user, reason })
      const impersonated = wanted === undefined ? undefined : user
      return { type: 'refuse', status, reason, impersonated, headers }
    } catch (error) {
      if (error instanceof StatusError) return { type: 'refuse', status: error.status }
      throw error
    }
  }

  isRefused(request: HttpRequest): boolean {
    return this.#options.callers.isRefused(request)
  }

  userOf(request: HttpRequest): string {
    return limitsUser(this.#senderOf(request) ?? anonymous)
  }

  learnName(): undefined {
    return undefined
  }

  identityOfSender(request: HttpRequest): Promise<Identity | undefined> {
    return Promise.resolve(this.#senderOf(request))
  }

  /** Undefined if the credentials are nobody's. A certificate counts before a token. */
  #senderOf(request: HttpRequest): Identity | undefined {
    const certified = this.#userOfCertificate(request)
    if (certified !== undefined) return certified
    const token = bearerToken(authorizationOf(request))
    if (token === undefined) return this.isRefused(request) ? undefined : anonymous
    const known = this.#options.userOfToken(token)
    return known && { ...known, groups: withAuthenticated(known.user, known.groups) }
  }

  #userOfCertificate(request: HttpRequest): Identity | undefined {
    const certificate = request.peer.certificate()
    const identity = certificate && this.#options.callers.callerOf(request)?.identity
    if (certificate === undefined || identity === undefined) return undefined
    const known = this.#certified.get(certificate) ?? withCredential(identity, certificate)
    this.#certified.set(certificate, known)
    return known
  }
}

function withCredential(identity: Identity, { raw }: { readonly raw: Uint8Array }): Identity {
  const hash = createHash('sha256').update(raw).digest('hex')
  return { ...identity, extra: { [credential]: [`X509SHA256=${hash}`] } }
}

function limitsUser({ user }: Identity): string {
  return `user ${user}`
}

class RbacGrant implements Grant {
  readonly impersonator: Identity | undefined
  readonly #user: Identity

  constructor(user: Identity, impersonator: Identity | undefined) {
    this.#user = user
    this.impersonator = impersonator
  }

  user(): string {
    return limitsUser(this.#user)
  }

  learnName(): void {}

  identity(): Promise<Identity> {
    return Promise.resolve(this.#user)
  }

  /** kube-apiserver ends no watch whose user may not open it any more, either. */
  watch(): () => void {
    return () => {}
  }
}
