/** Requests for certificates (PKCS #10, RFC 2986), read as Go's x509.ParseCertificateRequest reads
 *  them, with its words. Times in names are not looked into. */

import { goQuote } from '../text.ts'
import {
  anyValue,
  Asn1Error,
  type Asn1Value,
  bits,
  boolean,
  integer,
  octets,
  oid,
  oidText,
  raw,
  readAsn1,
  type Shape,
  textOfValue,
} from './asn1.ts'
import { readDer, readHead, syntax } from './der.ts'
import { pemBlocksInBase64 } from './pem.ts'
import { publicKeyFrom, type Signed, signatureProblem } from './request-keys.ts'
import { parseUrl } from '../urls.ts'

const [commonName, organization] = ['2.5.4.3', '2.5.4.10']
/** The identifier of an attribute: 1.2.840.113549.1.9.14. */
const extensionRequest = Buffer.from('06092a864886f70d01090e', 'hex')
const alternativeNamesId = '2.5.29.17'

const sequenceTag = 0x30

const algorithm: Shape = {
  type: 'struct',
  name: 'AlgorithmIdentifier',
  fields: [{ shape: oid }, { shape: raw, isOptional: true }],
}
const publicKeyInfo: Shape = {
  type: 'struct',
  name: 'publicKeyInfo',
  fields: [{ shape: algorithm }, { shape: bits }],
}
const toBeSigned: Shape = {
  type: 'struct',
  name: 'tbsCertificateRequest',
  fields: [
    { shape: integer },
    { shape: raw },
    { shape: publicKeyInfo },
    { shape: { type: 'list', name: '', of: raw }, tag: 0 },
  ],
}
const certificateRequest: Shape = {
  type: 'struct',
  name: 'certificateRequest',
  fields: [{ shape: toBeSigned }, { shape: algorithm }, { shape: bits }],
}
const attributeOfName: Shape = {
  type: 'struct',
  name: 'AttributeTypeAndValue',
  fields: [{ shape: oid }, { shape: anyValue }],
}
const relativeName: Shape = {
  type: 'set',
  name: 'RelativeDistinguishedNameSET',
  of: attributeOfName,
}
const distinguishedName: Shape = { type: 'list', name: 'RDNSequence', of: relativeName }
const attribute: Shape = {
  type: 'struct',
  name: 'pkcs10Attribute',
  fields: [{ shape: oid }, { shape: { type: 'set', name: '', of: raw } }],
}
const extension: Shape = {
  type: 'struct',
  name: 'Extension',
  fields: [{ shape: oid }, { shape: boolean, isOptional: true }, { shape: octets }],
}
const extensions: Shape = { type: 'list', name: '', of: extension }

/** A request, as far as it is of use here. */
export interface CertificateRequest extends Signed {
  /** The subject in DER. */
  readonly subject: Buffer
  /** The last one of the subject; empty if there is none. */
  readonly commonName: string
  /** Organizations of the subject. */
  readonly organizations: readonly string[]
  /** The names that it asks for beside its subject. */
  readonly alternativeNames: readonly AlternativeName[]
}

export interface AlternativeName {
  readonly type: 'email' | 'dns' | 'uri' | 'address'
  /** With tag and length. */
  readonly der: Buffer
}

/** The request in PEM, in base64 as objects have it; or why it is none. */
export function parseRequest(text: string): CertificateRequest | string {
  const [first] = pemBlocksInBase64(text)
  if (first?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST'
  try {
    return requestFrom(first.bytes)
  } catch (error) {
    if (error instanceof Asn1Error) return error.message
    throw error
  }
}

/** The complaint about a request, or about its signature. */
export function requestProblem(text: string): string | undefined {
  const request = parseRequest(text)
  return typeof request === 'string' ? request : signatureProblem(request)
}

function requestFrom(bytes: Buffer): CertificateRequest {
  const { value, end } = readAsn1(bytes, certificateRequest)
  if (end < bytes.length) throw new Asn1Error(syntax('trailing data'))
  const [tbs, signatureAlgorithm, signature] = value.parts as Asn1Value[]
  const [, subject, key, attributes] = (tbs as Asn1Value).parts as Asn1Value[]
  const publicKey = publicKeyFrom(key as Asn1Value)
  const texts = textsIn((subject as Asn1Value).full)
  const alternativeNames = namesAskedFor((attributes as Asn1Value).parts as Asn1Value[])
  return {
    subject: (subject as Asn1Value).full,
    commonName: texts(commonName).at(-1) ?? '',
    organizations: texts(organization),
    alternativeNames,
    signed: (tbs as Asn1Value).full,
    algorithm: signatureAlgorithm as Asn1Value,
    signature: signature as Asn1Value,
    key: publicKey,
  }
}

/** The texts of a subject, by the identifier of their type. */
function textsIn(subject: Buffer): (wanted: string) => string[] {
  const sets = readAsn1(subject, distinguishedName).value.parts as Asn1Value[]
  const pairs = sets.flatMap(set => set.parts as Asn1Value[])
  return wanted =>
    pairs.flatMap(pair => {
      const [type, value] = pair.parts as [Asn1Value, Asn1Value]
      return oidText(type.content) === wanted ? (textOfValue(value) ?? []) : []
    })
}

/** Attributes that are no extensions may be anything. */
function namesAskedFor(attributes: readonly Asn1Value[]): AlternativeName[] {
  const seen = new Set<string>()
  const found: Asn1Value[] = []
  for (const asked of attributes) {
    if (!asked.beginsWith(extensionRequest)) continue
    for (const one of requestedIn(asked.full)) {
      const id = oidText((one.parts[0] as Asn1Value).content)
      if (seen.has(id)) {
        throw new Asn1Error('x509: certificate request contains duplicate requested extensions')
      }
      seen.add(id)
      found.push(one)
    }
  }
  return found.flatMap(({ parts }) => {
    const [id, , value] = parts as [Asn1Value, Asn1Value | undefined, Asn1Value]
    return oidText(id.content) === alternativeNamesId ? namesIn(value.content) : []
  })
}

function requestedIn(bytes: Buffer): readonly Asn1Value[] {
  const values = valuesOf(bytes)
  const [first] = values
  return first === undefined ? [] : (readAsn1(first.full, extensions).value.parts as Asn1Value[])
}

/** The values of an attribute; none where it is no attribute. */
function valuesOf(bytes: Buffer): readonly Asn1Value[] {
  try {
    return (readAsn1(bytes, attribute).value.parts[1] as Asn1Value).parts as Asn1Value[]
  } catch (error) {
    if (error instanceof Asn1Error) return []
    throw error
  }
}

const textNames: Readonly<Record<number, string>> = {
  0x81: 'rfc822Name',
  0x82: 'dNSName',
  0x86: 'uniformResourceIdentifier',
}
const [uriTag, addressTag] = [0x86, 0x87]

const nameTypes: Readonly<Record<number, AlternativeName['type']>> = {
  0x81: 'email',
  0x82: 'dns',
  0x86: 'uri',
  0x87: 'address',
}

/** Names of other types are left out, as Go does. */
function namesIn(bytes: Buffer): AlternativeName[] {
  const names: AlternativeName[] = []
  const list = readDer(bytes, sequenceTag)?.content
  if (list === undefined) throw new Asn1Error('x509: invalid subject alternative names')
  for (let at = 0; at < list.length;) {
    const from = at
    const tag = list[at] as number
    const head = readHead(list, at)
    const isWhole = typeof head !== 'string' && head.at + head.length <= list.length
    if (!isWhole || (tag & 0x1f) === 0x1f) {
      throw new Asn1Error('x509: invalid subject alternative name')
    }
    at = head.at + head.length
    const content = list.subarray(head.at, at)
    const name = textNames[tag]
    if (name !== undefined && content.some(byte => byte >= 0x80)) {
      throw new Asn1Error(`x509: SAN ${name} is malformed`)
    }
    if (tag === uriTag) checkUri(content.toString())
    if (tag === addressTag && content.length !== 4 && content.length !== 16) {
      throw new Asn1Error(`x509: cannot parse IP address of length ${content.length}`)
    }
    const type = nameTypes[tag]
    if (type !== undefined) names.push({ type, der: list.subarray(from, at) })
  }
  return names
}

function checkUri(text: string): void {
  const url = parseUrl(text)
  const [address = ''] = text.split('#')
  const problem =
    typeof url === 'string'
      ? `parse ${goQuote(address)}: ${url}`
      : hasDomain(url.host)
        ? undefined
        : 'invalid domain'
  if (problem !== undefined) {
    throw new Asn1Error(`x509: cannot parse URI ${goQuote(text)}: ${problem}`)
  }
}

/** Labels of plain characters, none of them empty; or nothing. */
function hasDomain(host: string): boolean {
  return /^(?:[!-\-/-~]+(?:\.[!-\-/-~]+)*)?$/.test(host)
}
