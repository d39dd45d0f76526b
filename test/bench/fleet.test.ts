import t from 'tap'
import { dropBench } from '../../bench/fleet/drop.ts'
import { shardSelectors } from '../../bench/fleet/requests.ts'
import { shardsBench } from '../../bench/fleet/shards.ts'
import { streamsBench } from '../../bench/fleet/streams.ts'

t.test('the benches of fleets run', async t => {
  for (const bench of [shardsBench, dropBench, streamsBench]) {
    const { tables, floors } = await bench.run({ size: 'small', progress: () => undefined })
    t.ok(tables.length > 0, bench.name)
    t.ok(floors.every(({ value }) => !Number.isNaN(value)))
  }
})

t.test('shards are cut as client-go cuts them', async t => {
  t.strictSame(shardSelectors(3), [
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x5555555555555555')",
    "shardRange(object.metadata.uid, '0x5555555555555555', '0xaaaaaaaaaaaaaaaa')",
    "shardRange(object.metadata.uid, '0xaaaaaaaaaaaaaaaa', '0x10000000000000000')",
  ])
})
