/** X.509 certificates (RFC 5280), signed with ECDSA and SHA-256: Node makes keys and signatures,
 *  but no certificates. */

import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import * as der from './der.ts'

export interface CertificateContents {
  /** The common name. */
  readonly subject: string
  readonly issuer: string
  readonly publicKey: KeyObject
  /** Key of the issuer. */
  readonly issuerKey: KeyObject
  readonly signWith: KeyObject
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Uses that it is for: to sign certificates, or by a server with these names and addresses. */
  readonly use: 'authority' | { readonly server: readonly string[] }
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
}

const algorithm = der.sequence(der.identifier(ids.ecdsaWithSha256))

/** The certificate as PEM. */
export function certificate(contents: CertificateContents): string {
  const { subject, issuer, publicKey, signWith, notBeforeMs, notAfterMs } = contents
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

function nameOf(commonName: string): Buffer {
  const attribute = der.sequence(der.identifier(ids.commonName), der.utf8(commonName))
  return der.sequence(der.set(attribute))
}

function extensionsOf({ use, publicKey, issuerKey }: CertificateContents): Buffer[] {
  const keys = [
    extension(ids.subjectKey, der.octets(keyId(publicKey))),
    extension(ids.authorityKey, der.sequence(der.implicit(0, keyId(issuerKey)))),
  ]
  if (use === 'authority') {
    return [
      critical(ids.basicConstraints, der.sequence(der.boolean(true))),
      // keyCertSign and cRLSign
      critical(ids.keyUsage, der.bits(Buffer.of(0b0000_0110), 1)),
      ...keys,
    ]
  }
  return [
    critical(ids.basicConstraints, der.sequence()),
    // digitalSignature
    critical(ids.keyUsage, der.bits(Buffer.of(0b1000_0000), 7)),
    extension(ids.extendedKeyUsage, der.sequence(der.identifier(ids.serverAuth))),
    extension(ids.alternativeNames, der.sequence(...use.server.map(alternativeName))),
    ...keys,
  ]
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
