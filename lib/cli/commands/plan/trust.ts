/** The trusted authorities: of users' certificates, and of front proxies. They are read at start
 *  and every minute, from files or from the ConfigMap that kube-apiserver publishes for
 *  aggregated servers, because both are rotated while we run. If a later read fails, the old
 *  ones stay in use. */

import type { X509Certificate } from 'node:crypto'
import { CacheError, type CancelTimer, type Clock, follow, type Logger } from '@watchglass/base'
import {
  authoritiesOf,
  defaultIdentityHeaders,
  type FrontProxies,
  type IdentityHeaderNames,
} from '@watchglass/cache'
import { invalid } from '../../options/invalid.ts'

/** Authorities that are trusted, as they were read. */
export interface TrustTexts {
  /** PEM; if it is empty, certificates identify no user. */
  readonly userAuthorities: string
  /** Undefined: identity headers are never believed. */
  readonly frontProxies: FrontProxyTexts | undefined
}

export interface FrontProxyTexts {
  /** PEM. */
  readonly authorities: string
  readonly allowedNames: readonly string[]
  readonly headers: IdentityHeaderNames
}

export interface TrustOptions {
  readonly read: () => Promise<TrustTexts>
  readonly clock: Clock
  readonly logger: Logger
}

const intervalMs = 60_000

export class Trust {
  #texts: TrustTexts
  #certificates: Certificates
  readonly #cancel: CancelTimer

  private constructor({ read, clock, logger }: TrustOptions, texts: TrustTexts) {
    this.#texts = texts
    this.#certificates = certificatesIn(texts)
    this.#cancel = follow({
      what: 'trusted authorities',
      current: texts,
      everyMs: intervalMs,
      async read() {
        const renewed = await read()
        certificatesIn(renewed)
        return renewed
      },
      onChange: renewed => {
        this.#texts = renewed
        this.#certificates = certificatesIn(renewed)
      },
      clock,
      logger,
    })
  }

  /** The first read; fails on what cannot be read, or is not a certificate. */
  static async start(options: TrustOptions): Promise<Trust> {
    return new Trust(options, await options.read())
  }

  /** The current ones: the same array until they change. */
  readonly userAuthorities = (): readonly X509Certificate[] => this.#certificates.users

  readonly frontProxies = (): FrontProxies | undefined => this.#certificates.frontProxies

  /** All of them, for the TLS server. */
  readonly pems = (): readonly string[] =>
    [this.#texts.userAuthorities, this.#texts.frontProxies?.authorities ?? ''].filter(
      pem => pem !== '',
    )

  stop(): void {
    this.#cancel()
  }
}

interface Certificates {
  readonly users: readonly X509Certificate[]
  readonly frontProxies: FrontProxies | undefined
}

/** Fails if a text is not a list of certificates. */
function certificatesIn({ userAuthorities, frontProxies }: TrustTexts): Certificates {
  const users = certificatesOf('authorities of client certificates', userAuthorities)
  if (frontProxies === undefined) return { users, frontProxies }
  const authorities = certificatesOf('authorities of front proxies', frontProxies.authorities)
  if (authorities.length === 0) {
    throw invalid('no certificate authority for front proxies was given')
  }
  return { users, frontProxies: { ...frontProxies, authorities } }
}

function certificatesOf(what: string, pem: string): readonly X509Certificate[] {
  try {
    return authoritiesOf(pem)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${what} are not certificates: ${message}`, {
      cause: error,
    })
  }
}

/** The ConfigMap in which kube-apiserver tells aggregated servers how to authenticate it. */
export const trustConfigMapPath =
  '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'

/** Reads the ConfigMap `extension-apiserver-authentication`, in which kube-apiserver publishes
 *  them. */
export function trustFromConfigMap(body: string): TrustTexts {
  const data = dataOf(body)
  const authorities = data('requestheader-client-ca-file')
  return {
    userAuthorities: data('client-ca-file'),
    frontProxies:
      authorities === ''
        ? undefined
        : {
            authorities,
            allowedNames: namesIn(data('requestheader-allowed-names')),
            headers: headerNames({
              user: namesIn(data('requestheader-username-headers')),
              uid: namesIn(data('requestheader-uid-headers')),
              group: namesIn(data('requestheader-group-headers')),
              extraPrefix: namesIn(data('requestheader-extra-headers-prefix')),
            }),
          },
  }
}

/** In lower case; the names of kube-apiserver where none are given. */
export function headerNames(given: IdentityHeaderNames): IdentityHeaderNames {
  const { user, uid, group, extraPrefix } = given
  const or = (names: readonly string[], usual: readonly string[]): readonly string[] =>
    names.length === 0 ? usual : names.map(name => name.toLowerCase())
  return {
    user: or(user, defaultIdentityHeaders.user),
    uid: or(uid, defaultIdentityHeaders.uid),
    group: or(group, defaultIdentityHeaders.group),
    extraPrefix: or(extraPrefix, defaultIdentityHeaders.extraPrefix),
  }
}

function dataOf(body: string): (key: string) => string {
  const parsed: unknown = JSON.parse(body)
  const data =
    typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined
  const texts = typeof data === 'object' && data !== null ? Object.entries(data) : []
  const known = new Map<string, unknown>(texts)
  return key => {
    const text = known.get(key)
    return typeof text === 'string' ? text : ''
  }
}

function namesIn(json: string): string[] {
  if (json === '') return []
  const names: unknown = JSON.parse(json)
  return Array.isArray(names) ? names.filter(name => typeof name === 'string') : []
}
