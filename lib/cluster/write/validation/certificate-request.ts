/** Requests for certificates (PKCS #10, RFC 2986), as much of them as is read here: what they are,
 *  and the organizations of the subject. They come from clients: whatever is not as it should be
 *  has none. Signatures are not checked. */

import { pemBlocksInBase64 } from '../../texts/pem.ts'
import { certificatesIn } from './x509.ts'

const organization = '2.5.4.10'

const requestBlock = /-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]*)-----END/

/** True for PEM, in base64 as objects have it, that begins with a request. */
export function isCertificateRequest(text: string): boolean {
  return requestBlock.test(Buffer.from(text, 'base64').toString('latin1'))
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

/** @param text PEM, in base64 as objects have it */
export function organizationsOf(text: string): string[] {
  const pem = Buffer.from(text, 'base64').toString('latin1')
  const match = requestBlock.exec(pem)
  if (match === null) return []
  // CertificationRequest > CertificationRequestInfo > version, subject
  const [info] = partsIn(partsIn(der(match[1] ?? ''))[0]?.content)
  const subject = partsIn(info?.content)[1]
  const found: string[] = []
  for (const set of partsIn(subject?.content)) {
    for (const pair of partsIn(set.content)) {
      const [type, value] = partsIn(pair.content)
      if (type === undefined || value === undefined) continue
      if (dotted(type.content) === organization) found.push(value.content.toString())
    }
  }
  return found
}

function der(base64: string): Buffer {
  return Buffer.from(base64.replaceAll(/\s/g, ''), 'base64')
}

interface Part {
  readonly tag: number
  readonly content: Buffer
}

/** The parts, one after the other, of what a constructed part contains. */
function partsIn(bytes: Buffer = Buffer.alloc(0)): Part[] {
  const parts: Part[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const tag = bytes[at] ?? 0
    let length = bytes[at + 1] ?? 0
    at += 2
    if (length >= 0x80) {
      const count = length & 0x7f
      if (count === 0 || count > 4 || at + count > bytes.length) return parts
      length = bytes.readUIntBE(at, count)
      at += count
    }
    if (at + length > bytes.length) return parts
    parts.push({ tag, content: bytes.subarray(at, at + length) })
    at += length
  }
  return parts
}

function dotted(bytes: Buffer): string {
  const first = bytes[0] ?? 0
  const numbers = [Math.min(2, Math.floor(first / 40)), first % 40]
  let number = 0
  for (const byte of bytes.subarray(1)) {
    number = number * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    numbers.push(number)
    number = 0
  }
  return numbers.join('.')
}
