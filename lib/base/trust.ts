/** The certificates that a peer is checked against, as Go's clients take them: each of them is
 *  trusted as it is, be it that of an authority or the peer's own. controller-runtime's envtest
 *  gives webhooks their own certificate as `caBundle`, which OpenSSL refuses unless it is told. */

/** Options of TLS. Those of the system are trusted if there are no others. */
export function trusting<Certificates>(ca: Certificates | undefined): {
  readonly ca?: Certificates
  readonly allowPartialTrustChain?: true
} {
  return ca === undefined ? {} : { ca, allowPartialTrustChain: true }
}
