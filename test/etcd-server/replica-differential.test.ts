/** Every call of etcd's API, at random, on a real etcd and on another one through a replica with a
 *  mirror: all answers and events are the same, and most reads come from the mirror.
 *
 *  `SEED=7 CALLS=20000 node dist/test/etcd-server/replica-differential.test.js` runs another
 *  sequence. */

import t from 'tap'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { effort } from '../support/effort.ts'
import { Differential, startReplicaPair } from './engine/differential.ts'
import { patient } from '../support/patience.ts'

const seed = Number(process.env['SEED'] ?? 20_261_122)
const calls = Number(process.env['CALLS'] ?? 300 * effort)

const etcd = await findEtcd('3.5')
t.test('random calls get the same answers through a replica', { skip: etcd.skip }, async t => {
  t.setTimeout(patient(600_000))
  const pair = await startReplicaPair(t, etcd)
  const run = new Differential(pair, { seed, calls, withTies: true })
  await run.run()
  const [mirror, passed] = [
    pair.replica.count('Range', 'mirror'),
    pair.replica.count('Range', 'etcd'),
  ]
  t.comment(
    `etcd ${etcd.version}, seed ${seed}: ${calls} calls, ${run.events} events, ` +
      `${mirror} of ${mirror + passed} ranges from the mirror`,
  )
  while (pair.replica.count('Watch', 'mirror') < 3) await new Promise(go => setTimeout(go, 5))
  t.ok(run.events > calls / 2, 'watchers were told enough to compare')
  t.ok(mirror >= 0.6 * (mirror + passed), 'most ranges come from the mirror')
})
