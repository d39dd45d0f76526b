/** Client certificates with any subject, byte by byte, signed by the authority of tests: openssl
 *  would not write most of them. */

import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** An element of DER. */
export function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const digits = length.toString(16)
  const size = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 + size.length]), size, content])
}

export const tags = {
  utf8: 0x0c,
  numeric: 0x12,
  printable: 0x13,
  t61: 0x14,
  ia5: 0x16,
  visible: 0x1a,
  universal: 0x1c,
  bmp: 0x1e,
} as const

const types = { CN: '550403', O: '55040a', OU: '55040b' } as const

/** An attribute of a name, such as CN=alice; UTF-8 if no tag is given. */
export function attribute(
  type: keyof typeof types,
  value: string | Buffer,
  tag: number = tags.utf8,
): Buffer {
  const oid = der(0x06, Buffer.from(types[type], 'hex'))
  return der(0x30, oid, der(tag, typeof value === 'string' ? Buffer.from(value) : value))
}

/** An attribute that is a set of its own, or several in one set. */
export type NameSet = Buffer | readonly Buffer[]

export function nameOf(...sets: readonly NameSet[]): Buffer {
  return der(0x30, ...sets.map(one => der(0x31, ...[one].flat())))
}

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
const time = (text: string): Buffer => der(0x18, Buffer.from(text))

/** The key of all of them. */
export const clientKey: Buffer = pem('client.key')

/** Who signs a certificate: the authority of tests, or one that this has signed. */
export interface Signer {
  readonly name: Buffer
  readonly key: Buffer
}

const authority: Signer = {
  name: nameOf(attribute('CN', 'watchglass test CA')),
  key: pem('ca.key'),
}

/** The certificate in DER. */
export function certificateOf(subject: Buffer, signer: Signer = authority): Buffer {
  return signedBy(signer, subject)
}

/** An authority, and its certificate. */
export interface Authority {
  readonly certificate: Buffer
  readonly signer: Signer
}

const isAuthority = der(0x04, der(0x30, der(0x01, Buffer.from([0xff]))))
const constraints = der(0x30, der(0x06, Buffer.from('551d13', 'hex')), isAuthority)

/** An authority that the one of tests has signed. */
export function intermediate(): Authority {
  const name = nameOf(attribute('CN', 'watchglass test intermediate'))
  const certificate = signedBy(authority, name, { extensions: constraints })
  return { certificate, signer: { name, key: clientKey } }
}

/** An authority of its own, which ends at a time such as 21000101000000Z. */
export function authorityUntil(ends: string): Authority {
  const name = nameOf(attribute('CN', 'watchglass test authority that ends'))
  const signer = { name, key: clientKey }
  return { certificate: signedBy(signer, name, { extensions: constraints, ends }), signer }
}

interface Signed {
  /** With extensions it is of version 3. */
  readonly extensions?: Buffer
  readonly ends?: string
}

function signedBy(
  { name, key }: Signer,
  subject: Buffer,
  { extensions, ends = '21200101000000Z' }: Signed = {},
): Buffer {
  const publicKey = createPublicKey(clientKey).export({ type: 'spki', format: 'der' })
  const version3 = der(0xa0, der(0x02, Buffer.from([2])))
  const signed = der(
    0x30,
    ...(extensions === undefined ? [] : [version3]),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    der(0x30, time('20200101000000Z'), time(ends)),
    subject,
    publicKey,
    ...(extensions === undefined ? [] : [der(0xa3, der(0x30, extensions))]),
  )
  const signature = sign('sha256', signed, createPrivateKey(key))
  return der(0x30, signed, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
}

export function pemOf(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
