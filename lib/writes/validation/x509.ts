/** Certificates of X.509, as far as they have to be read to know that they are some: what Go's
 *  crypto/x509 reads, and its words where it stops. Names, keys and extensions are not looked
 *  into. */

import { pemBlocksInBase64, readDer } from '@watchglass/go'

const tags = {
  integer: 0x02,
  bits: 0x03,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  version: 0xa0,
}

/** Why the bytes do not begin with a certificate; its length if they do. */
export function certificateAt(bytes: Buffer): string | number {
  const whole = readDer(bytes, tags.sequence)
  if (whole === undefined) return 'x509: malformed certificate'
  const tbs = readDer(whole.content, tags.sequence)
  if (tbs === undefined) return 'x509: malformed tbs certificate'
  const outer = readDer(tbs.rest, tags.sequence)
  let { content: rest } = tbs
  const version = readDer(rest, tags.version)
  if (version !== undefined) {
    const number = readDer(version.content, tags.integer)
    if (number === undefined) return 'x509: malformed version'
    if (number.content.length > 1 || (number.content[0] ?? 0) > 2) return 'x509: invalid version'
    ;({ rest } = version)
  }
  for (const [tag, words] of [
    [tags.integer, 'serial number'],
    [tags.sequence, 'signature algorithm identifier'],
    [tags.sequence, 'issuer'],
    [tags.sequence, 'validity'],
    [tags.sequence, 'issuer'],
    [tags.sequence, 'spki'],
  ] as const) {
    const part = readDer(rest, tag)
    if (part === undefined) return `x509: malformed ${words}`
    if (words === 'signature algorithm identifier') {
      if (outer === undefined) return 'x509: malformed algorithm identifier'
      if (!part.content.equals(outer.content)) {
        return "x509: inner and outer signature algorithm identifiers don't match"
      }
      if (readDer(part.content, tags.oid) === undefined) return 'x509: malformed OID'
    }
    if (words === 'validity' && !hasTimes(part.content)) return 'x509: malformed validity'
    if (words === 'spki') {
      const algorithm = readDer(part.content, tags.sequence)
      if (algorithm === undefined) return 'x509: malformed public key algorithm identifier'
      const key = readDer(algorithm.rest, tags.bits)
      if (key === undefined) return 'x509: malformed subjectPublicKey'
    }
    ;({ rest } = part)
  }
  if (readDer(outer?.rest ?? rest, tags.bits) === undefined) return 'x509: malformed signature'
  return bytes.length - whole.rest.length
}

function hasTimes(bytes: Buffer): boolean {
  let rest = bytes
  for (let i = 0; i < 2; i++) {
    const time = readDer(rest, tags.utcTime) ?? readDer(rest, tags.generalizedTime)
    if (time === undefined) return false
    ;({ rest } = time)
  }
  return true
}

/** Why the bytes are not certificates, one after the other; how many they are otherwise. */
export function certificatesIn(bytes: Buffer): string | number {
  let count = 0
  for (let at = 0; at < bytes.length; count++) {
    const length = certificateAt(bytes.subarray(at))
    if (typeof length === 'string') return length
    at += length
  }
  return count
}

/** The complaint about certificates in PEM, in base64; undefined if there is none. */
export function certificateProblem(text: string): string | undefined {
  if (text === '') return undefined
  const blocks = pemBlocksInBase64(text)
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block'
  for (const { type, hasHeaders, bytes } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found "${type}"`
    if (hasHeaders) return 'no PEM block headers are permitted'
    const found = certificatesIn(bytes)
    if (typeof found === 'string') return found
    if (found === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
  }
  return undefined
}
