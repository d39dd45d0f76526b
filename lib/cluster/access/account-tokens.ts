/** Tokens of service accounts: JSON Web Tokens (ES256) that this process signs, and believes as
 *  long as the account, and the object that the token is bound to, are the ones that it was made
 *  for.
 *
 *  The key is derived from a secret of the process that its threads share, so that each of them
 *  knows the tokens of the others, and it is kept nowhere else: after a restart tokens are void. */

import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { memberOf, numberOf, textOf, textsOf } from '../../base/untyped.ts'
import type { Identity } from '../../kube/access-review.ts'
import type { IssuedToken, ReviewedToken, TokenOrder } from '../write/write-access.ts'
import { groupsOfAccounts } from './impersonation.ts'

export interface AccountTokensOptions {
  readonly issuer: string
  /** The secret of the process, asked for when a key is first needed. */
  readonly secret: () => string
  readonly nowMs: () => number
  readonly id: () => string
  /** The uid of an object that is stored now; undefined if there is none. */
  readonly uidOf: (resource: string, namespace: string, name: string) => string | undefined
}

interface Keys {
  readonly own: KeyObject
  readonly others: KeyObject
  /** The name of the key: a hash of it. */
  readonly id: string
}

/** The longest token that is looked at. kube-apiserver has no bound but that of headers. */
const tokenMaxLength = 16_384
/** Tokens whose signature was found right: several times those of a large test. */
const verifiedMax = 2_000

export class AccountTokens {
  readonly #options: AccountTokensOptions
  readonly #verified = new LRUCache<string, object>({ max: verifiedMax })
  #known: Keys | undefined

  constructor(options: AccountTokensOptions) {
    this.#options = options
  }

  issue({ account, namespace, bound, audiences, seconds }: TokenOrder): IssuedToken {
    const { issuer, nowMs, id } = this.#options
    const now = Math.floor(nowMs() / 1000)
    const claims = {
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuer,
      jti: id(),
      'kubernetes.io': {
        namespace,
        ...(bound === undefined ? {} : { [bound.kind]: { name: bound.name, uid: bound.uid } }),
        serviceaccount: account,
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${account.name}`,
    }
    const keys = this.#keys()
    const signed = [{ alg: 'ES256', kid: keys.id }, claims]
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const key = { key: keys.own, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign('sha256', Buffer.from(signed), key).toString('base64url')
    return { token: `${signed}.${signature}`, expiresAtMs: claims.exp * 1000 }
  }

  /** Whose a token is, for one of these audiences; undefined if it is no token of ours. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    const claims = this.#claims(token)
    if (claims === undefined) return undefined
    const now = this.#options.nowMs() / 1000
    if (now >= numberOf(memberOf(claims, 'exp'))) {
      return { error: 'service account token has expired' }
    }
    const given = textsOf(memberOf(claims, 'aud'))
    const meant = given.filter(one => audiences.includes(one))
    if (meant.length === 0) {
      return {
        error: `token audiences ${quoted(given)} is invalid for the target audiences ${quoted(audiences)}`,
      }
    }
    const user = this.#userOf(claims)
    return user === undefined
      ? { error: 'service account token has been invalidated' }
      : { user, audiences: meant }
  }

  /** Undefined if the account, or what the token is bound to, is not the same any more. */
  #userOf(claims: object): Identity | undefined {
    const { uidOf } = this.#options
    const own = memberOf(claims, 'kubernetes.io')
    const namespace = textOf(memberOf(own, 'namespace'))
    const isThere = (resource: string, one: unknown): boolean =>
      uidOf(resource, namespace, textOf(memberOf(one, 'name'))) === textOf(memberOf(one, 'uid'))
    const account = memberOf(own, 'serviceaccount')
    if (!isThere('serviceaccounts', account)) return undefined
    const extra: Record<string, readonly string[]> = {
      'authentication.kubernetes.io/credential-id': [`JTI=${textOf(memberOf(claims, 'jti'))}`],
    }
    for (const kind of ['pod', 'secret'] as const) {
      const bound = memberOf(own, kind)
      if (bound === undefined) continue
      if (!isThere(`${kind}s`, bound)) return undefined
      if (kind !== 'pod') continue
      extra['authentication.kubernetes.io/pod-name'] = [textOf(memberOf(bound, 'name'))]
      extra['authentication.kubernetes.io/pod-uid'] = [textOf(memberOf(bound, 'uid'))]
    }
    return {
      user: textOf(memberOf(claims, 'sub')),
      uid: textOf(memberOf(account, 'uid')),
      groups: groupsOfAccounts(namespace),
      extra,
    }
  }

  /** The claims, if we have signed them. Only what was verified is read. */
  #claims(token: string): object | undefined {
    if (token.length > tokenMaxLength) return undefined
    const known = this.#verified.get(token)
    if (known !== undefined) return known
    const [head = '', payload = '', signature = '', ...more] = token.split('.')
    if (signature === '' || more.length > 0) return undefined
    const key = { key: this.#keys().others, dsaEncoding: 'ieee-p1363' } as const
    const bytes = Buffer.from(signature, 'base64url')
    if (!verify('sha256', Buffer.from(`${head}.${payload}`), key, bytes)) return undefined
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString())
    if (typeof claims !== 'object' || claims === null) return undefined
    this.#verified.set(token, claims)
    return claims
  }

  #keys(): Keys {
    this.#known ??= keysOf(this.#options.secret())
    return this.#known
  }
}

/** Nearly every number of 256 bits is a key of the curve; if one is not, the next one is. */
function keysOf(secret: string): Keys {
  const curve = createECDH('prime256v1')
  for (let attempt = 0; ; attempt++) {
    const seed = createHmac('sha256', secret).update(`service accounts ${attempt}`).digest()
    try {
      curve.setPrivateKey(seed)
    } catch {
      continue
    }
    const point = curve.getPublicKey()
    const own = createPrivateKey({
      format: 'jwk',
      key: {
        kty: 'EC',
        crv: 'P-256',
        d: seed.toString('base64url'),
        x: point.subarray(1, 33).toString('base64url'),
        y: point.subarray(33).toString('base64url'),
      },
    })
    const others = createPublicKey(own)
    const der = others.export({ type: 'spki', format: 'der' })
    return { own, others, id: createHash('sha256').update(der).digest('base64url') }
  }
}

/** A list as Go prints it with %q. */
function quoted(texts: readonly string[]): string {
  return `[${texts.map(text => JSON.stringify(text)).join(' ')}]`
}
