/** Files that options name, read once, at start. What is wrong with one is said then, by the option's name: a certificate that is none
 *  would show as connections that fail, or not at all. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { CacheError } from '../base/errors.ts'
import type { OptionValues } from './load.ts'

/** A certificate and its key (PEM). */
export interface KeyPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** The contents of the file that an option names; undefined if the option is not given. */
export function fileOf(values: OptionValues, name: string): Buffer | undefined {
  const path = values.text(name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    throw invalid(`--${name} cannot be read`, error)
  }
}

/** The same of a file with certificates of authorities. */
export function authoritiesOf(values: OptionValues, name: string): Buffer | undefined {
  const pem = fileOf(values, name)
  if (pem === undefined) return undefined
  try {
    new X509Certificate(pem)
  } catch (error) {
    throw invalid(`--${name} ${values.text(name)} has no certificate (PEM)`, error)
  }
  return pem
}

/** A certificate and its key, which are given together, and must fit. */
export function keyPairOf(
  values: OptionValues,
  certName: string,
  keyName: string,
): KeyPair | undefined {
  const [cert, key] = [fileOf(values, certName), fileOf(values, keyName)]
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) {
    throw new CacheError('invalid_request', `--${certName} and --${keyName} go together`)
  }
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw invalid(`--${certName} and --${keyName} are no certificate (PEM) with its key`, error)
  }
  return { cert, key }
}

function invalid(message: string, cause: unknown): CacheError {
  const reason = CacheError.from(cause, 'invalid_request').message
  return new CacheError('invalid_request', `${message}: ${reason}`, { cause })
}
