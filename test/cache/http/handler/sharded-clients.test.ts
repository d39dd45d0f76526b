/** The cases of Kubernetes' own tests of shards (KEP-5866), its integration tests and the
 *  end-to-end tests of 1.38, with the texts of client-go, of those tests and of fabric8's
 *  client. */

import t, { type Test } from 'tap'
import { keyFromText, singleKey } from '../../../../lib/base/keys.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { ask, caughtUp, type Served, startServed } from '../../../support/http/served.ts'
import { told, watch } from '../../../support/watch/watch-served.ts'

const all = 1n << 64n

function range(field: string, start: bigint, end: bigint): string {
  const hex = (bound: bigint): string => `0x${bound.toString(16).padStart(16, '0')}`
  return `shardRange(object.metadata.${field}, '${hex(start)}', '${hex(end)}')`
}

/** The shards that clients cut all hashes into. */
const cuts: Readonly<Record<string, (count: number, i: number) => readonly [bigint, bigint]>> = {
  'client-go and fabric8': (count, i) => [
    (BigInt(i) * all) / BigInt(count),
    (BigInt(i + 1) * all) / BigInt(count),
  ],
  'the integration tests': (count, i) => {
    const span = all / BigInt(count)
    return [span * BigInt(i), i === count - 1 ? all : span * BigInt(i + 1)]
  },
}

function selectorOf(cut: string, field: string, count: number, i: number): string {
  return range(field, ...cuts[cut]!(count, i))
}

function hashOf(text: string): bigint {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & (all - 1n)
  }
  return hash
}

interface Item {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string }
}

interface List {
  readonly metadata: {
    readonly shardInfo?: { readonly selector: string }
    readonly continue?: string
  }
  readonly items: readonly Item[]
}

async function started(t: Test, hasShards = true): Promise<Served> {
  const served = await startServed(t, { isWritable: true, hasShards })
  await caughtUp(served, 1)
  return served
}

async function create(served: Served, path: string, object: object): Promise<Item> {
  const { status, body } = await ask(served.service.port, {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(object),
  })
  if (status !== 201) throw new Error(`${path} ${status} ${body.toString()}`)
  return JSON.parse(body.toString()) as Item
}

async function list(served: Served, path: string, query: Record<string, string>): Promise<List> {
  const parameters = new URLSearchParams(query).toString()
  const { status, body } = await ask(served.service.port, { path: `${path}?${parameters}` })
  if (status !== 200) throw new Error(`${path} ${status} ${body.toString()}`)
  return JSON.parse(body.toString()) as List
}

async function withMaps(served: Served, namespaces: readonly string[]): Promise<Item[]> {
  const items: Item[] = []
  for (const [i, namespace] of namespaces.entries()) {
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    if (namespaces.indexOf(namespace) === i) {
      await create(served, '/api/v1/namespaces', { metadata: { name: namespace } })
    }
    items.push(await create(served, path, { metadata: { name: `m${i}` } }))
  }
  return items
}

for (const cut of Object.keys(cuts)) {
  for (const field of ['uid', 'namespace'] as const) {
    t.test(`shards by ${field} as ${cut} cut them hold each object once`, async t => {
      const served = await started(t)
      const made = await withMaps(
        served,
        Array.from({ length: 20 }, (_, i) => `ns-${i % 10}`),
      )
      for (const count of [1, 2, 3, 4, 7]) {
        const found: string[] = []
        for (let i = 0; i < count; i++) {
          const selector = selectorOf(cut, field, count, i)
          const path = '/api/v1/configmaps'
          const some = await list(served, path, { shardSelector: selector })
          t.strictSame(some.metadata.shardInfo, { selector })
          const [start, end] = cuts[cut]!(count, i)
          for (const { metadata } of some.items) {
            const hash = hashOf(metadata[field] ?? '')
            t.ok(start <= hash && hash < end, `${count} ${i} ${metadata.name}`)
            found.push(metadata.uid)
          }
        }
        const ours = found.filter(uid => made.some(({ metadata }) => metadata.uid === uid))
        t.strictSame(ours.toSorted(), made.map(({ metadata }) => metadata.uid).toSorted())
      }
    })
  }
}

t.test('pages of a shard are of the shard, and each says so', async t => {
  const served = await started(t)
  const made = await withMaps(
    served,
    Array.from({ length: 24 }, () => 'pages'),
  )
  const found: string[] = []
  for (let i = 0; i < 4; i++) {
    const shardSelector = selectorOf('client-go and fabric8', 'uid', 4, i)
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = { shardSelector, limit: '3', ...(token === '' ? {} : { continue: token }) }
      const page: List = await list(served, '/api/v1/namespaces/pages/configmaps', query)
      t.strictSame(page.metadata.shardInfo, { selector: shardSelector })
      found.push(...page.items.map(({ metadata }) => metadata.uid))
      token = page.metadata.continue
    }
  }
  const uids = made.map(({ metadata }) => metadata.uid)
  t.strictSame(
    uids.filter(uid => found.filter(one => one === uid).length !== 1),
    [],
  )
})

t.test('each watcher is told of the objects of its shard, from ADDED to DELETED', async t => {
  const served = await started(t)
  await create(served, '/api/v1/namespaces', { metadata: { name: 'watched' } })
  const path = '/api/v1/namespaces/watched/configmaps'
  const streams = []
  for (let i = 0; i < 2; i++) {
    const selector = encodeURIComponent(selectorOf('client-go and fabric8', 'uid', 2, i))
    const from = 'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan'
    streams.push(await watch(t, served, `${path}?${from}&shardSelector=${selector}`))
  }
  const expected: string[][] = [[], []]
  for (let i = 0; i < 10; i++) {
    const { metadata } = await create(served, path, { metadata: { name: `w${i}` } })
    expected[hashOf(metadata.uid) < all / 2n ? 0 : 1]!.push(metadata.name)
  }
  const names = expected.map(some => [...some])
  for (const name of names.flat()) {
    const headers = { 'content-type': 'application/merge-patch+json' }
    const body = '{"metadata":{"annotations":{"updated":"true"}}}'
    await ask(served.service.port, { method: 'PATCH', path: `${path}/${name}`, headers, body })
    await ask(served.service.port, { method: 'DELETE', path: `${path}/${name}` })
  }
  for (const [i, stream] of streams.entries()) {
    const own = names[i]!
    const events = await told(stream, 3 * own.length)
    const wanted = [
      ...own.map(name => `ADDED ${name}`),
      ...own.flatMap(name => [`MODIFIED ${name}`, `DELETED ${name}`]),
    ]
    t.strictSame(
      events.map(event => event.replace(/@\d+$/, '')),
      wanted,
    )
  }
})

t.test('several ranges are one selector, as fabric8 writes them', async t => {
  const served = await started(t)
  const made = await withMaps(
    served,
    Array.from({ length: 12 }, () => 'several'),
  )
  const [first, third] = [0, 2].map(i => selectorOf('client-go and fabric8', 'uid', 4, i))
  const shardSelector = `${first} || ${third}`
  const path = '/api/v1/namespaces/several/configmaps'
  const some = await list(served, path, { shardSelector, labelSelector: '' })
  t.strictSame(some.metadata.shardInfo, { selector: shardSelector })
  const wanted = made.filter(({ metadata }) => (hashOf(metadata.uid) / (all / 4n)) % 2n === 0n)
  t.strictSame(
    some.items.map(({ metadata }) => metadata.name).toSorted(),
    wanted.map(({ metadata }) => metadata.name).toSorted(),
  )
})

t.test('a large shard is the same each time, and has the bytes of the whole list', async t => {
  const served = await startServed(t, { hasShards: true })
  for (let i = 0; i < 1_300; i++) {
    const metadata = { name: `m${i}`, namespace: 'large', uid: `uid-${i}` }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { i: String(i) } }
    const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
    if (value instanceof NotExact) throw new Error(value.reason)
    const key = keyFromText(`/registry/configmaps/large/m${i}`)
    const success = [{ type: 'put' as const, key, value }]
    await served.client.txn({ compares: [], success, failure: [] })
  }
  await caughtUp(served, 1_301)
  const path = '/api/v1/configmaps'
  const whole = await list(served, path, {})
  const shardSelector = selectorOf('client-go and fabric8', 'uid', 2, 1)
  const wanted = whole.items.filter(({ metadata }) => hashOf(metadata.uid) >= all / 2n)
  t.ok(wanted.length > 500)
  // The second time it is kept, the third time in pieces; then a part of it has changed.
  for (let i = 0; i < 3; i++) {
    const some = await list(served, path, { shardSelector })
    t.equal(JSON.stringify(some.items), JSON.stringify(wanted))
  }
  const [first] = wanted
  const key = keyFromText(`/registry/configmaps/large/${first!.metadata.name}`)
  const range = singleKey(key)
  const success = [{ type: 'delete' as const, range }]
  await served.client.txn({ compares: [], success, failure: [] })
  await caughtUp(served, 1_302)
  const rest = await list(served, path, { shardSelector })
  t.equal(JSON.stringify(rest.items), JSON.stringify(wanted.slice(1)))
})

t.test('where shards are not served the selector is ignored', async t => {
  const served = await started(t, false)
  const made = await withMaps(served, ['off', 'off'])
  const shardSelector = selectorOf('client-go and fabric8', 'uid', 2, 0)
  const some = await list(served, '/api/v1/namespaces/off/configmaps', { shardSelector })
  t.equal(some.metadata.shardInfo, undefined)
  t.ok(made.every(({ metadata }) => some.items.some(item => item.metadata.uid === metadata.uid)))
})
