/** The messages between a client and an exec plugin: `ExecCredential` of
 *  client.authentication.k8s.io, v1 and v1beta1, which have the same fields. */

import { createSecureContext } from 'node:tls'
import { CacheError, isObject, pairProblem } from '@watchglass/base'
import { millisecondsFromText } from '@watchglass/go'
import { isHeaderText } from '../file/clean-text.ts'
import { TypedFields } from '../file/typed-fields.ts'
import type { KubeconfigCluster } from '../file/kubeconfig.ts'

export interface PluginCredentials {
  /** Empty if there is only a certificate. */
  readonly token: string
  readonly certificate: { readonly cert: Buffer; readonly key: Buffer } | undefined
  /** Milliseconds since 1970; undefined: until they are refused. */
  readonly expiresAtMs: number | undefined
}

/** The text of KUBERNETES_EXEC_INFO. `cluster` is told where the kubeconfig says so. */
export function execInfo(
  apiVersion: string,
  isInteractive: boolean,
  cluster: { readonly entry: KubeconfigCluster; readonly ca: Buffer | undefined } | undefined,
): string {
  const told = cluster === undefined ? {} : { cluster: toldOf(cluster.entry, cluster.ca) }
  const spec = { ...told, interactive: isInteractive }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec })
}

/** The authority is always told as data, never as a file. */
function toldOf(entry: KubeconfigCluster, ca: Buffer | undefined): object {
  return {
    server: entry.server.replace(/[?#].*/s, ''),
    ...(entry.tlsServerName === '' ? {} : { 'tls-server-name': entry.tlsServerName }),
    ...(entry.isUnverified ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca === undefined ? {} : { 'certificate-authority-data': ca.toString('base64') }),
    ...(entry.proxyUrl === '' ? {} : { 'proxy-url': entry.proxyUrl }),
    ...(entry.isUncompressed ? { 'disable-compression': true } : {}),
    config: entry.pluginConfig ?? null,
  }
}

/** The credentials that a plugin wrote to its standard output. Fails with `unauthorized` if there
 *  are none; the message has nothing of the output, which may be a secret. */
export function credentialsFrom(output: string, apiVersion: string): PluginCredentials {
  const document = new TypedFields(documentIn(output), '')
  const [kind, version] = [document.text('kind'), document.text('apiVersion')]
  if (kind !== 'ExecCredential') {
    throw refused(`wrote an object of kind ${JSON.stringify(kind)} in place of an ExecCredential`)
  }
  if (version !== apiVersion) {
    throw refused(
      `wrote apiVersion ${JSON.stringify(version)}, but the kubeconfig says ${JSON.stringify(apiVersion)}`,
    )
  }
  if (!document.has('status')) throw refused('wrote no status')
  const status = document.object('status')
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map(name =>
    status.text(name),
  ) as [string, string, string]
  if (token === '' && cert === '' && key === '') {
    throw refused('wrote neither a token nor a certificate and its key')
  }
  if ((cert === '') !== (key === '')) {
    throw refused(
      `wrote a ${cert === '' ? 'key without its certificate' : 'certificate without its key'}`,
    )
  }
  if (!isHeaderText(token)) throw refused('wrote a token with a line break or a control character')
  return {
    token,
    certificate: cert === '' ? undefined : pairOf(cert, key),
    expiresAtMs: expiryOf(status.text('expirationTimestamp')),
  }
}

function documentIn(output: string): unknown {
  try {
    const document: unknown = JSON.parse(output)
    if (isObject(document)) return document
  } catch {
    // The error of a parser quotes what it could not read.
  }
  const found = output.trim() === '' ? 'nothing' : 'no JSON object'
  throw refused(`wrote ${found} to standard output; an ExecCredential is expected there`)
}

function pairOf(cert: string, key: string): { readonly cert: Buffer; readonly key: Buffer } {
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const names = ['its clientCertificateData', 'its clientKeyData'] as const
    const problem = pairProblem(
      { name: names[0], text: cert },
      { name: names[1], text: key },
      error,
    )
    throw refused(`wrote a certificate and a key that cannot be used: ${problem}`)
  }
  return { cert: Buffer.from(cert), key: Buffer.from(key) }
}

function expiryOf(text: string): number | undefined {
  if (text === '') return undefined
  const atMs = millisecondsFromText(text)
  if (atMs === undefined) throw refused('wrote an expirationTimestamp that is no time (RFC 3339)')
  return atMs ?? undefined
}

function refused(message: string): CacheError {
  return new CacheError('unauthorized', message)
}
