/** Public keys of requests for certificates, and the signatures that they check, as Go's
 *  crypto/x509 takes them. */

import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { alignedBits, Asn1Error, type Asn1Value, oidProblem, oidText } from './asn1.ts'
import { isShortest, readDer } from './der.ts'

export interface PublicKey {
  readonly type: 'RSA' | 'DSA' | 'ECDSA' | 'Ed25519' | 'X25519'
  /** The structure that Node.js reads. */
  readonly info: Buffer
  /** Numbers of a key of RSA. */
  readonly modulus?: Buffer
  readonly exponent?: Buffer
}

const [integerTag, oidTag, sequenceTag] = [0x02, 0x06, 0x30]

const types: Readonly<Record<string, PublicKey['type']>> = {
  '1.2.840.113549.1.1.1': 'RSA',
  '1.2.840.10040.4.1': 'DSA',
  '1.2.840.10045.2.1': 'ECDSA',
  '1.3.101.112': 'Ed25519',
  '1.3.101.110': 'X25519',
}

interface Curve {
  readonly name: string
  /** The bytes of a coordinate. */
  readonly size: number
  /** All coordinates are below it. */
  readonly prime: bigint
}

const curves: Readonly<Record<string, Curve>> = {
  '1.3.132.0.33': { name: 'P224', size: 28, prime: 2n ** 224n - 2n ** 96n + 1n },
  '1.2.840.10045.3.1.7': {
    name: 'P256',
    size: 32,
    prime: 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
  },
  '1.3.132.0.34': {
    name: 'P384',
    size: 48,
    prime: 2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
  },
  '1.3.132.0.35': { name: 'P521', size: 66, prime: 2n ** 521n - 1n },
}

/** The key of a structure of algorithm and bits; undefined if the algorithm is not known. Throws
 *  `Asn1Error`. */
export function publicKeyFrom({ full, parts }: Asn1Value): PublicKey | undefined {
  const [algorithm, bits] = parts as [Asn1Value, Asn1Value]
  const [id, parameters] = algorithm.parts as [Asn1Value, Asn1Value | undefined]
  const type = types[oidText(id.content)]
  if (type === undefined) return undefined
  const key = { type, info: full }
  const [data, given] = [alignedBits(bits.content), parameters?.full ?? Buffer.alloc(0)]
  switch (type) {
    case 'RSA':
      return { ...key, ...rsaNumbers(data, given) }
    case 'ECDSA':
      checkPoint(key, data, given)
      return key
    case 'DSA':
      checkDsa(data, given)
      return key
    case 'Ed25519':
    case 'X25519':
      if (given.length > 0) throw new Asn1Error(`x509: ${type} key encoded with illegal parameters`)
      if (data.length !== 32) {
        const isSigning = type === 'Ed25519'
        throw new Asn1Error(
          isSigning ? 'x509: wrong Ed25519 public key size' : 'crypto/ecdh: invalid public key',
        )
      }
      return key
  }
}

function rsaNumbers(data: Buffer, parameters: Buffer): { modulus: Buffer; exponent: Buffer } {
  if (parameters.toString('hex') !== '0500') {
    throw new Asn1Error('x509: RSA key missing NULL parameters')
  }
  const sequence = readDer(data, sequenceTag)
  if (sequence === undefined) throw new Asn1Error('x509: invalid RSA public key')
  const modulus = readInteger(sequence.content)
  if (modulus === undefined) throw new Asn1Error('x509: invalid RSA modulus')
  const exponent = readInteger(modulus.rest)
  if (exponent === undefined || exponent.content.length > 8) {
    throw new Asn1Error('x509: invalid RSA public exponent')
  }
  for (const [number, name] of [
    [modulus.content, 'modulus'],
    [exponent.content, 'public exponent'],
  ] as const) {
    if (!isPositive(number)) throw new Asn1Error(`x509: RSA ${name} is not a positive number`)
  }
  return { modulus: modulus.content, exponent: exponent.content }
}

/** An integer in its shortest form. */
function readInteger(bytes: Buffer): ReturnType<typeof readDer> {
  const part = readDer(bytes, integerTag)
  const isRight = part !== undefined && part.content.length > 0 && isShortest(part.content)
  return isRight ? part : undefined
}

function isPositive(number: Buffer): boolean {
  const [first = 0] = number
  return first < 0x80 && (first > 0 || number.length > 1)
}

function checkPoint(key: PublicKey, data: Buffer, parameters: Buffer): void {
  const id = readDer(parameters, oidTag)
  if (id === undefined || oidProblem(id.content) !== undefined) {
    throw new Asn1Error('x509: invalid ECDSA parameters')
  }
  const curve = curves[oidText(id.content)]
  if (curve === undefined) throw new Asn1Error('x509: unsupported elliptic curve')
  const { name, size, prime } = curve
  if (data[0] !== 4) throw new Asn1Error('ecdsa: invalid uncompressed public key')
  if (data.length !== 1 + 2 * size) throw new Asn1Error(`invalid ${name} point encoding`)
  for (const from of [1, 1 + size]) {
    const coordinate = data.subarray(from, from + size).toString('hex')
    if (BigInt(`0x${coordinate}`) >= prime) {
      throw new Asn1Error(`invalid ${name}${size === 32 ? ' e' : 'E'}lement encoding`)
    }
  }
  if (keyObjectOf(key) === undefined) throw new Asn1Error(`${name} point not on curve`)
}

function checkDsa(data: Buffer, parameters: Buffer): void {
  const numbers = [readInteger(data)]
  if (numbers[0] === undefined) throw new Asn1Error('x509: invalid DSA public key')
  let rest = readDer(parameters, sequenceTag)?.content
  for (let i = 0; i < 3; i++) {
    const number = rest === undefined ? undefined : readInteger(rest)
    if (number === undefined) throw new Asn1Error('x509: invalid DSA parameters')
    numbers.push(number)
    ;({ rest } = number)
  }
  if (numbers.some(number => number === undefined || !isPositive(number.content))) {
    throw new Asn1Error('x509: zero or negative DSA parameter')
  }
}

function keyObjectOf({ info }: PublicKey): KeyObject | undefined {
  try {
    return createPublicKey({ key: info, format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

interface SignatureAlgorithm {
  readonly type: 'RSA' | 'DSA' | 'ECDSA' | 'Ed25519'
  /** Undefined where nothing is hashed before. */
  readonly hash: string | undefined
  readonly saltLength?: number
}

const algorithms: Readonly<Record<string, SignatureAlgorithm>> = {
  '1.2.840.113549.1.1.4': { type: 'RSA', hash: 'md5' },
  '1.2.840.113549.1.1.5': { type: 'RSA', hash: 'sha1' },
  '1.3.14.3.2.29': { type: 'RSA', hash: 'sha1' },
  '1.2.840.113549.1.1.11': { type: 'RSA', hash: 'sha256' },
  '1.2.840.113549.1.1.12': { type: 'RSA', hash: 'sha384' },
  '1.2.840.113549.1.1.13': { type: 'RSA', hash: 'sha512' },
  '1.2.840.10040.4.3': { type: 'DSA', hash: 'sha1' },
  '2.16.840.1.101.3.4.3.2': { type: 'DSA', hash: 'sha256' },
  '1.2.840.10045.4.1': { type: 'ECDSA', hash: 'sha1' },
  '1.2.840.10045.4.3.2': { type: 'ECDSA', hash: 'sha256' },
  '1.2.840.10045.4.3.3': { type: 'ECDSA', hash: 'sha384' },
  '1.2.840.10045.4.3.4': { type: 'ECDSA', hash: 'sha512' },
  '1.3.101.112': { type: 'Ed25519', hash: undefined },
}
const pss = '1.2.840.113549.1.1.10'

/** The parameters of RSASSA-PSS, of which Go takes three; both of their NULLs may be missing. */
const pssParameters: ReadonlyMap<string, SignatureAlgorithm> = new Map(
  [
    ['sha256', '01', 32],
    ['sha384', '02', 48],
    ['sha512', '03', 64],
  ].flatMap(([hash, number, salt]) =>
    ['', '0500'].flatMap(first =>
      ['', '0500'].map((second): [string, SignatureAlgorithm] => {
        const id = `06096086480165030402${number}`
        const hashed = der('a0', der('30', id + first))
        const mask = der('a1', der('30', `06092a864886f70d010108${der('30', id + second)}`))
        const length = der('a2', der('02', Number(salt).toString(16)))
        const parameters = der('30', hashed + mask + length)
        return [parameters, { type: 'RSA', hash: String(hash), saltLength: Number(salt) }]
      }),
    ),
  ),
)

/** A short value in hexadecimal. */
function der(tag: string, content: string): string {
  return tag + (content.length / 2).toString(16).padStart(2, '0') + content
}

function algorithmOf(identifier: Asn1Value): SignatureAlgorithm | undefined {
  const [id, parameters] = identifier.parts as [Asn1Value, Asn1Value | undefined]
  const name = oidText(id.content)
  if (name === pss) return pssParameters.get(parameters?.full.toString('hex') ?? '')
  const found = algorithms[name]
  return found?.type === 'Ed25519' && parameters !== undefined ? undefined : found
}

const unsupported = 'x509: cannot verify signature: algorithm unimplemented'

interface KeyWords {
  readonly goType: string
  /** The complaint about a signature that is another one. */
  readonly failure: string
}

/** Words about keys that check signatures. */
const wordsOf: Readonly<Record<string, KeyWords>> = {
  RSA: { goType: '*rsa.PublicKey', failure: 'crypto/rsa: verification error' },
  ECDSA: { goType: '*ecdsa.PublicKey', failure: 'x509: ECDSA verification failure' },
  Ed25519: { goType: 'ed25519.PublicKey', failure: 'x509: Ed25519 verification failure' },
}

/** Bytes with a signature of them. */
export interface Signed {
  readonly signed: Buffer
  /** With its parameters. */
  readonly algorithm: Asn1Value
  readonly signature: Asn1Value
  /** Undefined where its algorithm is not known. */
  readonly key: PublicKey | undefined
}

/** The complaint about the signature of a request. */
export function signatureProblem(request: Signed): string | undefined {
  const { key, signed } = request
  const algorithm = algorithmOf(request.algorithm)
  if (algorithm === undefined) return unsupported
  const { type, hash, saltLength } = algorithm
  if (hash === 'md5') return 'x509: cannot verify signature: insecure algorithm MD5-RSA'
  const words = wordsOf[key?.type ?? '']
  if (key === undefined || words === undefined) return unsupported
  if (type !== key.type) {
    return `x509: signature algorithm specifies an ${type} public key, but have public key of type ${words.goType}`
  }
  const problem = problemOfNumbers(key)
  if (problem !== undefined) return problem
  const object = keyObjectOf(key)
  const { RSA_PKCS1_PSS_PADDING: padding } = constants
  const options = saltLength === undefined ? {} : { padding, saltLength }
  const signature = alignedBits(request.signature.content)
  const isRight =
    object !== undefined && verify(hash, signed, { key: object, ...options }, signature)
  return isRight ? undefined : words.failure
}

function problemOfNumbers({ modulus, exponent }: PublicKey): string | undefined {
  if (modulus === undefined || exponent === undefined) return undefined
  const digits = modulus.toString('hex').replace(/^0+/, '')
  const size = 4 * digits.length - Math.clz32(Number.parseInt(digits.charAt(0), 16)) + 28
  const number = BigInt(`0x${exponent.toString('hex')}`)
  if (size < 1024) {
    return `crypto/rsa: ${size}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)`
  }
  if (((modulus.at(-1) ?? 0) & 1) === 0) return 'crypto/rsa: public modulus is even'
  if (number < 2n) return 'crypto/rsa: public exponent too small or negative'
  if ((number & 1n) === 0n) return 'crypto/rsa: public exponent is even'
  return number > 2n ** 31n - 1n ? 'crypto/rsa: public exponent too large' : undefined
}
