/** Watches of etcd's API without number: nobody is held for them, whoever takes their responses
 *  or does not, and there is a bound. */

import t, { type Test } from 'tap'
import { attack, put, startEtcdServers } from '../support/attacks/etcd-servers.ts'
import type { EtcdBody } from '../support/attacks/etcd-bodies.ts'
import { watchBusy } from '../support/attacks/loop-busy.ts'
import { patience } from '../support/patience.ts'

const replicas = await startEtcdServers(t)
for (let i = 0; i < 200; i++) await put(replicas.client, `/a/${i}`, 10)

interface Flood {
  readonly body: EtcdBody
  readonly reads: boolean
  /** So many bytes of responses come. */
  readonly bytes: number
  readonly totalMs: number
}

const creates = { type: 'creates', count: 100_000, startRevision: 0 } as const
const floods: readonly [string, Flood][] = [
  [
    'creates whose responses nobody takes',
    { body: creates, reads: false, bytes: 0, totalMs: 3000 },
  ],
  ['creates whose responses are taken', { body: creates, reads: true, bytes: 2e6, totalMs: 3000 }],
  [
    'creates from an old revision',
    { body: { ...creates, startRevision: 1 }, reads: true, bytes: 2e6, totalMs: 3000 },
  ],
  [
    'requests for progress of many watchers',
    {
      body: { ...creates, count: 9_000, progress: 91_000 },
      reads: true,
      bytes: 3e5,
      totalMs: 3000,
    },
  ],
]

async function flooded(t: Test, replica: 'engine' | 'replica', flood: Flood): Promise<void> {
  const { body, reads } = flood
  const isSecure = replica === 'replica'
  const over = watchBusy()
  const attacker = attack(t, {
    address: replicas[replica],
    isSecure,
    connections: 1,
    streams: 1,
    body,
    reads,
  })
  await attacker.until(({ bytes }) => bytes >= flood.bytes)
  await new Promise(resolve => setTimeout(resolve, 1500))
  const during = over()
  const afterwards = watchBusy()
  await attacker.end()
  await new Promise(resolve => setTimeout(resolve, 300))
  const after = afterwards()
  t.comment(JSON.stringify({ during, after, report: attacker.report }))
  const factor = patience()
  t.ok(during.totalMs <= flood.totalMs * factor, 'it costs little')
  t.ok(Math.max(during.longestMs, after.longestMs) <= 50 * factor, 'it holds nobody')
}

for (const replica of ['engine', 'replica'] as const) {
  for (const [name, flood] of floods) {
    t.test(`${name}, at the ${replica}`, t => flooded(t, replica, flood))
  }
}
