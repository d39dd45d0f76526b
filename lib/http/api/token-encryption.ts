/** Encrypted continue tokens: clients then learn no revisions and names of objects from them, and cannot make any. Replicas share the
 *  keys, so that a token of one is good at another.
 *
 *  ```
 *  wg1. base64url( nonce (12 bytes) | ciphertext | tag (16 bytes) )        AES-256-GCM
 *  ```
 *
 *  The first key seals, all of them open: a new key is added at the end everywhere, then moved to the front, and the old one removed
 *  when its tokens have expired. Plain tokens are still taken, since kube-apiserver makes them. */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CacheError } from '../../base/errors.ts'
import type { ContinuationSeal } from '../../kube/continuation.ts'

const mark = 'wg1.'
const cipherName = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** The seal with the keys of a file: base64 of 32 bytes a line, `#` begins a comment. */
export function readSeal(file: string): ContinuationSeal {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--continue-key-file cannot be read: ${message}`)
  }
  return createSeal(text)
}

/** The same from the file's text. What is wrong with it is said without quoting it. */
export function createSeal(text: string): ContinuationSeal {
  const lines = text.split('\n').map(line => line.replace(/#.*/, '').trim())
  const keys = lines.flatMap((line, i) => (line === '' ? [] : [keyOf(line, i + 1)]))
  const [first] = keys
  if (first === undefined) throw invalid('there is no key')
  return {
    seal: token => seal(first, token),
    open(sealed) {
      if (!sealed.startsWith(mark)) return undefined
      const bytes = Buffer.from(sealed.slice(mark.length), 'base64url')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      for (const key of keys) {
        const opened = open(key, bytes)
        if (opened !== undefined) return opened
      }
      return undefined
    },
  }
}

function keyOf(line: string, number: number): Buffer {
  const key = Buffer.from(line, 'base64')
  if (key.length !== keyBytes || !/^[A-Za-z0-9+/]+=*$/.test(line)) {
    throw invalid(`line ${number} is not base64 of ${keyBytes} bytes`)
  }
  // Used for nothing else, even if somebody uses the same key elsewhere.
  return createHash('sha256').update('watchglass continue tokens\0').update(key).digest()
}

function seal(key: Buffer, token: string): string {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(cipherName, key, nonce)
  const sealed = Buffer.concat([nonce, cipher.update(token), cipher.final(), cipher.getAuthTag()])
  return mark + sealed.toString('base64url')
}

/** Undefined if the key does not fit, or the token is not as it was made. */
function open(key: Buffer, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAuthTag(bytes.subarray(-tagBytes))
  try {
    const sealed = bytes.subarray(nonceBytes, -tagBytes)
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', `--continue-key-file: ${message}`)
}
