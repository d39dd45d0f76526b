/** An authority that signs requests for certificates, as the signers of kube-controller-manager do
 *  (pkg/controller/certificates/authority). */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type CertificateRequest, readDer } from '@watchglass/go'
import { certificate } from './certificate.ts'
import { partsOf } from './der.ts'

/** PEM. */
export interface SigningPair {
  readonly cert: string
  readonly key: string
}

export interface SigningOrder {
  readonly request: CertificateRequest
  readonly usages: readonly string[]
  readonly expirationSeconds: number | undefined
  readonly nowMs: number
}

/** kube-controller-manager's `--cluster-signing-duration`. */
const validMaxMs = 365 * 24 * 3_600_000
/** A request may ask for no less. */
const validMinMs = 10 * 60_000
/** Clocks differ a little. */
const backdateMs = 5 * 60_000
/** The end of a shorter life is not moved by that. */
const shortMs = 8 * 3_600_000

/** Usages of a key by the numbers of their bits; the others are purposes (RFC 5280, 4.2.1.12). */
const keyUsages: ReadonlyMap<string, number> = new Map([
  ['digital signature', 0],
  ['key encipherment', 2],
])
const purposes: ReadonlyMap<string, string> = new Map([
  ['server auth', '1.3.6.1.5.5.7.3.1'],
  ['client auth', '1.3.6.1.5.5.7.3.2'],
])

const nameOrder = ['dns', 'email', 'address', 'uri'] as const

const subjectKeyId = Buffer.from('0603551d0e', 'hex')
const extensionsTag = 0xa3

export class SigningAuthority {
  readonly #certificate: X509Certificate
  readonly #key: KeyObject
  readonly #subject: Buffer
  readonly #keyId: Buffer | undefined

  constructor({ cert, key }: SigningPair) {
    this.#certificate = new X509Certificate(cert)
    this.#key = createPrivateKey(key)
    const [signed = Buffer.alloc(0)] = partsOf(this.#certificate.raw) ?? []
    const fields = partsOf(signed) ?? []
    // Behind version, serial number, algorithm, issuer and validity.
    this.#subject = fields[5] ?? Buffer.alloc(0)
    this.#keyId = keyIdIn(fields.find(field => field[0] === extensionsTag))
  }

  /** The certificate (PEM) that was asked for; or why none can be signed now. */
  sign({ request, usages, expirationSeconds, nowMs }: SigningOrder): string | Error {
    const { key } = request
    if (key === undefined) return new Error('the key of the request is not known')
    const endMs = Date.parse(this.#certificate.validTo)
    if (nowMs >= endMs) {
      return new Error(`the signer has expired: NotAfter=${this.#certificate.validTo}`)
    }
    const asked = expirationSeconds === undefined ? validMaxMs : expirationSeconds * 1000
    const validMs = Math.max(validMinMs, Math.min(asked, validMaxMs))
    const untilMs = nowMs + (validMs < shortMs ? validMs : validMs - backdateMs)
    const names = nameOrder.flatMap(type =>
      request.alternativeNames.filter(name => name.type === type),
    )
    return certificate({
      subject: request.subject,
      issuer: this.#subject,
      publicKey: createPublicKey({ key: key.info, format: 'der', type: 'spki' }),
      issuerKey: this.#keyId,
      signWith: this.#key,
      notBeforeMs: nowMs - backdateMs,
      notAfterMs: Math.min(untilMs, endMs),
      use: {
        keyUsages: found(keyUsages, usages).toSorted((a, b) => a - b),
        extendedKeyUsages: found(purposes, usages).toSorted(),
        alternativeNames: names.map(({ der }) => der),
      },
    })
  }
}

function found<Value>(known: ReadonlyMap<string, Value>, usages: readonly string[]): Value[] {
  return [...new Set(usages)].flatMap(usage => known.get(usage) ?? [])
}

/** The identifier by which an authority names its own key, in the field of its extensions;
 *  undefined if it names none. */
function keyIdIn(field: Buffer | undefined): Buffer | undefined {
  const [list] = (field && partsOf(field)) ?? []
  for (const extension of (list && partsOf(list)) ?? []) {
    const parts = partsOf(extension) ?? []
    const value = parts.at(-1)
    // The octets of an extension are a value themselves.
    if (parts[0]?.equals(subjectKeyId) === true) return value && contentOf(contentOf(value))
  }
  return undefined
}

function contentOf(value: Buffer | undefined): Buffer | undefined {
  return value && readDer(value, 0x04)?.content
}
