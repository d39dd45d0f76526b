/** The server's certificate and key, and the CA of client certificates, read again when the files
 *  change: certificates are renewed every few weeks, and a restart would cut every watch. */

import { constants } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, DEFAULT_CIPHERS, type SecureContextOptions } from 'node:tls'
import {
  CacheError,
  type CancelTimer,
  type Clock,
  follow,
  type Logger,
  pairProblem,
} from '@watchglass/base'
import { expiryProblem } from '@watchglass/go'
import { requireAuthorities } from './authorities.ts'

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
  /** If it is given, client certificates are requested and verified against it. They are never
   *  required. */
  readonly clientCaFile?: string | undefined
  /** The options that name the files, for messages; those of `--listen` if they are left out. */
  readonly options?: Readonly<Record<'cert' | 'key' | 'clientCa', string>> | undefined
  /** The current further authorities of client certificates (PEM). */
  readonly authorities?: (() => readonly string[]) | undefined
  /** Clients are asked for certificates, also while there are no authorities. */
  readonly asksAlways?: boolean | undefined
}

/** Prefers AES with keys of 128 bits, where Node prefers 256: kube-apiserver chooses the same, and
 *  encryption is a fifth of the cost of a watch of everything (bench/watch, November 2026). A
 *  client can still insist on another cipher. */
const firstCipher = 'TLS_AES_128_GCM_SHA256'
const ciphers = DEFAULT_CIPHERS.split(':')
  .sort((one, other) => Number(other === firstCipher) - Number(one === firstCipher))
  .join(':')

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = constants

/** Each connection has a handshake of its own, and one only, where clients show certificates. A
 *  session that is resumed is its first client's, whatever certificate comes with it, and has lost
 *  the intermediate authorities of that; and a second handshake on a connection may show another
 *  certificate. Clients written in Go, nearly all of them, never resume any. */
const noOtherIdentity = SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET

const listenOptions = { cert: '--tls-cert', key: '--tls-key', clientCa: '--client-ca' }

/** The files' contents as options of a TLS context. Fails, naming the files, if they do not make
 *  one. */
export async function readTls(files: TlsFiles): Promise<SecureContextOptions> {
  const { clientCaFile, options: names = listenOptions, asksAlways = false } = files
  const [cert, key, ca] = await Promise.all([
    readNamed(names.cert, files.certFile),
    readNamed(names.key, files.keyFile),
    clientCaFile === undefined ? undefined : readNamed(names.clientCa, clientCaFile),
  ])
  if (ca !== undefined) requireAuthorities(`${names.clientCa} ${clientCaFile}`, ca.toString())
  const all = [...(ca === undefined ? [] : [ca.toString()]), ...(files.authorities?.() ?? [])]
  const asks = asksAlways || all.length > 0
  const options: SecureContextOptions = {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ciphers,
    secureOptions: asks ? noOtherIdentity : SSL_OP_NO_RENEGOTIATION,
    ...(asks ? { ca: all } : {}),
  }
  try {
    createSecureContext(options)
  } catch (error) {
    const problem = pairProblem(
      { name: `${names.cert} ${files.certFile}`, text: cert.toString('latin1') },
      { name: `${names.key} ${files.keyFile}`, text: key.toString('latin1') },
      error,
    )
    throw new CacheError('invalid_request', problem, { cause: error })
  }
  return options
}

export interface FollowedTls {
  /** Undefined: there is nothing to follow. */
  readonly files: TlsFiles | undefined
  /** For the log: `the certificates of --listen`. */
  readonly what: string
  /** Options in use. */
  readonly current: SecureContextOptions | undefined
  readonly onChange: (options: SecureContextOptions) => void
  readonly clock: Clock
  readonly logger: Logger
}

/** Reads the files again while the server runs. Files that do not make a TLS context change
 *  nothing. */
export function followTls({ files, current, ...rest }: FollowedTls): CancelTimer {
  if (files === undefined || current === undefined) return () => {}
  const { cert } = files.options ?? listenOptions
  return follow({
    ...rest,
    current,
    read: () => readTls(files),
    problemOf: options =>
      expiryProblem(`${cert} ${files.certFile}`, options.cert as Buffer, rest.clock.wallMs()),
  })
}

async function readNamed(flag: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new CacheError(
      'invalid_request',
      `${flag} ${file} cannot be read: ${CacheError.from(error, 'invalid_request').message}`,
      {
        cause: error,
      },
    )
  }
}
