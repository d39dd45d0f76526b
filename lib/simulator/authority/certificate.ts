/** X.509 certificates (RFC 5280), signed with ECDSA and SHA-256: Node makes keys and signatures,
 *  but no certificates. An authority with a key of RSA signs with that (RFC 8017). */

import { createHash, KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import * as der from './der.ts'

export interface CertificateContents {
  /** The common name, or a whole name in DER. */
  readonly subject: string | Buffer
  readonly issuer: string | Buffer
  readonly publicKey: KeyObject
  /** Key of the issuer, or the identifier of that key; undefined: it has none. */
  readonly issuerKey: KeyObject | Buffer | undefined
  readonly signWith: KeyObject
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Uses that it is for: to sign certificates, by a server with these names and addresses, or what
   *  was asked for. */
  readonly use: 'authority' | { readonly server: readonly string[] } | RequestedUse
}

export interface RequestedUse {
  /** The numbers of bits (RFC 5280, 4.2.1.3) in rising order. */
  readonly keyUsages: readonly number[]
  /** Object identifiers. */
  readonly extendedKeyUsages: readonly string[]
  /** In DER. */
  readonly alternativeNames: readonly Buffer[]
}

const ids = {
  commonName: '2.5.4.3',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
}

const ecdsa = der.sequence(der.identifier(ids.ecdsaWithSha256))
const rsa = der.sequence(der.identifier(ids.rsaWithSha256), der.nothing)

/** The certificate as PEM. */
export function certificate(contents: CertificateContents): string {
  const { subject, issuer, publicKey, signWith, notBeforeMs, notAfterMs } = contents
  const algorithm = signWith.asymmetricKeyType === 'rsa' ? rsa : ecdsa
  const signed = der.sequence(
    der.explicit(0, der.integer(Buffer.of(2))),
    der.integer(randomBytes(16)),
    algorithm,
    nameOf(issuer),
    der.sequence(der.time(notBeforeMs), der.time(notAfterMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensionsOf(contents))),
  )
  const signature = der.bits(sign('sha256', signed, signWith))
  const lines = der
    .sequence(signed, algorithm, signature)
    .toString('base64')
    .match(/.{1,64}/g)
  return ['-----BEGIN CERTIFICATE-----', ...(lines ?? []), '-----END CERTIFICATE-----', ''].join(
    '\n',
  )
}

function nameOf(commonName: string | Buffer): Buffer {
  if (typeof commonName !== 'string') return commonName
  const attribute = der.sequence(der.identifier(ids.commonName), der.utf8(commonName))
  return der.sequence(der.set(attribute))
}

function extensionsOf({ use, publicKey, issuerKey }: CertificateContents): Buffer[] {
  const authorityId = issuerKey instanceof KeyObject ? keyId(issuerKey) : issuerKey
  const ofAuthority =
    authorityId === undefined
      ? []
      : [extension(ids.authorityKey, der.sequence(der.implicit(0, authorityId)))]
  if (use !== 'authority' && !('server' in use)) return [...extensionsAsked(use), ...ofAuthority]
  const keys = [extension(ids.subjectKey, der.octets(keyId(publicKey))), ...ofAuthority]
  if (use === 'authority') {
    return [
      critical(ids.basicConstraints, der.sequence(der.boolean(true))),
      // keyCertSign and cRLSign
      critical(ids.keyUsage, keyUsageBits([5, 6])),
      ...keys,
    ]
  }
  const asServer = {
    // digitalSignature
    keyUsages: [0],
    extendedKeyUsages: [ids.serverAuth],
    alternativeNames: use.server.map(alternativeName),
  }
  return [...extensionsAsked(asServer), ...keys]
}

function extensionsAsked({
  keyUsages,
  extendedKeyUsages,
  alternativeNames,
}: RequestedUse): Buffer[] {
  const extensions = [critical(ids.basicConstraints, der.sequence())]
  if (keyUsages.length > 0) extensions.push(critical(ids.keyUsage, keyUsageBits(keyUsages)))
  const extended = der.sequence(...extendedKeyUsages.map(der.identifier))
  if (extendedKeyUsages.length > 0) extensions.push(extension(ids.extendedKeyUsage, extended))
  const names = der.sequence(...alternativeNames)
  if (alternativeNames.length > 0) extensions.push(extension(ids.alternativeNames, names))
  return extensions
}

/** The bits of one byte. */
function keyUsageBits(numbers: readonly number[]): Buffer {
  const byte = numbers.reduce((all, number) => all | (0x80 >> number), 0)
  return der.bits(Buffer.of(byte), 7 - (numbers.at(-1) ?? 0))
}

function extension(id: string, content: Buffer): Buffer {
  return der.sequence(der.identifier(id), der.octets(content))
}

function critical(id: string, content: Buffer): Buffer {
  return der.sequence(der.identifier(id), der.boolean(true), der.octets(content))
}

/** A hash of the key, as most authorities have it. */
function keyId(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
  return createHash('sha1').update(Buffer.concat(point)).digest()
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? der.implicit(2, Buffer.from(name)) : der.implicit(7, addressBytes(name))
}

/** Four bytes, or sixteen. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const groups = (text = ''): string[] => text.split(':').filter(group => group !== '')
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0')
  const all = [...groups(head), ...zeros, ...groups(tail)]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}
