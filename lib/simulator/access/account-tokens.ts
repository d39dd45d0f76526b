/** Tokens of service accounts: JSON Web Tokens that this process signs, and believes as long as the
 *  account, and the object that the token is bound to, are the ones that it was made for.
 *
 *  Without a key file the key is derived from a secret of the process that its threads share, so
 *  that each of them knows the tokens of the others, and it is kept nowhere else: after a restart
 *  tokens are void. */

import { LRUCache } from 'lru-cache'
import { isObject, memberOf, numberOf, textOf, textsOf } from '@watchglass/base'
import type { Identity } from '@watchglass/kube'
import type { IssuedToken, ReviewedToken, TokenOrder } from '@watchglass/writes'
import { type AccountKeys, type CheckingKey, isSigned, signed } from './account-keys.ts'
import { groupsOfAccounts } from './impersonation.ts'

export interface AccountTokensOptions {
  /** The issuer of new tokens, and others that are believed. */
  readonly issuers: readonly string[]
  /** Asked for when a key is first needed. */
  readonly keys: () => AccountKeys
  readonly nowMs: () => number
  readonly id: () => string
  /** The uid of an object that is stored now; undefined if there is none. */
  readonly uidOf: (resource: string, namespace: string, name: string) => string | undefined
}

/** The longest token that is looked at. kube-apiserver has no bound but that of headers. */
const tokenMaxLength = 16_384
/** Tokens whose signature was found right: several times those of a large test. */
const verifiedMax = 2_000

export class AccountTokens {
  readonly #options: AccountTokensOptions
  readonly #verified = new LRUCache<string, object>({ max: verifiedMax })

  constructor(options: AccountTokensOptions) {
    this.#options = options
  }

  issue({ account, namespace, bound, audiences, seconds }: TokenOrder): IssuedToken {
    const { issuers, nowMs, id, keys } = this.#options
    const now = Math.floor(nowMs() / 1000)
    const claims = {
      aud: audiences,
      exp: now + seconds,
      iat: now,
      iss: issuers[0],
      jti: id(),
      'kubernetes.io': {
        namespace,
        ...(bound === undefined ? {} : { [bound.kind]: { name: bound.name, uid: bound.uid } }),
        ...(bound?.node === undefined ? {} : { node: claimOf(bound.node) }),
        serviceaccount: account,
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${account.name}`,
    }
    const { signing } = keys()
    const text = [{ alg: signing.algorithm, kid: signing.id }, claims]
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const signature = signed(signing, text).toString('base64url')
    return { token: `${text}.${signature}`, expiresAtMs: claims.exp * 1000 }
  }

  /** The account of a token for one of these audiences; undefined if it is no token of ours. */
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

  /** We have signed the token, and it has not expired. Whether its account still exists is another
   *  question (`review`). */
  isOurs(token: string): boolean {
    const claims = this.#claims(token)
    return claims !== undefined && this.#options.nowMs() / 1000 < numberOf(memberOf(claims, 'exp'))
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
    for (const kind of ['node', 'pod', 'secret'] as const) {
      const bound = memberOf(own, kind)
      if (bound === undefined) continue
      // A pod's token outlives the node that the pod was on.
      const isTold = kind === 'node' && memberOf(own, 'pod') !== undefined
      if (!isTold && !isThere(`${kind}s`, bound)) return undefined
      if (kind === 'secret') continue
      for (const part of ['name', 'uid']) {
        const text = textOf(memberOf(bound, part))
        if (text !== '') extra[`authentication.kubernetes.io/${kind}-${part}`] = [text]
      }
    }
    return {
      user: textOf(memberOf(claims, 'sub')),
      uid: textOf(memberOf(account, 'uid')),
      groups: groupsOfAccounts(namespace),
      extra,
    }
  }

  /** The key that a token names, or the only one; it must sign as the token says. */
  #keyOf(head: string): CheckingKey | undefined {
    const { checking } = this.#options.keys()
    const header = parsed(head)
    const id = memberOf(header, 'kid')
    const key = checking.find(one => one.id === id || (id === undefined && checking.length === 1))
    return key?.algorithm === memberOf(header, 'alg') ? key : undefined
  }

  /** The claims, if we have signed them. Only what was verified is read. */
  #claims(token: string): object | undefined {
    if (token.length > tokenMaxLength) return undefined
    const known = this.#verified.get(token)
    if (known !== undefined) return known
    const [head = '', payload = '', signature = '', ...more] = token.split('.')
    if (signature === '' || more.length > 0) return undefined
    const bytes = Buffer.from(signature, 'base64url')
    const key = this.#keyOf(head)
    if (key === undefined || !isSigned(key, `${head}.${payload}`, bytes)) return undefined
    const claims = parsed(payload)
    const issuer = textOf(memberOf(claims, 'iss'))
    if (!isObject(claims) || !this.#options.issuers.includes(issuer)) return undefined
    this.#verified.set(token, claims)
    return claims
  }
}

/** A node that is not there has no uid. */
function claimOf({ name, uid }: { readonly name: string; readonly uid: string }): object {
  return uid === '' ? { name } : { name, uid }
}

/** A part of a token; undefined if it is none. */
function parsed(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
}

/** A list as Go prints it with %q. */
function quoted(texts: readonly string[]): string {
  return `[${texts.map(text => JSON.stringify(text)).join(' ')}]`
}
