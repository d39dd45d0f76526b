/** Files that options name, read and checked once, at start, so that an error names the option.
 *  Otherwise an invalid certificate would show up later, as failed connections. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { CacheError, type NamedPem, pairProblem } from '@watchglass/base'
import type { OptionValues } from '../../options/option-values.ts'

/** A certificate and its key (PEM). */
export interface KeyPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** The options that name files with certificates. */
const certificateOptions = [
  'tls-cert',
  'client-ca',
  'cluster-signing-cert-file',
  'etcd-cacert',
  'etcd-cert',
  'etcd-listen-cert',
  'etcd-listen-client-ca',
  'upstream-ca',
  'upstream-cert',
  'front-proxy-cert',
  'requestheader-client-ca',
  'review-server-ca',
] as const

/** The files with certificates that the options name. */
export function certificateFilesOf(
  values: OptionValues,
): readonly { readonly option: string; readonly path: string }[] {
  return certificateOptions.flatMap(option => {
    const path = values.text(option)
    return path === undefined ? [] : [{ option, path }]
  })
}

/** The contents of the file that an option names; undefined if the option is not given. */
export function fileOf(values: OptionValues, name: string): Buffer | undefined {
  const path = values.text(name)
  return path === undefined ? undefined : contentsOf(path, name)
}

/** The contents of each file that an option names which may be given more than once. */
export function filesOf(values: OptionValues, name: string): readonly Buffer[] {
  return values.all(name).map(path => contentsOf(path, name))
}

function contentsOf(path: string, option: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw invalid(`--${option} cannot be read`, error)
  }
}

/** The authorities (PEM) in the file that an option names; undefined if it is not given. */
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

/** A certificate and its key: both or neither are given, and the key must be the certificate's. */
export function keyPairOf(
  values: OptionValues,
  certName: string,
  keyName: string,
): KeyPair | undefined {
  const [cert, key] = [fileOf(values, certName), fileOf(values, keyName)]
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) {
    throw new CacheError('invalid_request', `--${certName} and --${keyName} must be given together`)
  }
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const named = (name: string, pem: Buffer): NamedPem => {
      return { name: `--${name} ${values.text(name)}`, text: pem.toString('latin1') }
    }
    const problem = pairProblem(named(certName, cert), named(keyName, key), error)
    throw new CacheError('invalid_request', problem, { cause: error })
  }
  return { cert, key }
}

function invalid(message: string, cause: unknown): CacheError {
  const reason = CacheError.from(cause, 'invalid_request').message
  return new CacheError('invalid_request', `${message}: ${reason}`, { cause })
}
