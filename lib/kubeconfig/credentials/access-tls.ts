/** Certificates of a context: the authority of its cluster, and the user's own certificate with its
 *  key, from the kubeconfig or from files beside it. */

import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { CacheError, pairProblem } from '@watchglass/base'
import { type ChosenContext, placeOf } from '../file/choose.ts'
import { readingProblem } from '../file/load.ts'
import type { PemSource } from '../file/kubeconfig.ts'
import type { KubeconfigSystem } from '../system.ts'

/** TLS options of connections to the API server. */
export interface AccessTls {
  /** PEM; undefined: the authorities of the system. */
  readonly ca: Buffer | undefined
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
  /** Undefined: the host of the URL. */
  readonly serverName: string | undefined
  /** The server's certificate is not checked. */
  readonly isUnverified: boolean
}

/** Reads them as they are now. Fails with `invalid_request`, naming the file. */
export async function readAccessTls(
  { name, cluster, user, url }: ChosenContext,
  readFile: KubeconfigSystem['readFile'],
): Promise<AccessTls> {
  const serverName = cluster.tlsServerName === '' ? undefined : cluster.tlsServerName
  const checked = { serverName, isUnverified: cluster.isUnverified }
  const none = { ca: undefined, cert: undefined, key: undefined, ...checked }
  // client-go gives no credentials to a server without TLS.
  if (url.protocol !== 'https:') return none
  const inCluster = placeOf(name, 'cluster', cluster)
  const ca = await readPem(inCluster, 'certificate-authority', cluster.authority, readFile)
  checkAuthority(inCluster, cluster.authority, ca)
  const hasPair = user !== undefined && isGiven(user.certificate)
  if (!hasPair) return { ...none, ca }
  const ofUser = placeOf(name, 'user', user)
  const cert = await readPem(ofUser, 'client-certificate', user.certificate, readFile)
  const key = await readPem(ofUser, 'client-key', user.key, readFile)
  if (cert !== undefined && key !== undefined) {
    checkPair(
      ofUser,
      { ...named('client-certificate', user.certificate), pem: cert },
      {
        ...named('client-key', user.key),
        pem: key,
      },
    )
  }
  return { ca, cert, key, ...checked }
}

export function isGiven({ data, path }: PemSource): boolean {
  return data !== undefined || path !== ''
}

/** The field that an entry of PEM is from, with the file that it names. */
function named(field: string, { path }: PemSource): { readonly name: string } {
  return { name: path === '' ? `${field}-data` : `${field} ${path}` }
}

async function readPem(
  place: string,
  field: string,
  { data, path }: PemSource,
  readFile: KubeconfigSystem['readFile'],
): Promise<Buffer | undefined> {
  if (data !== undefined || path === '') return data
  try {
    return await readFile(path)
  } catch (error) {
    const tilde = path.includes('/~/') ? ' (~ is not replaced in a kubeconfig)' : ''
    throw new CacheError(
      'invalid_request',
      `${place}: ${field} ${path}: ${readingProblem(error)}${tilde}`,
      { cause: error },
    )
  }
}

function checkAuthority(place: string, source: PemSource, ca: Buffer | undefined): void {
  if (ca === undefined) return
  try {
    void new X509Certificate(ca)
  } catch (error) {
    const { name } = named('certificate-authority', source)
    throw new CacheError('invalid_request', `${place}: ${name} has no certificate (PEM)`, {
      cause: error,
    })
  }
}

interface NamedBytes {
  readonly name: string
  readonly pem: Buffer
}

function checkPair(place: string, cert: NamedBytes, key: NamedBytes): void {
  try {
    createSecureContext({ cert: cert.pem, key: key.pem })
  } catch (error) {
    const textOf = ({ name, pem }: NamedBytes): { name: string; text: string } => ({
      name,
      text: pem.toString('latin1'),
    })
    const problem = pairProblem(textOf(cert), textOf(key), error)
    throw new CacheError('invalid_request', `${place}: ${problem}`, { cause: error })
  }
}
