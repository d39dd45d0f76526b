import fc from 'fast-check'
import t from 'tap'
import { type Key, keyFromBytes, keyFromText, prefixRange } from '../../../../lib/base/keys.ts'
import { createRandom } from '../../../../lib/base/random.ts'
import { defaultLimits, type MirrorLimits } from '../../../../lib/cache/mirror/limits.ts'
import type { RangePage } from '../../../../lib/cache/mirror/feed/page.ts'
import { readPages } from '../../../../lib/cache/mirror/feed/pages.ts'
import { keyBetween } from '../../../../lib/cache/mirror/feed/range-parts.ts'
import type { Client, RangeRequest } from '../../../../lib/etcd/client.ts'
import { createTestEngine } from '../../../support/etcd/test-engine.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'

const limits: MirrorLimits = {
  ...defaultLimits,
  pageMinEntries: 3,
  pageMaxEntries: 7,
  partMaxEntries: 20,
}

/** A client that notes the requests to etcd, and the number of keys that it counts for each: all of
 *  the range, whatever the limit. */
function countingClient(client: Client): {
  client: Client
  asked: RangeRequest[]
  counted: number[]
} {
  const asked: RangeRequest[] = []
  const counted: number[] = []
  const counting = {
    range: async (request: RangeRequest, signal?: AbortSignal) => {
      asked.push(request)
      const answer = await client.range(request, signal)
      counted.push(answer.count)
      return answer
    },
  } as Client
  return { client: counting, asked, counted }
}

async function filled(
  t: { teardown(task: () => void): void },
  keys: Iterable<Key>,
): Promise<Client> {
  const { client } = createTestEngine(t)
  for (const key of keys) {
    await client.txn({
      compares: [],
      success: [{ type: 'put', key, value: Buffer.from('v') }],
      failure: [],
    })
  }
  return client
}

async function readAll(
  client: Client,
  partsAtOnce: number,
  some: Partial<MirrorLimits> = {},
): Promise<RangePage[]> {
  const pages: RangePage[] = []
  const options = {
    client,
    clock: systemClock,
    random: createRandom(1),
    limits: { ...limits, ...some },
    signal: new AbortController().signal,
  }
  const request = { range: prefixRange(keyFromText('/r/')), partsAtOnce, attemptsMax: 1 }
  for await (const page of readPages(options, request)) pages.push(page)
  return pages
}

/** Keys as registries have them: a few folders of very different sizes, names with long common
 *  beginnings, and any bytes. */
const keys = fc
  .array(
    fc.record({
      folder: fc.constantFrom(
        '/r/a/',
        '/r/pods/ns-1/',
        '/r/pods/ns-2/',
        '/r/pods/',
        '/r/z/zz/zzz/',
        '/r/',
      ),
      name: fc.oneof(
        fc.nat({ max: 300 }).map(n => `pod-with-a-long-name-${String(n).padStart(6, '0')}`),
        fc.string({ unit: fc.nat({ max: 255 }).map(n => String.fromCharCode(n)), maxLength: 4 }),
      ),
    }),
    { maxLength: 250 },
  )
  .map(rows => [
    ...new Set(
      rows.map(({ folder, name }) => keyFromBytes(Buffer.from(`${folder}x${name}`, 'latin1'))),
    ),
  ])

t.test('pages of parts are all entries of the range, once and in order', async t => {
  await fc.assert(
    fc.asyncProperty(keys, fc.integer({ min: 1, max: 4 }), async (keys, partsAtOnce) => {
      const client = await filled(t, keys)
      await client.txn({
        compares: [],
        success: [{ type: 'put', key: keyFromText('/s'), value: Buffer.from('not in the range') }],
        failure: [],
      })
      const pages = await readAll(client, partsAtOnce)
      const read = pages.flatMap(page => page.entries.map(entry => entry.key))
      t.strictSame(
        read,
        keys.toSorted((a, b) => (a < b ? -1 : 1)),
      )
      t.strictSame(new Set(pages.map(page => page.revision)).size, 1, 'one revision')
      let left = keys.length
      for (const page of pages) {
        left -= page.entries.length
        t.equal(page.remaining, left, 'what remains')
      }
      t.strictSame(
        pages.map(page => page.isLast),
        pages.map((_, i) => i === pages.length - 1),
      )
    }),
    { numRuns: 60 },
  )
})

t.test(
  'etcd counts a bounded number of keys for each one that is read, however many there are',
  async t => {
    const perKey: number[] = []
    for (const size of [500, 4000]) {
      const names = Array.from({ length: size }, (_, i) =>
        keyFromText(`/r/pods/ns-${i % 7}/pod-${i}`),
      )
      const { client, counted, asked } = countingClient(await filled(t, names))
      await readAll(client, 3)
      perKey.push(counted.reduce((sum, count) => sum + count, 0) / size)
      t.ok(asked.length < size * 1.5, `${asked.length} requests`)
    }
    const [few = 0, many = 0] = perKey
    // One range for all would cost eight times as much for each key when there are eight times as
    // many.
    t.ok(many < few * 2.5, `${few} and ${many} keys are counted for each one`)
  },
)

t.test('what is read ahead is bounded in bytes, and what is not taken is not read', async t => {
  const names = Array.from({ length: 600 }, (_, i) => keyFromText(`/r/pods/${i}`))
  const { client, asked } = countingClient(await filled(t, names))
  const pages = readPages(
    {
      client,
      clock: systemClock,
      random: createRandom(1),
      limits: { ...limits, readAheadMaxBytes: 200 },
      signal: new AbortController().signal,
    },
    { range: prefixRange(keyFromText('/r/')), partsAtOnce: 3, attemptsMax: 1 },
  )
  await pages.next()
  await pages.next()
  await new Promise(resolve => setTimeout(resolve, 20))
  const read = asked.filter(({ keysOnly }) => keysOnly !== true).length
  t.ok(read < 12, `${read} pages are read, of 86`)
  await pages.return()
  const before = asked.length
  await new Promise(resolve => setTimeout(resolve, 20))
  t.equal(asked.length, before, 'nothing is asked when nobody reads on')
})

t.test('a failure of any part ends the read with it', async t => {
  const names = Array.from({ length: 300 }, (_, i) => keyFromText(`/r/pods/${i}`))
  const { client } = countingClient(await filled(t, names))
  let answers = 0
  const failing = {
    range: (request: RangeRequest, signal?: AbortSignal) => {
      answers++
      if (answers === 12) return Promise.reject(new Error('etcd is gone'))
      return client.range(request, signal)
    },
  } as Client
  await t.rejects(readAll(failing, 3), /etcd is gone/)
})

t.test('a key between two others lies between them', async t => {
  const bytes = fc
    .string({ unit: fc.nat({ max: 255 }).map(n => String.fromCharCode(n)), maxLength: 12 })
    .map(text => keyFromBytes(Buffer.from(text, 'latin1')))
  fc.assert(
    fc.property(bytes, fc.option(bytes, { nil: undefined }), (start, end) => {
      if (end !== undefined && end <= start) return
      const middle = keyBetween({ start, end })
      if (middle === undefined) return
      t.ok(middle > start && (end === undefined || middle < end))
    }),
    { numRuns: 2000 },
  )
})
