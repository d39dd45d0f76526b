/** Both etcd servers, in this process, and an attacker in another one. */

import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { EtcdListen } from '../../../lib/etcd-server/listen-settings.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { createTestEngine } from '../etcd/test-engine.ts'
import { startTestReplica } from '../etcd/test-replica.ts'
import type { EtcdFlood, FloodReport } from './etcd-flood.ts'

const file = (name: string): string => `test/support/certs/${name}`

/** The name on the attacker's certificate has these rights. */
const rules: EtcdListen['rules'] = new Map([['alice', { read: [], write: ['/a'] }]])

export interface EtcdDoors {
  readonly client: Client
  /** The embedded engine, on loopback without credentials. */
  readonly engine: string
  /** A mirror of it, for certificates with limited rights. */
  readonly replica: string
}

export async function startEtcdServers(t: Test): Promise<EtcdDoors> {
  const { engine, client } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => server.close())
  const tlsFiles = {
    certFile: file('server.pem'),
    keyFile: file('server.key'),
    clientCaFile: file('ca.pem'),
  }
  const replica = await startTestReplica(t, [`http://${server.address}`], {
    listen: { tlsFiles, rules },
  })
  await replica.ready()
  return { client, engine: server.address, replica: replica.address }
}

export async function put(client: Client, key: string, bytes: number): Promise<void> {
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value: Buffer.alloc(bytes, 120) }],
    failure: [],
  })
}

export interface Attacker {
  /** The newest report. */
  readonly report: FloodReport
  /** Resolves with the first report that fulfils this. */
  until(isMet: (report: FloodReport) => boolean): Promise<FloodReport>
  /** It leaves. */
  end(): Promise<void>
}

export function attack(t: Test, order: EtcdFlood): Attacker {
  const child = fork(fileURLToPath(new URL('etcd-flood.js', import.meta.url)))
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let report: FloodReport = { bytes: 0, ended: {} }
  child.on('message', (one: FloodReport) => (report = one))
  child.send(order)
  const end = (): Promise<void> => {
    child.kill()
    return ended
  }
  t.teardown(end)
  return {
    get report() {
      return report
    },
    async until(isMet) {
      while (!isMet(report)) await new Promise(resolve => child.once('message', resolve))
      return report
    },
    end,
  }
}
