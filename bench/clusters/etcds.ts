/** The etcds of many clusters, each cluster below a prefix of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { keyFromText } from '../../lib/base/keys.ts'
import type { Operation } from '../../lib/etcd/client.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { freePort } from '../../test/support/program/ports.ts'
import type { Http1Client } from '../list/http1-client.ts'

export function nameOf(i: number): string {
  return `c${String(i).padStart(4, '0')}`
}

/** In a process of its own: the clusters' questions would keep this one from measuring. */
export function startOwnEtcd(port: number, more: readonly string[] = []): ChildProcess {
  const program = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
  const withParent = `--import=${new URL('../list/with-parent.js', import.meta.url).href}`
  const args = ['--listen=none', '--etcd=embedded', `--etcd-listen=127.0.0.1:${port}`, ...more]
  return spawn(process.execPath, [withParent, program, 'serve', ...args, '--log-level=error'], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

/** A real one, with its data in a folder. */
export async function startRealEtcd(
  binary: string,
  port: number,
  folder: string,
): Promise<ChildProcess> {
  const url = `http://127.0.0.1:${port}`
  const peers = `http://127.0.0.1:${await freePort()}`
  const args = [
    `--data-dir=${folder}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peers}`,
    `--initial-advertise-peer-urls=${peers}`,
    `--initial-cluster=default=${peers}`,
    '--log-level=error',
    // Whoever measures has no disk of its own.
    '--unsafe-no-fsync',
  ]
  return spawn(binary, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Waits for an etcd that starts. */
async function reached(endpoint: string): Promise<GrpcClient> {
  const client = new GrpcClient({ endpoints: [endpoint] })
  for (;;) {
    const statuses = await client.status()
    if (statuses.every(status => !('failure' in status))) return client
    await sleep(100)
  }
}

export interface FilledClusters {
  readonly clusters: number
  readonly objects: number
  /** Those that this etcd has; all if it is left out. */
  readonly isHere?: ((i: number) => boolean) | undefined
}

/** Objects of a kilobyte. */
export async function fillClusters(
  endpoint: string,
  { clusters, objects, isHere = () => true }: FilledClusters,
): Promise<void> {
  const client = await reached(endpoint)
  for (let i = 0; i < clusters; i++) {
    if (!isHere(i)) continue
    const success = Array.from({ length: objects }, (_, k): Operation => {
      const name = `map-${String(k).padStart(4, '0')}`
      const metadata = { name, namespace: 'default', uid: `${nameOf(i)}-${name}` }
      const data = { text: 'x'.repeat(1_000) }
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
      const key = keyFromText(`/${nameOf(i)}/configmaps/default/${name}`)
      return { type: 'put', key, value: Buffer.from(JSON.stringify(object)) }
    })
    for (let from = 0; from < success.length; from += 100) {
      await client.txn({ compares: [], success: success.slice(from, from + 100), failure: [] })
    }
  }
  await client.close()
}

/** A machine that does other things may refuse the first reads of a cluster for a moment. */
export async function readAtLast(client: Http1Client, path: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const { status } = await client.get(path, {})
    if (status === 200) return
    await sleep(100)
  }
  throw new Error(`${path} is not answered`)
}
