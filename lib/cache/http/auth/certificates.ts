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

/** The time until which one of the authorities vouches for the certificate, directly or through the
 *  intermediates that came with it, on the wall clock: that of the first of them all to end, as
 *  upstream asks anew with each request. Undefined: nobody does now. TLS has verified the
 *  connection before; this only tells the authorities apart. */
export function trustedUntil(
  certificate: DetailedPeerCertificate,
  authorities: readonly X509Certificate[],
  nowMs: number,
): number | undefined {
  const chain = chainOf(certificate)
  let untilMs = Number.POSITIVE_INFINITY
  for (const [i, one] of chain.entries()) {
    if (!isValidAt(one, nowMs)) return undefined
    untilMs = Math.min(untilMs, endOf(one))
    const signers = authorities.filter(each => isValidAt(each, nowMs) && vouches(each, one))
    if (signers.length > 0) return Math.min(untilMs, Math.max(...signers.map(endOf)))
    const next = chain[i + 1]
    if (next === undefined || !vouches(next, one)) return undefined
  }
  return undefined
}

function vouches(authority: X509Certificate, certificate: X509Certificate): boolean {
  return (
    authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  )
}

function isValidAt(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validFrom) <= nowMs && nowMs <= endOf(certificate)
}

function endOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo)
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
