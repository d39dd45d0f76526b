/** Client certificates: which authority has signed one, and which user it names.
 *
 *  A TLS server has one pool of authorities. Here it holds two kinds: those of users, and those
 *  of front proxies, which may name any user. So this module checks which of the two has signed
 *  a certificate, by signatures and not by names. */

import { X509Certificate } from 'node:crypto'
import type { DetailedPeerCertificate } from 'node:tls'
import type { Identity } from '@watchglass/kube'
import { type Subject, subjectOf } from './subject.ts'

/** The longest chain that is followed. */
const chainMax = 8

/** True if one of the authorities has signed the certificate, directly or through the
 *  intermediates that came with it, and all of them are valid at that time. TLS has verified the
 *  connection before; this only tells the authorities apart. */
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

/** When it expires, on the wall clock. */
export function expiryOf({ valid_to }: DetailedPeerCertificate): number {
  return Date.parse(valid_to)
}

/** The common name; empty if it has none, or its subject cannot be read. */
export function commonNameOf(certificate: PeerCertificate): string {
  return subjectIn(certificate).commonName
}

/** The user of a certificate, as upstream reads it: the common name is the user, each
 *  organization a group. */
export function identityOfCertificate(certificate: PeerCertificate): Identity | undefined {
  const { commonName: user, organizations } = subjectIn(certificate)
  if (user === '') return undefined
  return { user, uid: '', groups: withAuthenticated(user, organizations), extra: {} }
}

/** A certificate as Node shows it, of which only the bytes are read. */
interface PeerCertificate {
  readonly raw: Uint8Array
}

const nobody: Subject = { commonName: '', organizations: [] }

/** Each request asks for the subject of its connection's certificate. */
const subjects = new WeakMap<PeerCertificate, Subject>()

function subjectIn(certificate: PeerCertificate): Subject {
  const known = subjects.get(certificate)
  if (known !== undefined) return known
  const subject = subjectOf(certificate.raw) ?? nobody
  subjects.set(certificate, subject)
  return subject
}

/** The groups of a user whom we have authenticated. Upstream adds system:authenticated to them. */
export function withAuthenticated(user: string, groups: readonly string[]): string[] {
  const group = 'system:authenticated'
  const isAnonymous = user === 'system:anonymous' || groups.includes('system:unauthenticated')
  return isAnonymous || groups.includes(group) ? [...groups] : [...groups, group]
}
