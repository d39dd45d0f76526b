/** The end of certificates: one that has expired is a good pair with its key, and nobody takes
 *  it. */

import { X509Certificate } from 'node:crypto'

/** Why the first certificate of a file is not taken by anybody at that moment. */
export function expiryProblem(
  name: string,
  pem: string | Buffer | undefined,
  nowMs: number,
): string | undefined {
  if (pem === undefined) return undefined
  const certificate = parsed(pem)
  if (certificate === undefined) return undefined
  const { validTo } = certificate
  if (Date.parse(validTo) >= nowMs) return undefined
  return `the certificate of ${name} has expired: it was valid until ${validTo}`
}

/** Undefined for what is no certificate: whoever uses it says so. */
function parsed(pem: string | Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
