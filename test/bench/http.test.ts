import t from 'tap'
import { httpBench } from '../../bench/http/http.ts'
import { findH2load, readLog } from '../../bench/http/runner.ts'
import { startServed } from '../support/http/served.ts'

t.test('the bench of requests runs, by our own client where it is small', async t => {
  const { tables, floors, resultHash } = await httpBench.run({
    size: 'small',
    progress: () => undefined,
  })
  const [table] = tables
  t.match(table?.title, /our own client/)
  // Five answers and whole lists, in five shapes over HTTP/2, and in those without further streams
  // over HTTP/1.1.
  t.equal(table?.rows.length, 5 * 5 + 2 + (5 * 3 + 2), 'each answer in its shapes')
  t.equal(floors.length, 4 * (table?.rows.length ?? 0), 'a rate and three tails')
  t.ok(
    floors.every(({ value }) => value > 0),
    'nothing was measured as nothing',
  )
  t.match(resultHash, /^[0-9a-f]{16}$/)
})

t.test('times are from the log, and what was not answered with 200 has none', async t => {
  const log = '1700000000000000\t200\t1500\n1700000000000010\t429\t90\n1700000000000020\t200\t250\n'
  const all = { fromMs: 1_700_000_000_000, toMs: 1_700_000_000_010 }
  t.strictSame(readLog(log, all), { timesMs: [1.5, 0.25], failed: 1 })
  t.strictSame(readLog('', all), { timesMs: [], failed: 0 })
  const later = { ...all, fromMs: 1_700_000_000_001 }
  t.strictSame(readLog(log, later), { timesMs: [1.5], failed: 0 }, 'what has ended in time')
})

const h2load = await findH2load()

t.test(
  'h2load asks in a shape, over both versions',
  { skip: h2load === undefined && 'there is no h2load' },
  async t => {
    if (h2load === undefined) return
    t.teardown(() => h2load.stop())
    const { service } = await startServed(t)
    await service.ready
    const url = `http://127.0.0.1:${service.port}`
    const cpuSeconds = async (): Promise<number> => 0
    for (const version of ['2', '1.1'] as const) {
      const shape = { clients: 2, streams: 2 }
      const paths = ['/api/v1/pods', '/no/such/path']
      const order = { url, version, paths, headers: { accept: 'application/json' }, shape }
      const { timesMs, failed } = await h2load.run({ ...order, seconds: 1, cpuSeconds })
      t.ok(timesMs.length > 0, version)
      t.ok(failed > 0, 'the other path is not 200')
    }
  },
)
