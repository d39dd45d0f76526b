/** Encrypted continue tokens: clients cannot read revisions and object names from them, and cannot
 *  forge them. Replicas share the keys, so that a token of one replica is valid on another.
 *
 *  ```
 *  wg2. base64url( nonce (12 bytes) | ciphertext | tag (16 bytes) )        AES-256-GCM, the list's prefix authenticated
 *  ```
 *
 *  The first key encrypts, and every key decrypts. To change keys, add the new one at the end on
 *  every replica, then move it to the front, and remove the old one when its tokens have
 *  expired. Plain tokens are accepted too, because kube-apiserver makes them. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { assert, CacheError, type Key } from '@watchglass/base'
import type { TokenEncryption } from '@watchglass/kube'
import type { OptionValues } from '../../options/option-values.ts'

const mark = 'wg2.'
/** Tokens with `wg1.` were not bound to their list: whoever had one could have it decrypted as that
 *  of another. */
const anyMark = /^wg\d+\./
const cipherName = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** Reads the keys from a file: base64 of 32 bytes on each line; `#` begins a comment. */
export function readTokenEncryption(file: string): TokenEncryption {
  return createTokenEncryption(readKeyFile(file))
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--continue-key-file cannot be read: ${message}`)
  }
}

/** Encryption of the tokens of one cluster of many: a token of another cluster is not valid, which
 *  would show another list. Without a key file the keys are made of names alone, so that replicas
 *  take each other's tokens; they keep clusters apart, and nothing secret. */
export function continueTokensOf(values: OptionValues, cluster: string): TokenEncryption {
  const file = values.text('continue-key-file')
  const keys = file === undefined ? [Buffer.alloc(keyBytes)] : keysIn(readKeyFile(file))
  const ofCluster = keys.map(key =>
    createHash('sha256').update(`watchglass cluster ${cluster}\0`).update(key).digest(),
  )
  return { ...encryptionWith(ofCluster), isOnly: true }
}

/** Encryption with the keys in the text of a file. Error messages never quote the text: it is
 *  secret. */
export function createTokenEncryption(text: string): TokenEncryption {
  return encryptionWith(keysIn(text))
}

/** At least one. */
function keysIn(text: string): readonly Buffer[] {
  const lines = text.split('\n').map(line => line.replace(/#.*/, '').trim())
  const keys = lines.flatMap((line, i) => (line === '' ? [] : [keyOf(line, i + 1)]))
  if (keys.length === 0) throw invalid('there is no key')
  return keys
}

function encryptionWith(keys: readonly Buffer[]): TokenEncryption {
  const [first] = keys
  assert(first !== undefined, 'there is a key')
  return {
    encrypt: (token, prefix) => encrypt(first, token, prefix),
    decrypt(encrypted, prefix) {
      if (!encrypted.startsWith(mark)) return undefined
      const bytes = Buffer.from(encrypted.slice(mark.length), 'base64url')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      for (const key of keys) {
        const token = decrypt(key, bytes, prefix)
        if (token !== undefined) return token
      }
      return undefined
    },
    isEncrypted: token => anyMark.test(token),
  }
}

function keyOf(line: string, number: number): Buffer {
  const key = Buffer.from(line, 'base64')
  if (key.length !== keyBytes || !/^[A-Za-z0-9+/]+=*$/.test(line)) {
    throw invalid(`line ${number} is not base64 of ${keyBytes} bytes`)
  }
  // Derived, so that the same key used elsewhere is a different one here.
  return createHash('sha256').update('watchglass continue tokens\0').update(key).digest()
}

function encrypt(key: Buffer, token: string, prefix: Key): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(cipherName, key, nonce)
  cipher.setAAD(Buffer.from(prefix, 'latin1'))
  const encrypted = Buffer.concat([
    nonce,
    cipher.update(token),
    cipher.final(),
    cipher.getAuthTag(),
  ])
  return mark + encrypted.toString('base64url')
}

/** Undefined if the token was made with another key, was changed, or is for another list. */
function decrypt(key: Buffer, bytes: Buffer, prefix: Key): string | undefined {
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  decipher.setAAD(Buffer.from(prefix, 'latin1'))
  try {
    const encrypted = bytes.subarray(nonceBytes, -tagBytes)
    return Buffer.concat([decipher.update(encrypted), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', `--continue-key-file: ${message}`)
}
