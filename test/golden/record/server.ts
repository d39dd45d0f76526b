/** A kube-apiserver on an etcd of its own, both on free ports of this machine, without controllers,
 *  scheduler or nodes. Who may do what is up to RBAC; users have bearer tokens. */

import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEtcd, type Teardown } from '../../support/etcd/etcd-cluster.ts'
import { freePort } from '../../support/program/ports.ts'
import { checkExecutable, RunningProgram, versionOf } from './program.ts'
import { send, type Sender } from './send.ts'
import { tokenLines } from './users.ts'

const run = promisify(execFile)

/** Flags of the server, beside ports and files, as meta.json has them. No addresses of its own are
 *  put into etcd, nothing waits for a controller, and nobody but the recorder compacts. */
const flags: readonly string[] = [
  '--authorization-mode=RBAC',
  '--disable-admission-plugins=ServiceAccount',
  '--endpoint-reconciler-type=none',
  '--service-cluster-ip-range=10.0.0.0/24',
  '--etcd-compaction-interval=24h',
  '--allow-privileged=true',
  '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
  '--advertise-address=10.99.0.1',
]

/** The silence after which a server is taken for settled. */
const quietMs = 1500

export interface Binaries {
  readonly apiserver: string
  readonly etcd: string
}

export interface ServerOptions extends Binaries {
  /** Flags that the server gets besides. */
  readonly extraFlags: readonly string[]
  /** The time for it to become ready. */
  readonly readyMs: number
}

export interface RecordedServer extends Sender {
  readonly etcdEndpoints: readonly string[]
  readonly etcdVersion: string
  readonly flags: readonly string[]
}

/** Refuses what cannot be started, before anything is. */
export function checkBinaries({ apiserver, etcd }: Binaries): void {
  checkExecutable('apiserver', apiserver)
  checkExecutable('etcd', etcd)
}

/** Starts both; they are stopped, and their files removed, at the end of `scope`. */
export async function startServer(
  scope: Teardown,
  options: ServerOptions,
): Promise<RecordedServer> {
  const { apiserver, etcd, extraFlags, readyMs } = options
  const etcdVersion = await versionOf('etcd', etcd)
  const { endpoints } = await startEtcd(
    scope,
    { binary: etcd, version: etcdVersion, skip: false },
    { flags: await progressFlags(etcd) },
  )
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-record-'))
  scope.teardown(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const program = new RunningProgram({
    name: 'kube-apiserver',
    binary: apiserver,
    args: [
      `--etcd-servers=${endpoints.join(',')}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'serving')}`,
      ...(await credentials(folder)),
      ...flags,
      ...extraFlags,
    ],
    log: join(folder, 'kube-apiserver.log'),
  })
  scope.teardown(() => program.stop())
  const server = { port, etcdEndpoints: endpoints, etcdVersion, flags: [...flags, ...extraFlags] }
  await program.waitUntil('ready', readyMs, async () => {
    const paths = ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system']
    const answers = await Promise.all(paths.map(path => send(server, { path })))
    return answers.every(({ status }) => status === 200)
  })
  return server
}

/** Resolves once the server has written nothing for a while: it writes its first objects after it
 *  is ready. */
export async function settled(revisionNow: () => Promise<number>): Promise<void> {
  for (let before = -1; ;) {
    const now = await revisionNow()
    if (now === before) return
    before = now
    await new Promise(resolve => setTimeout(resolve, quietMs))
  }
}

/** Keys and tokens; their flags. */
async function credentials(folder: string): Promise<string[]> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const file = (name: string): string => join(folder, name)
  await writeFile(file('accounts.key'), privateKey, { mode: 0o600 })
  await writeFile(file('accounts.pub'), publicKey)
  await writeFile(file('tokens.csv'), `${tokenLines.join('\n')}\n`, { mode: 0o600 })
  return [
    `--token-auth-file=${file('tokens.csv')}`,
    `--service-account-key-file=${file('accounts.pub')}`,
    `--service-account-signing-key-file=${file('accounts.key')}`,
  ]
}

/** kubeadm has etcd tell its progress every five seconds; the flag has had two names. */
async function progressFlags(etcd: string): Promise<string[]> {
  const { stdout, stderr } = await run(etcd, ['--help'])
  const name = /--(?:experimental-)?watch-progress-notify-interval/.exec(stdout + stderr)?.[0]
  return name === undefined ? [] : [`${name}=5s`]
}
