/** The keys of service account tokens: those of files, as kube-apiserver takes them, or one that is
 *  derived from a secret of the process; and the documents by which others check tokens. */

import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { CacheError } from '@watchglass/base'
import type { OwnDocument } from '@watchglass/cache'

/** A key by which tokens are checked. */
export interface CheckingKey {
  readonly key: KeyObject
  readonly algorithm: Algorithm
  /** The name of the key: a hash of it. */
  readonly id: string
}

/** The keys of a server. */
export interface AccountKeys {
  /** The one that signs, with its private half. */
  readonly signing: CheckingKey & { readonly own: KeyObject }
  /** All that are believed, the one that signs among them. */
  readonly checking: readonly CheckingKey[]
}

/** Options of kube-apiserver, read. */
export interface AccountKeyOptions {
  /** The issuer of new tokens, and others that are believed. */
  readonly issuers: readonly string[]
  /** PEM; undefined: the key of the process. */
  readonly signingPem: string | undefined
  /** PEM, of private or public keys, several in a text if wanted. */
  readonly checkingPems: readonly string[]
}

type Algorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512'

const hashes = { RS256: 'sha256', ES256: 'sha256', ES384: 'sha384', ES512: 'sha512' } as const

const curves: Readonly<Record<string, Algorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** The keys of the options; fails if a text has none of a kind that signs tokens. */
export function readAccountKeys(
  { signingPem, checkingPems }: AccountKeyOptions,
  secret: () => string,
): AccountKeys {
  const own = signingPem === undefined ? keyOfSecret(secret()) : privateKeyOf(signingPem)
  const signing = { own, ...checkingKeyOf(createPublicKey(own)) }
  const checking = new Map<string, CheckingKey>()
  for (const pem of checkingPems) {
    for (const key of publicKeysOf(pem)) checking.set(key.id, key)
  }
  const { key, algorithm, id } = signing
  if (!checking.has(id)) checking.set(id, { key, algorithm, id })
  return { signing, checking: [...checking.values()] }
}

export function signed({ own, algorithm }: AccountKeys['signing'], text: string): Buffer {
  const key = { key: own, dsaEncoding: 'ieee-p1363' } as const
  return sign(hashes[algorithm], Buffer.from(text), key)
}

export function isSigned(
  { key, algorithm }: CheckingKey,
  text: string,
  signature: Uint8Array,
): boolean {
  return verify(hashes[algorithm], Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature)
}

/** The documents by path, byte for byte as kube-apiserver writes them; none for an issuer that may
 *  not be one by OpenID Connect.
 *  @param address HOST:PORT by which others reach the server */
export function openIdDocuments(
  issuer: string,
  keys: readonly CheckingKey[],
  address: string,
): ReadonlyMap<string, OwnDocument> {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  if (url?.protocol !== 'https:' || url.search !== '' || url.hash !== '') return new Map()
  const jwks = '/openid/v1/jwks'
  const configuration = {
    issuer,
    jwks_uri: `https://${address}${jwks}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [
      ...new Set(keys.map(({ algorithm }) => algorithm)),
    ].sort(),
  }
  const headers = { 'cache-control': 'public, max-age=3600' }
  const documentOf = (mediaType: string, value: unknown): OwnDocument => ({
    mediaType,
    headers,
    body: Buffer.from(JSON.stringify(value)),
  })
  return new Map([
    ['/.well-known/openid-configuration', documentOf('application/json', configuration)],
    [jwks, documentOf('application/jwk-set+json', { keys: keys.map(webKeyOf) })],
  ])
}

/** In the order of Go's library. */
function webKeyOf({ key, algorithm, id }: CheckingKey): object {
  const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' })
  const use = 'sig'
  return kty === 'RSA'
    ? { use, kty, kid: id, alg: algorithm, n, e }
    : { use, kty, kid: id, crv, alg: algorithm, x, y }
}

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw new CacheError('invalid_request', 'has no private key (PEM)', { cause: error })
  }
}

const pemBlock = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g

/** Certificates and parameters of curves stand beside keys at times. */
function publicKeysOf(pem: string): readonly CheckingKey[] {
  const keys = [...pem.matchAll(pemBlock)].flatMap(([block, kind = '']) =>
    kind.endsWith('KEY') || kind === 'CERTIFICATE' ? checkingKeyOf(publicKeyOf(block)) : [],
  )
  if (keys.length === 0) throw new CacheError('invalid_request', 'has no key (PEM)')
  return keys
}

function publicKeyOf(block: string): KeyObject {
  try {
    return createPublicKey(block)
  } catch (error) {
    throw new CacheError('invalid_request', 'has a key that cannot be read', { cause: error })
  }
}

function checkingKeyOf(key: KeyObject): CheckingKey {
  const der = key.export({ type: 'spki', format: 'der' })
  const id = createHash('sha256').update(der).digest('base64url')
  return { key, algorithm: algorithmOf(key), id }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Algorithm {
  if (asymmetricKeyType === 'rsa') return 'RS256'
  const algorithm = curves[asymmetricKeyDetails?.namedCurve ?? '']
  if (algorithm !== undefined) return algorithm
  throw new CacheError(
    'invalid_request',
    `has a key of ${asymmetricKeyType ?? 'an unknown kind'}: RSA keys and those of the curves P-256, P-384 and P-521 sign tokens`,
  )
}

/** Nearly every number of 256 bits is a key of the curve; if one is not, the next one is. */
function keyOfSecret(secret: string): KeyObject {
  const curve = createECDH('prime256v1')
  for (let attempt = 0; ; attempt++) {
    const seed = createHmac('sha256', secret).update(`service accounts ${attempt}`).digest()
    try {
      curve.setPrivateKey(seed)
    } catch {
      continue
    }
    const point = curve.getPublicKey()
    return createPrivateKey({
      format: 'jwk',
      key: {
        kty: 'EC',
        crv: 'P-256',
        d: seed.toString('base64url'),
        x: point.subarray(1, 33).toString('base64url'),
        y: point.subarray(33).toString('base64url'),
      },
    })
  }
}
