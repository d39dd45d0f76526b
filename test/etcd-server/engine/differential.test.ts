/** Every call of etcd's API, at random, on a real etcd and on the engine: all answers and events
 *  are the same.
 *
 *  What is known to differ, and is left out or not reached by the generator:
 *
 *  | what                                                    | etcd                                | engine                 |
 *  | ------------------------------------------------------- | ----------------------------------- | ---------------------- |
 *  | a put and a delete of one key in one transaction, where | both are done, at one revision      | refused, as the API    |
 *  | the range end is `\0`, or the put is in an earlier       |                                     | says                   |
 *  | nested transaction                                      |                                     |                        |
 *  | the order of entries that compare as equal in a sort    | that of its Go version's sort; 3.4  | that of Go 1.20 and    |
 *  |                                                         | in Debian is built with Go 1.19     | later                  |
 *  | progress overtakes events                               | before 3.4.25 and 3.5.8             | never                  |
 *  | a watch from the compacted revision, at which a key was | the delete is lost before 3.4.36    | is told                |
 *  | deleted                                                 | and 3.5.18                          |                        |
 *  | progress while a watcher's start lies in the future     | told before 3.4.38 and 3.5.22       | not told               |
 *  | a watch from a negative revision                        | accepted before 3.4.38 and 3.5.24   | canceled               |
 *  | keys of a lease                                         | in any order                        | in order of attachment |
 *  | users and roles                                         | kept although switched off          | 'not enabled'          |
 *
 *  `SEED=7 CALLS=100000 node dist/test/etcd-server/engine/differential.test.js` runs another
 *  sequence. */

import t, { type Test } from 'tap'
import { findEtcd, type Program } from '../../support/etcd/real-etcd.ts'
import { Differential, type RunOptions, startPair } from './differential.ts'
import { effort } from '../../support/effort.ts'
import { patient } from '../../support/patience.ts'

const seed = Number(process.env['SEED'] ?? 20_261_121)

async function compare(t: Test, etcd: Program, options: Omit<RunOptions, 'seed'>): Promise<void> {
  t.setTimeout(patient(300_000))
  const run = new Differential(await startPair(t, etcd), { seed, ...options })
  await run.run()
  t.comment(`etcd ${etcd.version}, seed ${seed}: ${options.calls} calls, ${run.events} events`)
  t.ok(run.events > options.calls / 2, 'watchers were told enough to compare')
}

const etcd35 = await findEtcd('3.5')
t.test('random calls get the same answers from etcd 3.5', { skip: etcd35.skip }, t =>
  compare(t, etcd35, { calls: Number(process.env['CALLS'] ?? 600 * effort), withTies: true }),
)

const etcd34 = await findEtcd('3.4')
t.test('random calls get the same answers from etcd 3.4', { skip: etcd34.skip }, t =>
  compare(t, etcd34, { calls: Number(process.env['CALLS'] ?? 200 * effort), withTies: false }),
)
