/** Reads of contents that the mirror holds and does not believe, or cannot prove to be new, are
 *  answered by the upstream. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import {
  answeredHere,
  configMap,
  created,
  originOf,
  startProxied,
} from '../../support/upstream/proxied.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const objects = [[maps, configMap('a', '1')]] as const
const prefix = keyFromText('/registry/configmaps/')

/** A client with some answers changed. */
function changed(client: Client, changes: (client: Client) => Partial<Client>): Client {
  return {
    range: (...call) => client.range(...call),
    txn: (...call) => client.txn(...call),
    watch: (...call) => client.watch(...call),
    compact: (...call) => client.compact(...call),
    grantLease: (...call) => client.grantLease(...call),
    revokeLease: (...call) => client.revokeLease(...call),
    keepLeaseAlive: (...call) => client.keepLeaseAlive(...call),
    status: (...call) => client.status(...call),
    close: () => client.close(),
    ...changes(client),
  }
}

t.test(
  'a mirror that a check has found to differ is not asked until it was read again',
  async t => {
    let isBroken = false
    const seenOf = (client: Client): Client =>
      changed(client, () => ({
        async range(request, signal) {
          const answer = await client.range(request, signal)
          if (!isBroken || !request.range.start.startsWith(prefix)) return answer
          // What the check compares differs, and what would set it right cannot be read.
          if (request.keysOnly === true) return { ...answer, entries: [], count: 0, more: false }
          throw new CacheError('source_failed', 'etcd does not answer')
        },
      }))
    const limits = { ...defaultLimits, selfCheckIntervalMs: 20, selfCheckPauseMs: 1 }
    const proxied = await startProxied(t, { objects, seenOf, service: { limits } })
    const { get } = proxied
    await answeredHere(proxied, '', 'v1', 'configmaps')
    t.equal(originOf(await get(maps)), 'mirror; revision=N')
    isBroken = true
    let answer = await get(maps)
    while (originOf(answer).startsWith('mirror')) answer = await get(maps)
    t.equal(originOf(answer), 'pass; reason=suspect')
    const { items } = JSON.parse(answer.body.toString()) as { items: unknown[] }
    t.equal(items.length, 1, 'the upstream has it')
    for (const path of [`${maps}/a`, `${maps}?limit=1`, `${maps}?resourceVersion=0`]) {
      const passed = await get(path)
      t.equal(passed.status, 200)
      t.equal(originOf(passed), 'pass; reason=suspect', path)
    }
    isBroken = false
    while (!originOf(answer).startsWith('mirror')) answer = await get(maps)
    t.equal((JSON.parse(answer.body.toString()) as { items: unknown[] }).items.length, 1)
  },
)

t.test('a read that nothing proves to be new passes, and any other does not', async t => {
  const seenOf = (client: Client): Client =>
    changed(client, () => ({
      async status(signal) {
        const members = await client.status(signal)
        return members.map(one => ({ ...one, version: '3.4.23' }))
      },
    }))
  const proxied = await startProxied(t, { objects, seenOf })
  const { get, client, upstream } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await get(maps)), 'mirror; revision=N')
  // etcd moves on, and no event tells the mirror so: its progress marks cannot be believed at this
  // version.
  const put = { type: 'put', key: keyFromText('/elsewhere'), value: Buffer.from('x') } as const
  await client.txn({ compares: [], success: [put], failure: [] })
  const passed = await get(maps)
  t.equal(passed.status, 200)
  t.equal(originOf(passed), 'pass; reason=progress-untrusted')
  t.equal(originOf(await get(`${maps}?resourceVersion=0`)), 'mirror; revision=N')
  await created(upstream.port, maps, configMap('b', '2'))
  t.equal(originOf(await get(maps)), 'mirror; revision=N', 'an event is proof')
})
