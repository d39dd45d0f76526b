/** Certificates and the keys to them, as tls.X509KeyPair of Go reads them. */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { pemBlocks } from './pem.ts'

/** The complaint about a certificate and a key in PEM; undefined if they belong together. */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  const problem = problemOfPair(certificate, key)
  if (problem === undefined) return undefined
  return problem === malformed ? `x509: ${problem}` : `tls: ${problem}`
}

const malformed = 'malformed certificate'

function problemOfPair(certificateText: string, keyText: string): string | undefined {
  const blocks = pemBlocks(certificateText)
  const first = blocks.find(({ type }) => type === 'CERTIFICATE')
  if (first === undefined) return problemOfCertificates(blocks.map(({ type }) => type))
  const keyBlocks = pemBlocks(keyText)
  const block = keyBlocks.find(({ type }) => /^(?:.* )?PRIVATE KEY$/s.test(type))
  if (block === undefined) return problemOfKeys(keyBlocks.map(({ type }) => type))
  const certificate = certificateFrom(first.bytes)
  if (certificate === undefined) return malformed
  const key = keyFrom(block.bytes)
  if (key === undefined) return 'failed to parse private key'
  const known = ['rsa', 'ec', 'ed25519']
  const type = key.asymmetricKeyType ?? ''
  if (!known.includes(type)) return 'found unknown private key type in PKCS#8 wrapping'
  const { publicKey } = certificate
  const publicType = publicKey.asymmetricKeyType ?? ''
  if (!known.includes(publicType)) return 'unknown public key algorithm'
  if (type !== publicType) return 'private key type does not match public key type'
  return createPublicKey(key).equals(publicKey)
    ? undefined
    : 'private key does not match public key'
}

function problemOfCertificates(types: readonly string[]): string {
  if (types.length === 0) return 'failed to find any PEM data in certificate input'
  if (types.length === 1 && types[0]?.endsWith('PRIVATE KEY') === true) {
    return 'failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched'
  }
  return `failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${types.join(' ')}]`
}

function problemOfKeys(types: readonly string[]): string {
  if (types.length === 0) return 'failed to find any PEM data in key input'
  if (types.length === 1 && types[0] === 'CERTIFICATE') {
    return 'found a certificate rather than a key in the PEM for the private key'
  }
  return `failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${types.join(' ')}]`
}

function certificateFrom(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes)
  } catch {
    return undefined
  }
}

function keyFrom(bytes: Buffer): KeyObject | undefined {
  for (const type of ['pkcs1', 'pkcs8', 'sec1'] as const) {
    try {
      return createPrivateKey({ key: bytes, format: 'der', type })
    } catch {
      // It is of another form, or none.
    }
  }
  return undefined
}
