/** Ranges that etcd streams, as the client reads them, and as the mirror begins with them. */

import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { GrpcServer } from '../../../lib/etcd-server/listen/grpc-server.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { unimplemented } from '../../../lib/etcd-server/statuses.ts'
import type { Client, RangePart, RangeRequest } from '../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { readPages } from '../../../lib/cache/mirror/feed/pages.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { createTestEngine } from '../../support/etcd/test-engine.ts'

const keysMax = 400
const range = prefixRange(keyFromText('/r/'))
const { engine, client: own } = createTestEngine(t)
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const client = new GrpcClient({ endpoints: [`http://${server.address}`] })
t.teardown(async () => {
  await client.close()
  await server.close()
})
for (let i = 0; i < keysMax; i++) {
  const key = keyFromText(`/r/${String(i).padStart(4, '0')}`)
  const success = [{ type: 'put', key, value: Buffer.alloc(3000, i) } as const]
  await own.txn({ compares: [], success, failure: [] })
}

async function collect(parts: AsyncIterable<RangePart>): Promise<RangePart[]> {
  const all: RangePart[] = []
  for await (const part of parts) all.push(part)
  return all
}

t.test('the parts of a range are all of its entries, and the last one has the header', async t => {
  const parts = await collect(client.rangeParts({ range }))
  const { entries, header } = await client.range({ range })
  t.ok(parts.length > 2)
  const shown = ({ key, modRevision, bytes, start, end }: KeyValue): unknown[] => {
    return [key, modRevision, end - start, bytes[start]]
  }
  t.strictSame(
    parts.flatMap(part => part.entries.map(shown)),
    entries.map(shown),
  )
  t.strictSame(
    parts.map(part => part.header?.revision),
    [...parts.slice(1).map(() => undefined), header.revision],
  )
})

t.test('a range that is left is cancelled, and one that is aborted fails', async t => {
  for await (const part of client.rangeParts({ range })) {
    t.ok(part.entries.length > 0)
    break
  }
  const abort = new AbortController()
  const read = async (): Promise<void> => {
    for await (const _part of client.rangeParts({ range }, abort.signal)) abort.abort()
  }
  await t.rejects(read(), { code: 'closed' })
  await t.rejects(collect(client.rangeParts({ range }, abort.signal)), { code: 'closed' })
  await t.rejects(collect(client.rangeParts({ range, revision: 9999 as never })), {
    code: 'future_revision',
  })
})

t.test('an etcd without the call says so', async t => {
  const old = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call => call.finish(unimplemented(call.path)),
  })
  const asking = new GrpcClient({ endpoints: [`http://${old.address}`] })
  t.teardown(async () => {
    await asking.close()
    await old.close()
  })
  await t.rejects(collect(asking.rangeParts({ range })), { code: 'unsupported' })
})

/** The pages of a large range by a client, and what etcd was asked for. */
async function readAll(streaming: Client): Promise<{ names: string[]; isLast: boolean[] }> {
  const limits = { ...defaultLimits, pageMinEntries: 3, pageMaxEntries: 7, partMaxEntries: 20 }
  const { signal } = new AbortController()
  const options = { client: streaming, clock: systemClock, random: createRandom(1), limits, signal }
  const pages = readPages(
    { ...options, limits: { ...limits, reconnectBackoff: { firstMs: 1, maxMs: 2 } } },
    { range, partsAtOnce: 2, attemptsMax: 4 },
  )
  const names: string[] = []
  const isLast: boolean[] = []
  let left = keysMax
  for await (const page of pages) {
    left -= page.entries.length
    t.equal(page.remaining, left, 'what remains')
    names.push(...page.entries.map(({ key }) => key))
    isLast.push(page.isLast)
  }
  return { names, isLast }
}

/** A client whose streamed ranges fail by `fail`, which is told how many parts have come. */
function failing(fail: (parts: number, stream: number) => CacheError | undefined): {
  client: Client
  asked: RangeRequest[]
  streamed: RangeRequest[]
} {
  const asked: RangeRequest[] = []
  const streamed: RangeRequest[] = []
  const streaming = {
    range: (request: RangeRequest, signal?: AbortSignal) => {
      asked.push(request)
      return client.range(request, signal)
    },
    async *rangeParts(request: RangeRequest, signal?: AbortSignal) {
      streamed.push(request)
      let parts = 0
      const failure = (): CacheError | undefined => fail(parts++, streamed.length)
      for await (const part of client.rangeParts(request, signal)) {
        const error = failure()
        if (error !== undefined) throw error
        yield part
      }
      const error = failure()
      if (error !== undefined) throw error
    },
  } as unknown as Client
  return { client: streaming, asked, streamed }
}

t.test('a mirror begins with one page and one stream', async t => {
  const whole = failing(() => undefined)
  const { names, isLast } = await readAll(whole.client)
  t.equal(new Set(names).size, keysMax)
  t.strictSame(names, names.toSorted())
  t.strictSame(isLast, [...isLast.slice(1).map(() => false), true])
  t.equal(whole.asked.length, 1)
  t.equal(whole.streamed.length, 1)
  t.equal(whole.streamed[0]?.revision, engine.members[0]?.revision, 'all at one revision')
})

t.test('a stream that breaks off is gone on with from where it was', async t => {
  const lost = new CacheError('source_failed', 'lost')
  const broken = failing((parts, stream) => (parts === stream && stream < 3 ? lost : undefined))
  const { names } = await readAll(broken.client)
  t.equal(names.length, keysMax)
  t.strictSame(names, [...new Set(names)].toSorted())
  t.equal(broken.streamed.length, 3)
})

t.test('an etcd without streams is read in pages', async t => {
  const old = failing(() => new CacheError('unsupported', 'unknown method RangeStream'))
  const { names } = await readAll(old.client)
  t.equal(names.length, keysMax)
  t.equal(old.streamed.length, 1, 'it is asked once')
  t.ok(old.asked.length > 20)
})

t.test('a stream with more or fewer keys than were counted is refused', async t => {
  for (const count of [keysMax - 1, keysMax + 1]) {
    const wrong = {
      range: async (request: RangeRequest) => ({ ...(await client.range(request)), count }),
      rangeParts: (request: RangeRequest) => client.rangeParts(request),
    } as unknown as Client
    const signal = new AbortController().signal
    const limits = { ...defaultLimits, pageMinEntries: 3, partMaxEntries: 20 }
    const quick = { ...limits, reconnectBackoff: { firstMs: 1, maxMs: 1 } }
    const options = { client: wrong, clock: systemClock, random: createRandom(1), signal }
    const pages = readPages(
      { ...options, limits: quick },
      { range, partsAtOnce: 2, attemptsMax: 2 },
    )
    const read = async (): Promise<void> => {
      for await (const page of pages) t.ok(page.entries.length > 0)
    }
    await t.rejects(read(), { code: 'source_failed', message: /than it had counted/ })
  }
})
