import t from 'tap'
import { silentLogger } from '../../support/silent-logger.ts'
import { clusterOf, fill } from '../../../lib/simulator/generate/generator.ts'
import type { Client, TxnResponse } from '../../../lib/etcd/client.ts'

t.test('the first write has its connection before what follows is generated', async t => {
  const waiting: (() => void)[] = []
  let isConnected = false
  let begun = 0
  const answer = { succeeded: true, header: { revision: 2 } } as unknown as TxnResponse
  const client = {
    txn: () => {
      begun++
      if (isConnected) return Promise.resolve(answer)
      return new Promise<TxnResponse>(done => waiting.push(() => done(answer)))
    },
  } as unknown as Client
  const cluster = clusterOf({ plan: 'pods=2000', seed: 1, prefix: '/registry' })
  const progress = { show() {}, clear() {} }
  const { signal } = new AbortController()
  const filled = fill(client, cluster, { logger: silentLogger, signal, progress })
  await new Promise(setImmediate)
  t.equal(begun, 1)
  isConnected = true
  for (const finish of waiting) finish()
  await filled
  t.ok(begun > 16)
})
