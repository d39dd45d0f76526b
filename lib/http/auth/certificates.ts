/** Client certificates: which authority vouches for one, and who it says that they are.
 *
 *  A TLS server knows one pool of authorities, and here two kinds of them are in it: those of users, and those of front proxies, which
 *  may speak for anybody. So it is checked here, by signatures and not by names, which of the two a certificate leads to. */

import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate } from 'node:tls'
import { CacheError } from '../../base/errors.ts'
import type { Identity } from '../../kube/access-review.ts'

/** Authorities out of a PEM file. Fails as X509Certificate does on what is none. */
export function authoritiesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []
  return blocks.map(block => new X509Certificate(block))
}

/** Refuses a PEM file that has no certificate: nobody would be believed, and nothing would say why. */
export function requireAuthorities(option: string, pem: string): void {
  let count = 0
  try {
    count = authoritiesOf(pem).length
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${option} is no certificate: ${message}`, {
      cause: error,
    })
  }
  if (count === 0) throw new CacheError('invalid_request', `${option} has no certificate (PEM)`)
}

/** Longer chains are nobody's. */
const chainMax = 8

/** True if one of the authorities vouches for the certificate, directly or through the intermediates that came with it, all of them
 *  valid at the time. The connection was verified before; this only tells authorities apart. */
export function leadsTo(
  certificate: DetailedPeerCertificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): boolean {
  const chain = chainOf(certificate)
  for (const [i, one] of chain.entries()) {
    if (!isValidAt(one, nowMs)) return false
    if (authorities.some(authority => isValidAt(authority, nowMs) && vouches(authority, one))) {
      return true
    }
    const next = chain[i + 1]
    if (next === undefined || !vouches(next, one)) return false
  }
  return false
}

function vouches(authority: X509Certificate, certificate: X509Certificate): boolean {
  return (
    authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  )
}

function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= Date.parse(certificate.validTo)
}

function chainOf(leaf: DetailedPeerCertificate): X509Certificate[] {
  const chain: X509Certificate[] = []
  const seen = new Set<string>()
  let next: DetailedPeerCertificate | undefined = leaf
  while (next?.raw !== undefined && chain.length < chainMax && !seen.has(next.fingerprint256)) {
    seen.add(next.fingerprint256)
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate
  }
  return chain
}

/** When it ends, on the wall clock. */
export function expiryOf({ valid_to }: DetailedPeerCertificate): number {
  return Date.parse(valid_to)
}

/** The common name; empty if it has none. */
export function commonNameOf({ subject }: DetailedPeerCertificate): string {
  return firstOf(subject?.CN)
}

/** Who a user's certificate is for, as upstream reads it: the common name, and an organization for each group. */
export function identityOfCertificate(certificate: DetailedPeerCertificate): Identity | undefined {
  const user = commonNameOf(certificate)
  if (user === '') return undefined
  const organizations: string | string[] | undefined = certificate.subject.O
  const groups = organizations === undefined ? [] : [organizations].flat()
  return { user, uid: '', groups: withAuthenticated(user, groups), extra: {} }
}

/** The groups of somebody whom we have authenticated: upstream puts everybody whom it knows into one more. */
export function withAuthenticated(user: string, groups: readonly string[]): string[] {
  const group = 'system:authenticated'
  const isAnonymous = user === 'system:anonymous' || groups.includes('system:unauthenticated')
  return isAnonymous || groups.includes(group) ? [...groups] : [...groups, group]
}

function firstOf(value: string | string[] | undefined): string {
  return [value ?? ''].flat()[0] ?? ''
}
