/** The temporary folder of a cluster: its certificates, a kubeconfig, and what a pod would find of
 *  its service account. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CacheError } from '@watchglass/base'
import type { Authority } from '@watchglass/simulator'

export interface ClusterFolder {
  readonly path: string
  /** PEM files for the listener. */
  readonly certFile: string
  readonly keyFile: string
  /** PEM files of the authority. */
  readonly authorityFile: string
  readonly authorityKeyFile: string
  /** The users of the cluster, as `--token-auth-file` has them. */
  readonly tokenFile: string
  readonly kubeconfig: string
  /** As it is mounted into pods: token, ca.crt, namespace. */
  readonly account: string
}

/** Only this user may read what is in it: whoever has the key is the server. */
const mode = 0o600

/** The tokens of an administrator, and of a user to whom nothing is granted yet. */
export interface ClientTokens {
  readonly admin: string
  readonly visitor: string
}

export function createFolder(
  authority: Authority,
  { names, tokens }: { readonly names: readonly string[]; readonly tokens: ClientTokens },
): ClusterFolder {
  const path = temporaryFolder()
  const folder = {
    path,
    certFile: join(path, 'server.pem'),
    keyFile: join(path, 'server.key'),
    authorityFile: join(path, 'ca.pem'),
    authorityKeyFile: join(path, 'ca.key'),
    tokenFile: join(path, 'tokens.csv'),
    kubeconfig: join(path, 'kubeconfig'),
    account: join(path, 'serviceaccount'),
  }
  const { cert, key } = authority.issue(names)
  const users = [`${tokens.admin},admin,,"system:masters"`, `${tokens.visitor},visitor,`]
  writeFileSync(folder.tokenFile, `${users.join('\n')}\n`, { mode })
  writeFileSync(folder.keyFile, key, { mode })
  writeFileSync(folder.authorityFile, authority.cert, { mode })
  writeFileSync(folder.authorityKeyFile, authority.key, { mode })
  writeFileSync(folder.certFile, `${cert}${authority.cert}`, { mode })
  return folder
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'watchglass-run-'))
  } catch (error) {
    const { message } = CacheError.from(error, 'source_failed')
    const advice = 'set TMPDIR to another folder'
    throw new CacheError('source_failed', `cannot make a temporary folder: ${message}: ${advice}`, {
      cause: error,
    })
  }
}

/** Writes what clients read, once it is known where the server listens. */
export function writeClientFiles(
  { kubeconfig, account }: ClusterFolder,
  { address, authority, tokens }: ClientFacts,
): void {
  const ca = Buffer.from(authority.cert).toString('base64')
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'current-context: watchglass',
    'contexts:',
    '- name: watchglass',
    '  context: {cluster: watchglass, user: admin, namespace: default}',
    '- name: visitor',
    '  context: {cluster: watchglass, user: visitor, namespace: default}',
    'clusters:',
    '- name: watchglass',
    '  cluster:',
    `    server: ${address}`,
    `    certificate-authority-data: ${ca}`,
    'users:',
    '- name: admin',
    `  user: {token: ${tokens.admin}}`,
    '- name: visitor',
    `  user: {token: ${tokens.visitor}}`,
    '',
  ]
  writeFileSync(kubeconfig, lines.join('\n'), { mode })
  mkdirSync(account, { mode: 0o700 })
  writeFileSync(join(account, 'token'), tokens.admin, { mode })
  writeFileSync(join(account, 'ca.crt'), authority.cert, { mode })
  writeFileSync(join(account, 'namespace'), 'default', { mode })
}

export interface ClientFacts {
  /** As a URL. */
  readonly address: string
  readonly authority: Authority
  readonly tokens: ClientTokens
}

export function removeFolder({ path }: ClusterFolder): void {
  rmSync(path, { recursive: true, force: true })
}
