/** The deliveries of every `Client` on its watches. */

import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { nextRevision, revision } from '../../lib/base/revision.ts'
import { WatchRecorder } from '../support/watch/watch-recorder.ts'
import { type Define, always, put, turn, under } from './builders.ts'

export function watchTests(test: Define): void {
  test('a watch delivers each revision once, whole and in order', async (t, client) => {
    const sink = new WatchRecorder()
    const stream = client.watch({ range: under('watch/') }, sink)
    await sink.untilCreated()
    const first = await put(client, 'watch/a', '1')
    await put(client, 'other/a', 'x')
    const { header } = await client.txn(
      always(
        { type: 'delete', range: singleKey(keyFromText('watch/a')) },
        { type: 'put', key: keyFromText('watch/c'), value: Buffer.from('2') },
        { type: 'put', key: keyFromText('watch/b'), value: Buffer.from('3') },
      ),
    )
    await sink.until(({ batches }) => batches.length === 2)
    t.strictSame(
      sink.batches.map(batch => batch.revision),
      [first, header.revision],
    )
    t.strictSame(sink.changes, [
      'put watch/a 1',
      'delete watch/a',
      'put watch/c 2',
      'put watch/b 3',
    ])
    const [change] = sink.batches[1]!.changes.slice(1)
    t.match(change, { type: 'put', entry: { modRevision: header.revision, version: 1 } })
    stream.cancel()
  })

  test('a watch from an older revision begins there', async (t, client) => {
    await put(client, 'past/a', '1')
    const second = await put(client, 'past/a', '2')
    await client.txn(always({ type: 'delete', range: under('past/') }))
    const sink = new WatchRecorder()
    client.watch({ range: under('past/'), startRevision: second }, sink)
    await sink.until(({ batches }) => batches.length === 2)
    t.strictSame(sink.changes, ['put past/a 2', 'delete past/a'])
  })

  test('a watch of a single key does not see its neighbours', async (t, client) => {
    const start = await put(client, 'one', '1')
    await put(client, 'one\0', '2')
    await put(client, 'one', '3')
    const sink = new WatchRecorder()
    client.watch({ range: singleKey(keyFromText('one')), startRevision: start }, sink)
    await sink.until(({ batches }) => batches.length === 2)
    t.strictSame(sink.changes, ['put one 1', 'put one 3'])
  })

  test('many large changes arrive whole', async (t, client) => {
    const value = 'x'.repeat(400_000)
    const start = await put(client, 'large/0', value)
    for (let i = 1; i < 12; i++) {
      await client.txn(
        always(
          { type: 'put', key: keyFromText(`large/${i}a`), value: Buffer.from(value) },
          { type: 'put', key: keyFromText(`large/${i}b`), value: Buffer.from(value) },
          { type: 'put', key: keyFromText(`large/${i}c`), value: Buffer.from(value) },
        ),
      )
    }
    const sink = new WatchRecorder()
    client.watch({ range: under('large/'), startRevision: start }, sink)
    await sink.until(({ batches }) => batches.length >= 12)
    t.strictSame(
      sink.batches.map(({ changes }) => changes.length),
      [1, ...Array.from({ length: 11 }, () => 3)],
    )
    for (const { changes, revision: at } of sink.batches) {
      for (const change of changes) {
        if (change.type !== 'put') throw new Error('a delete among puts')
        t.strictSame([change.entry.modRevision, change.entry.valueLength], [at, value.length])
      }
    }
  })

  test('a transaction that deletes thousands of keys arrives as one revision, before the next', async (t, client) => {
    const name = (i: number): string => `crowd/${'x'.repeat(100)}/${String(i).padStart(4, '0')}`
    for (let i = 0; i < 3000; i += 100) {
      const puts = Array.from({ length: 100 }, (_, k) => ({
        type: 'put' as const,
        key: keyFromText(name(i + k)),
        value: Buffer.from('1'),
      }))
      await client.txn(always(...puts))
    }
    const sink = new WatchRecorder()
    const stream = client.watch({ range: under('crowd/') }, sink)
    await sink.untilCreated()
    const { header } = await client.txn(always({ type: 'delete', range: under('crowd/') }))
    const next = await put(client, 'crowd/next', '2')
    await sink.until(({ batches }) => batches.length === 2)
    t.strictSame(
      sink.batches.map(batch => batch.revision),
      [header.revision, next],
    )
    t.strictSame(sink.changes, [
      ...Array.from({ length: 3000 }, (_, i) => `delete ${name(i)}`),
      'put crowd/next 2',
    ])
    stream.cancel()
  })

  test('a progress request is answered with a revision that nothing is missing below', async (t, client) => {
    const sink = new WatchRecorder()
    const stream = client.watch({ range: under('progress/') }, sink)
    await sink.untilCreated()
    const own = await put(client, 'progress/a', '1')
    const foreign = await put(client, 'elsewhere', '1')
    await sink.until(({ batches }) => batches.length === 1)
    // etcd drops requests while a watcher of the stream is behind, so one may have to be repeated.
    while ((sink.progressed.at(-1) ?? 0) < foreign) {
      stream.requestProgress()
      const { length } = sink.progressed
      await Promise.race([sink.until(({ progressed }) => progressed.length > length), turn()])
    }
    t.equal(sink.batches[0]?.revision, own)
    t.equal(sink.progressed.at(-1), foreign)
  })

  test('a watch from a compacted revision ends with the oldest one that is left', async (t, client) => {
    const first = await put(client, 'compacted/a', '1')
    await put(client, 'compacted/a', '2')
    const third = await put(client, 'compacted/a', '3')
    await client.compact(third)
    const sink = new WatchRecorder()
    client.watch({ range: under('compacted/'), startRevision: first }, sink)
    const failure = await sink.untilEnded()
    t.strictSame([failure.code, failure.details.oldest], ['expired', third])
    const next = new WatchRecorder()
    client.watch({ range: under('compacted/'), startRevision: third }, next)
    await next.until(({ batches }) => batches.length === 1)
    t.strictSame(next.changes, ['put compacted/a 3'])
  })

  test('a watch from a future revision waits for it', async (t, client) => {
    const now = await put(client, 'ahead/a', '1')
    const sink = new WatchRecorder()
    client.watch({ range: under('ahead/'), startRevision: revision(now + 3) }, sink)
    await sink.untilCreated()
    for (const value of ['2', '3', '4']) await put(client, 'ahead/a', value)
    await sink.until(({ batches }) => batches.length === 1)
    t.strictSame(sink.changes, ['put ahead/a 4'])
  })

  test('nothing comes after a cancel', async (t, client) => {
    const start = await put(client, 'cancel/a', '1')
    const cancelled = new WatchRecorder()
    const stream = client.watch({ range: under('cancel/'), startRevision: start }, cancelled)
    await cancelled.until(({ batches }) => batches.length === 1)
    stream.cancel()
    stream.requestProgress()
    stream.cancel()
    const other = new WatchRecorder()
    client.watch({ range: under('cancel/'), startRevision: nextRevision(start) }, other)
    await put(client, 'cancel/a', '2')
    await other.until(({ batches }) => batches.length === 1)
    t.strictSame([cancelled.changes, cancelled.failures], [['put cancel/a 1'], []])
  })
}
