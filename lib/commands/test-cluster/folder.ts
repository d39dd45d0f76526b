/** The temporary folder of a cluster: its certificates, a kubeconfig, and what a pod would find of
 *  its service account. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Authority } from '../../cluster/authority/authority.ts'

export interface ClusterFolder {
  readonly path: string
  /** PEM files for the listener. */
  readonly certFile: string
  readonly keyFile: string
  readonly kubeconfig: string
  /** As it is mounted into pods: token, ca.crt, namespace. */
  readonly account: string
}

/** Only this user may read what is in it: whoever has the key is the server. */
const mode = 0o600

export function createFolder(authority: Authority, names: readonly string[]): ClusterFolder {
  const path = mkdtempSync(join(tmpdir(), 'watchglass-run-'))
  const folder = {
    path,
    certFile: join(path, 'server.pem'),
    keyFile: join(path, 'server.key'),
    kubeconfig: join(path, 'kubeconfig'),
    account: join(path, 'serviceaccount'),
  }
  const { cert, key } = authority.issue(names)
  writeFileSync(folder.keyFile, key, { mode })
  writeFileSync(folder.certFile, `${cert}${authority.cert}`, { mode })
  return folder
}

/** Writes what clients read, once it is known where the server listens. */
export function writeClientFiles(
  { kubeconfig, account }: ClusterFolder,
  { address, authority, token }: ClientFacts,
): void {
  const ca = Buffer.from(authority.cert).toString('base64')
  const lines = [
    'apiVersion: v1',
    'kind: Config',
    'current-context: watchglass',
    'contexts:',
    '- name: watchglass',
    '  context: {cluster: watchglass, user: admin, namespace: default}',
    'clusters:',
    '- name: watchglass',
    '  cluster:',
    `    server: ${address}`,
    `    certificate-authority-data: ${ca}`,
    'users:',
    '- name: admin',
    `  user: {token: ${token}}`,
    '',
  ]
  writeFileSync(kubeconfig, lines.join('\n'), { mode })
  mkdirSync(account, { mode: 0o700 })
  writeFileSync(join(account, 'token'), token, { mode })
  writeFileSync(join(account, 'ca.crt'), authority.cert, { mode })
  writeFileSync(join(account, 'namespace'), 'default', { mode })
}

export interface ClientFacts {
  /** As a URL. */
  readonly address: string
  readonly authority: Authority
  /** For clients that insist on one: nobody checks it. */
  readonly token: string
}

export function removeFolder({ path }: ClusterFolder): void {
  rmSync(path, { recursive: true, force: true })
}
