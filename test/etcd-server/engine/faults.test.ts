import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { SimEngine } from '../../support/etcd/sim-engine.ts'
import { WatchRecorder } from '../../support/watch/watch-recorder.ts'

async function put(client: Client, value: string): Promise<string> {
  const operation = { type: 'put', key: keyFromText('a'), value: Buffer.from(value) } as const
  return client.txn({ compares: [], success: [operation], failure: [] }).then(
    () => 'done',
    (error: unknown) => (error instanceof CacheError ? error.code : String(error)),
  )
}

const faultless = { loss: 0, delay: 0, delayMaxMs: 0, disconnect: 0 }

t.test('a lost call fails, and may or may not have been done', async t => {
  const seen = new Set<string>()
  for (let seed = 0; seed < 40; seed++) {
    const sim = new SimEngine({ seed, memberCount: 1 })
    sim.network.chances = { ...faultless, loss: 1 }
    const outcome = await sim.outcome(put(sim.client(), '1'))
    seen.add(`${outcome} at ${sim.engine.revision}`)
    t.equal(sim.network.links, 0)
  }
  t.strictSame([...seen].sort(), ['done at 2', 'source_failed at 1', 'source_failed at 2'])
})

t.test(
  'a delayed message arrives when its time has come, and what follows on its link after it',
  async t => {
    const sim = new SimEngine({ memberCount: 1 })
    sim.network.chances = { ...faultless, delay: 1, delayMaxMs: 100 }
    const outcome = put(sim.client(), '1')
    await sim.run()
    t.equal(sim.engine.revision, 1)
    await sim.clock.advance(200)
    await sim.run()
    t.equal(sim.engine.revision, 2)
    await sim.clock.advance(200)
    t.equal(await sim.outcome(outcome), 'done')
  },
)

t.test('a disconnect ends streams on both sides', async t => {
  const sim = new SimEngine()
  const sink = new WatchRecorder()
  sim.client(1).watch({ range: allKeys }, sink)
  await sim.run()
  t.equal(sim.member(1).streams, 1)
  sim.network.disconnect({ member: sim.member(0) })
  await sim.run()
  t.equal(sink.failures.length, 0)
  sim.network.disconnect({ member: sim.member(1) })
  await sim.run()
  t.equal(sink.failures[0]?.code, 'source_failed')
  t.strictSame([sim.member(1).streams, sim.network.links], [0, 0])
})

t.test(
  'a member that is cut off from clients is passed over by those that know another',
  async t => {
    const sim = new SimEngine()
    sim.network.cut({ member: sim.member(0) })
    t.equal(await sim.outcome(put(sim.client(0), '1')), 'source_failed')
    const client = sim.client(0, 1)
    t.equal(await sim.outcome(put(client, '1')), 'source_failed', 'a write is not sent twice')
    t.equal(await sim.outcome(put(client, '1')), 'done', 'the next one goes elsewhere')
    const reader = sim.client(0, 1)
    t.equal((await sim.outcome(reader.range({ range: allKeys }))).count, 1, 'a read is')
    sim.network.mend()
    t.equal(await sim.outcome(put(sim.client(0), '2')), 'done')
  },
)

t.test('a silent member says nothing: calls time out, watches wait', async t => {
  const sim = new SimEngine()
  const client = sim.client(1)
  const sink = new WatchRecorder()
  client.watch({ range: allKeys }, sink)
  await sim.run()
  sim.network.silence({ member: sim.member(1) })
  const write = put(client, '1')
  await sim.outcome(put(sim.client(0), '2'))
  t.strictSame([sink.changes, sink.failures], [[], []])
  await sim.clock.advance(6000)
  t.equal(await sim.outcome(write), 'source_failed')
  t.strictSame([sink.changes, sink.failures], [[], []])
  sim.network.mend()
  await sim.run()
  t.strictSame(sink.changes, ['put a 2'])
})

t.test('progress overtakes events when it is told to, and never otherwise', async t => {
  const wrong = async (progressOvertakesEvents: boolean): Promise<number> => {
    let count = 0
    for (let seed = 0; seed < 60; seed++) {
      const sim = new SimEngine({ seed, memberCount: 1, progressOvertakesEvents })
      const sink = new WatchRecorder()
      const stream = sim.client().watch({ range: allKeys }, sink)
      await sim.run()
      const writes = ['1', '2', '3'].map(value => put(sim.client(), value))
      stream.requestProgress()
      while (sim.scheduler.step()) {
        const [progressed] = sink.progressed.slice(-1)
        const told = sink.batches.at(-1)?.revision ?? 1
        if (progressed !== undefined && progressed > told) count++
      }
      await Promise.all(writes)
    }
    return count
  }
  t.equal(await wrong(false), 0)
  t.ok((await wrong(true)) > 0)
})

t.test('the same seed gives the same run', async t => {
  const trace = async (seed: number): Promise<string> => {
    const sim = new SimEngine({ seed })
    sim.network.chances = { loss: 0.1, delay: 0.1, delayMaxMs: 50, disconnect: 0.05 }
    const sinks = [0, 1, 2].map(index => {
      const sink = new WatchRecorder()
      sim.client(index).watch({ range: allKeys }, sink)
      return sink
    })
    const outcomes: string[] = []
    for (let i = 0; i < 30; i++) {
      const write = put(sim.client(i % 3), String(i))
      await sim.run()
      await sim.clock.advance(60)
      outcomes.push(await sim.outcome(write))
    }
    return JSON.stringify([outcomes, sinks.map(sink => sink.changes), sim.engine.revision])
  }
  t.equal(await trace(5), await trace(5))
  t.not(await trace(5), await trace(6))
})
