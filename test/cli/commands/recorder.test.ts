import { silentLogger } from '../../support/silent-logger.ts'
import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import {
  record,
  type RecordOptions,
  type RecordReport,
} from '../../../lib/cli/commands/recordings/recorder.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { changesAt, TinyEtcd } from '../../support/etcd/tiny-etcd.ts'

interface Fixture {
  readonly etcd: TinyEtcd
  readonly clock: FakeClock
  /** Lines that were written since the last base began: `base 5: /k1 /k2`, `6: /k1 /k2`. */
  readonly lines: () => string[]
  readonly stop: () => void
  readonly done: Promise<RecordReport>
}

async function startRecording(
  etcd: TinyEtcd,
  options: Partial<RecordOptions> = {},
): Promise<Fixture> {
  const clock = new FakeClock()
  const stop = new AbortController()
  let lines: string[] = []
  const done = record({
    client: etcd,
    clock,
    random: createRandom(1),
    limits: { ...defaultLimits, pageMinEntries: 2, pageMaxEntries: 2 },
    logger: silentLogger,
    range: prefixRange(keyFromText('/')),
    createTarget: async () => {
      lines = []
      return {
        writeBase: async (at, entries) => {
          lines.push(`base ${at}: ${entries.map(({ key }) => key).join(' ')}`)
        },
        write: async ({ revision: at, changes }) => {
          const keys = changes.map(one => (one.type === 'put' ? one.entry.key : `-${one.key}`))
          lines.push(`${at}: ${keys.join(' ')}`)
        },
      }
    },
    onReport: () => {},
    signal: stop.signal,
    ...options,
  })
  done.catch(() => {})
  await clock.advance(0)
  return { etcd, clock, lines: () => lines, stop: () => stop.abort(), done }
}

t.test('a recording is what is there, and then every change until it is stopped', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/1': 'x', '/2': 'x', '/3': 'x' })
  const { lines, stop, done, clock } = await startRecording(etcd)
  etcd.lastWatch.accept()
  etcd.put({ '/1': 'y', '/4': 'y' })
  etcd.put({ '/2': undefined })
  await clock.advance(0)
  stop()
  t.same(await done, { entries: 3, changes: 3, revision: 4 })
  t.same(lines(), ['base 2: /1 /2', 'base 2: /3', '3: /1 /4', '4: -/2'])
})

t.test('a lost stream is resumed without a gap and without a repetition', async t => {
  const { etcd, lines, stop, done, clock } = await startRecording(new TinyEtcd())
  etcd.lastWatch.accept()
  etcd.put({ '/1': 'x' })
  etcd.lastWatch.fail()
  etcd.write({ '/1': 'y' })
  await clock.advance(100)
  t.equal(etcd.lastWatch.request.startRevision, 3)
  etcd.lastWatch.accept()
  etcd.put({ '/1': 'z' })
  await clock.advance(0)
  stop()
  await done
  t.same(lines(), ['base 1: ', '2: /1', '3: /1', '4: /1'])
})

t.test('a recording ends, and says so, when what was missed is compacted', async t => {
  const { etcd, lines, done, clock } = await startRecording(new TinyEtcd())
  etcd.lastWatch.accept()
  etcd.put({ '/1': 'x' })
  etcd.lastWatch.fail()
  await clock.advance(100)
  etcd.lastWatch.fail('expired')
  await t.rejects(done, { code: 'expired', message: /compacted what came after revision 2/ })
  t.same(lines(), ['base 1: ', '2: /1'])
})

t.test('a start that is compacted already is refused clearly', async t => {
  const etcd = new TinyEtcd()
  for (let i = 0; i < 5; i++) etcd.write({ '/1': `${i}` })
  etcd.compacted = 4
  const { done } = await startRecording(etcd, { revision: revision(3) })
  await t.rejects(done, { code: 'expired', message: /compacted revision 3/ })
})

t.test('a start in the past records from there', async t => {
  const etcd = new TinyEtcd()
  for (let i = 0; i < 5; i++) etcd.write({ [`/${i}`]: 'x' })
  const { lines, stop, done, clock } = await startRecording(etcd, { revision: revision(3) })
  etcd.lastWatch.accept()
  await clock.advance(0)
  stop()
  await done
  t.same(lines(), ['base 3: /0 /1', '4: /2', '5: /3', '6: /4'])
})

t.test('a base whose revision is compacted while it is read begins again', async t => {
  const etcd = new TinyEtcd()
  for (let i = 0; i < 5; i++) etcd.write({ [`/${i}`]: 'x' })
  etcd.onRange = request => {
    if (request.revision !== 6) return
    etcd.onRange = () => {}
    etcd.write({ '/5': 'x' })
    etcd.compacted = 7
  }
  const { lines, stop, done } = await startRecording(etcd)
  stop()
  await done
  t.same(lines(), ['base 7: /0 /1', 'base 7: /2 /3', 'base 7: /4 /5'])
})

t.test('a recording never goes on behind another history, or one out of order', async t => {
  const restored = await startRecording(new TinyEtcd())
  restored.etcd.lastWatch.accept()
  for (let i = 0; i < 5; i++) restored.etcd.put({ '/1': `${i}` })
  restored.etcd.restoreTo(3)
  restored.etcd.lastWatch.fail()
  await restored.clock.advance(100)
  await t.rejects(restored.done, { code: 'conflict', message: /another history.*ends at 6/ })
  const broken = await startRecording(new TinyEtcd())
  broken.etcd.lastWatch.accept()
  broken.etcd.put({ '/1': 'x' })
  broken.etcd.lastWatch.deliver([changesAt(2, { '/1': 'again' })])
  await t.rejects(broken.done, { code: 'conflict', message: /revision-repeated/ })
})

t.test('a disk that is slow stops the stream, and nothing is lost', async t => {
  const written: number[] = []
  let release = (): void => {}
  const slow = new Promise<void>(resolve => {
    release = resolve
  })
  const { etcd, stop, done, clock } = await startRecording(new TinyEtcd(), {
    createTarget: async () => ({
      writeBase: async () => {},
      write: async ({ revision: at }) => {
        await slow
        written.push(at)
      },
    }),
  })
  etcd.lastWatch.accept()
  await clock.advance(0)
  for (let i = 0; i < 21_000; i++) {
    const batch = changesAt(i + 2, { '/1': 'x' })
    etcd.append(batch)
    etcd.lastWatch.deliver([batch])
  }
  t.ok(etcd.lastWatch.isCancelled)
  await clock.advance(1000)
  t.equal(etcd.watches.length, 1, 'none is opened while the disk is behind')
  release()
  await clock.advance(1000)
  t.equal(etcd.lastWatch.request.startRevision, 20_003)
  etcd.lastWatch.accept()
  await clock.advance(100)
  stop()
  await done
  t.equal(written.length, 21_000)
})

t.test('a disk that is full ends the recording with its reason', async t => {
  const { etcd, done, clock } = await startRecording(new TinyEtcd(), {
    createTarget: async () => ({
      writeBase: async () => {},
      write: async () => {
        throw new Error('no space left')
      },
    }),
  })
  etcd.lastWatch.accept()
  etcd.put({ '/1': 'x' })
  await clock.advance(0)
  await t.rejects(done, { message: 'no space left' })
})

t.test('what a recording replaces is left alone until there is something to record', async t => {
  class Closed extends TinyEtcd {
    override range(): Promise<never> {
      return Promise.reject(new CacheError('unauthorized', 'who are you'))
    }
  }
  let targets = 0
  const { done } = await startRecording(new Closed(), {
    createTarget: async () => {
      targets++
      return { writeBase: async () => {}, write: async () => {} }
    },
  })
  await t.rejects(done, { message: 'who are you' })
  t.equal(targets, 0)
})

t.test('a recording that is stopped before its base is whole says so', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/1': 'x', '/2': 'x', '/3': 'x' })
  const stop = new AbortController()
  const ends: number[] = []
  const { done } = await startRecording(etcd, {
    createTarget: async () => ({
      writeBase: async () => {
        stop.abort()
        etcd.range = () => Promise.reject(new CacheError('closed', 'stopped'))
      },
      endBase: async at => void ends.push(at),
      write: async () => {},
    }),
    signal: stop.signal,
  })
  await t.rejects(done, {
    code: 'closed',
    message: 'stopped before the first state was whole: 2 objects of it were written',
  })
  t.strictSame(ends, [])
})
