/** The contract of every `Client`, whatever is behind it: run against the gRPC client on a real
 *  etcd, and against the engine in process. Each test keeps to a prefix of its own, so that all can
 *  share one store. */

import type { Test } from 'tap'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { nextRevision } from '../../lib/base/revision.ts'
import type { Client, Operation } from '../../lib/etcd/client.ts'
import { WatchRecorder } from '../support/watch/watch-recorder.ts'
import { type Define, always, put, refuses, under } from './builders.ts'
import { readTests, txnTests } from './client-reads.ts'
import { watchTests } from './client-watches.ts'

/** Runs the suite. `createClient` gives clients of one store; the suite closes them. */
export function clientContract(t: Test, createClient: () => Promise<Client> | Client): void {
  const test: Define = (name, run) => {
    t.test(name, async t => {
      const client = await createClient()
      t.teardown(() => client.close())
      await run(t, client)
    })
  }
  readTests(test)
  txnTests(test)
  watchTests(test)
  leaseTests(test)
  lifeTests(test, createClient)
}

function leaseTests(test: Define): void {
  test('a lease takes its keys with it, all at one revision', async (t, client) => {
    const { id, ttlSeconds } = await client.grantLease(60, 0n)
    t.ok(id > 0n)
    t.equal(ttlSeconds, 60)
    const lease = id
    await client.txn(
      always(
        { type: 'put', key: keyFromText('lease/a'), value: Buffer.from('1'), lease },
        { type: 'put', key: keyFromText('lease/b'), value: Buffer.from('2'), lease },
      ),
    )
    const { entries, header } = await client.range({ range: under('lease/') })
    t.equal(entries[0]?.lease, lease)
    t.strictSame(await client.keepLeaseAlive(id), { id, ttlSeconds: 60 })
    const sink = new WatchRecorder()
    client.watch({ range: under('lease/'), startRevision: nextRevision(header.revision) }, sink)
    await client.revokeLease(id)
    await sink.until(({ batches }) => batches.length === 1)
    t.strictSame(sink.changes.toSorted(), ['delete lease/a', 'delete lease/b'])
    await refuses(t, 'not_found', client.keepLeaseAlive(id))
    await refuses(t, 'not_found', client.revokeLease(id))
  })

  test('a lease has the id that was asked for, once', async (t, client) => {
    const id = 0x7000_0000_0000_0001n
    t.strictSame(await client.grantLease(60, id), { id, ttlSeconds: 60 })
    await refuses(t, 'conflict', client.grantLease(60, id))
    await client.revokeLease(id)
  })

  test('a put with a lease that does not exist is refused', async (t, client) => {
    const put: Operation = {
      type: 'put',
      key: keyFromText('leaseless'),
      value: Buffer.from('1'),
      lease: 12345n,
    }
    await refuses(t, 'not_found', client.txn(always(put)))
  })
}

function lifeTests(test: Define, createClient: () => Promise<Client> | Client): void {
  test('the status names every endpoint and its version', async (t, client) => {
    const now = await put(client, 'status', '1')
    const [status] = await client.status()
    if (status === undefined || 'failure' in status) throw new Error('no status')
    t.match(status.version, /^3\.\d+\.\d+/)
    t.ok(status.header.revision >= now)
    t.ok(status.leader > 0n)
    t.ok(status.databaseBytes >= 0)
  })

  test('an aborted call fails as closed', async (t, client) => {
    await put(client, 'abort', '1')
    const range = singleKey(keyFromText('abort'))
    await refuses(t, 'closed', client.range({ range }, AbortSignal.abort()))
    const controller = new AbortController()
    const call = client.range({ range }, controller.signal)
    controller.abort()
    await refuses(t, 'closed', call)
    t.equal((await client.range({ range })).count, 1)
  })

  test('a closed client ends its watches and refuses calls', async t => {
    const client = await createClient()
    const sink = new WatchRecorder()
    client.watch({ range: under('closed/') }, sink)
    await sink.untilCreated()
    await client.close()
    t.equal((await sink.untilEnded()).code, 'closed')
    await refuses(t, 'closed', client.range({ range: under('closed/') }))
    const late = new WatchRecorder()
    client.watch({ range: under('closed/') }, late)
    t.equal((await late.untilEnded()).code, 'closed')
    await client.close()
  })
}
