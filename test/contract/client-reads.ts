/** The answers of every `Client` to ranges and transactions. */

import {
  keyFromBytes,
  type KeyRange,
  keyFromText,
  minKey,
  singleKey,
  textFromKey,
} from '../../lib/base/keys.ts'
import { type Revision, revision } from '../../lib/base/revision.ts'
import type { Operation, TxnRequest } from '../../lib/etcd/client.ts'
import { type Define, always, names, put, refuses, under } from './builders.ts'

export function readTests(test: Define): void {
  test('a range has its entries in key order, with where they come from', async (t, client) => {
    const first = await put(client, 'read/b', '1')
    await put(client, 'read/a', '2')
    const last = await put(client, 'read/b', '3')
    const { header, entries, more, count } = await client.range({ range: under('read/') })
    t.strictSame(
      entries.map(entry => [textFromKey(entry.key), String(Buffer.from(entry.value))]),
      [
        ['read/a', '2'],
        ['read/b', '3'],
      ],
    )
    const b = entries[1]!
    t.strictSame([b.createRevision, b.modRevision, b.version, b.lease], [first, last, 2, 0n])
    t.strictSame([header.revision, more, count], [last, false, 2])
    t.ok(header.clusterId > 0n && header.memberId > 0n && header.raftTerm > 0n)
  })

  test('a limit leaves entries out, and the count says how many there are', async (t, client) => {
    for (const name of ['a', 'b', 'c']) await put(client, `limit/${name}`, name)
    const page = await client.range({ range: under('limit/'), limit: 2 })
    t.strictSame([names(page), page.more, page.count], [['limit/a', 'limit/b'], true, 3])
    const whole = await client.range({ range: under('limit/'), limit: 3 })
    t.strictSame([names(whole).length, whole.more, whole.count], [3, false, 3])
    const count = await client.range({ range: under('limit/'), countOnly: true })
    t.strictSame([count.entries.length, count.count], [0, 3])
    const keys = await client.range({ range: under('limit/'), keysOnly: true })
    t.strictSame(
      keys.entries.map(({ valueLength }) => valueLength),
      [0, 0, 0],
    )
    t.strictSame(names(keys), ['limit/a', 'limit/b', 'limit/c'])
  })

  test('ranges of one key, of none, and without bounds', async (t, client) => {
    for (const name of ['span', 'span\0', 'span!', 'tail']) await put(client, name, 'x')
    const read = async (range: KeyRange): Promise<string[]> =>
      names(await client.range({ range })).filter(name => /^(span|tail)/.test(name))
    const span = keyFromText('span')
    t.strictSame(await read(singleKey(span)), ['span'])
    t.strictSame(await read({ start: span, end: keyFromText('span!') }), ['span', 'span\0'])
    t.strictSame(await read({ start: keyFromText('tail'), end: undefined }), ['tail'])
    t.strictSame(await read({ start: minKey, end: undefined }), ['span', 'span\0', 'span!', 'tail'])
    t.strictSame(await read({ start: minKey, end: keyFromText('tail') }), [
      'span',
      'span\0',
      'span!',
    ])
    for (const end of [minKey, keyFromText('\0'), span, keyFromText('a')]) {
      t.strictSame(await read({ start: span, end }), [])
    }
    t.strictSame(await read({ start: minKey, end: keyFromText('\0') }), [])
  })

  test('keys and values keep every byte', async (t, client) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    const key = keyFromBytes(Buffer.from(`bytes/${bytes.toString('latin1')}`, 'latin1'))
    await client.txn(always({ type: 'put', key, value: bytes }))
    const { entries } = await client.range({ range: under('bytes/') })
    t.equal(entries[0]?.key, key)
    t.ok(bytes.equals(entries[0]!.value))
  })

  test('a value without bytes, and one that is larger than a slab', async (t, client) => {
    await put(client, 'size/a', '')
    await put(client, 'size/b', 'x'.repeat(1_000_000))
    const { entries } = await client.range({ range: under('size/') })
    t.strictSame(
      entries.map(({ valueLength }) => valueLength),
      [0, 1_000_000],
    )
  })

  test('an older revision can be read, a future or compacted one cannot', async (t, client) => {
    const first = await put(client, 'old/a', '1')
    const second = await put(client, 'old/a', '2')
    const read = async (at: Revision): Promise<string> => {
      const { entries } = await client.range({ range: under('old/'), revision: at })
      return String(Buffer.from(entries[0]!.value))
    }
    t.strictSame([await read(first), await read(second)], ['1', '2'])
    await refuses(t, 'future_revision', read(revision(second + 1000)))
    await client.compact(second)
    await refuses(t, 'expired', read(first))
    t.equal(await read(second), '2')
    await refuses(t, 'expired', client.compact(first))
    await refuses(t, 'future_revision', client.compact(revision(second + 1000)))
  })

  test('a serializable read answers too', async (t, client) => {
    await put(client, 'local/a', '1')
    const { entries } = await client.range({ range: under('local/'), serializable: true })
    t.equal(entries.length, 1)
  })
}

export function txnTests(test: Define): void {
  test('a transaction above 1.5 MiB is refused', async (t, client) => {
    const values = (...sizes: number[]): TxnRequest =>
      always(
        ...sizes.map((size, i): Operation => {
          return { type: 'put', key: keyFromText(`large/${i}`), value: Buffer.alloc(size, 120) }
        }),
      )
    const mebibyte = 1024 ** 2
    for (const sizes of [[1.5 * mebibyte], [0.8 * mebibyte, 0.8 * mebibyte], [2.5 * mebibyte]]) {
      await refuses(t, 'too_large', client.txn(values(...sizes.map(Math.floor))))
    }
    t.ok((await client.txn(values(1.5 * mebibyte - 100))).succeeded)
  })

  test('all operations of a transaction happen at one revision', async (t, client) => {
    await put(client, 'txn/gone', '1')
    const range = under('txn/')
    const { header, results, succeeded } = await client.txn(
      always(
        { type: 'range', request: { range } },
        { type: 'delete', range: singleKey(keyFromText('txn/gone')) },
        { type: 'put', key: keyFromText('txn/a'), value: Buffer.from('1') },
        { type: 'put', key: keyFromText('txn/b'), value: Buffer.from('2') },
        { type: 'range', request: { range, limit: 1 } },
      ),
    )
    t.ok(succeeded)
    t.strictSame(
      results.map(result => {
        if (result.type === 'delete') return result.deleted
        return result.type === 'put' ? 'put' : names(result.response)
      }),
      [['txn/gone'], 1, 'put', 'put', ['txn/a']],
    )
    const { entries } = await client.range({ range })
    t.strictSame(
      entries.map(({ modRevision }) => modRevision),
      [header.revision, header.revision],
    )
  })

  test('compares choose between success and failure', async (t, client) => {
    const created = await put(client, 'if/a', '1')
    const modified = await put(client, 'if/a', '2')
    const key = keyFromText('if/a')
    const absent = keyFromText('if/absent')
    const rows = [
      [{ key, target: 'createRevision', result: 'equal', value: created }, true],
      [{ key, target: 'createRevision', result: 'equal', value: modified }, false],
      [{ key, target: 'modRevision', result: 'equal', value: modified }, true],
      [{ key, target: 'modRevision', result: 'not equal', value: modified }, false],
      [{ key, target: 'modRevision', result: 'less', value: modified }, false],
      [{ key, target: 'modRevision', result: 'greater', value: created }, true],
      [{ key, target: 'version', result: 'equal', value: 2 }, true],
      [{ key: absent, target: 'version', result: 'equal', value: 0 }, true],
      [{ key: absent, target: 'createRevision', result: 'greater', value: 0 }, false],
    ] as const
    for (const [compare, expected] of rows) {
      const { succeeded } = await client.txn({ compares: [compare], success: [], failure: [] })
      t.equal(succeeded, expected, `${compare.target} ${compare.result} ${compare.value}`)
    }
    const failed = await client.txn({
      compares: [{ key, target: 'version', result: 'equal', value: 7 }],
      success: [],
      failure: [{ type: 'range', request: { range: singleKey(key) } }],
    })
    t.strictSame([failed.succeeded, failed.results.length], [false, 1])
  })

  test('a transaction that puts a key twice is refused and changes nothing', async (t, client) => {
    const key = keyFromText('twice')
    const put: Operation = { type: 'put', key, value: Buffer.from('1') }
    await refuses(t, 'invalid_request', client.txn(always(put, put)))
    const { count } = await client.range({ range: singleKey(key), countOnly: true })
    t.equal(count, 0)
  })
}
