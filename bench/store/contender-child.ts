/** One contender in a separate process, so that its garbage collector has no objects of the other
 *  one. It runs a round for each message and sends the result back. Arguments: ours or theirs,
 *  size, changes held, rounds, batches a round. Ends with its parent. */

import type { Contender } from './contenders.ts'
import { EntryMaker, keysOf } from './contents.ts'
import { Ours, Theirs } from './contenders.ts'
import { roundsOf } from './rounds.ts'

const [who = '', ...numbers] = process.argv.slice(2)
const [size = 0, held = 0, rounds = 0, batches = 0] = numbers.map(Number)
const keys = keysOf(size, 1)
const maker = new EntryMaker()
const entries = keys.map(key => maker.entry(key, 1))
const contender: Contender =
  who === 'ours' ? new Ours(entries, held) : new Theirs(keys, entries, held)
const results = roundsOf({ keys, maker, contender, held, rounds, batches, seed: size })

process.on('message', () => {
  const { value } = results.next()
  process.send?.(value ?? 'done')
})
process.on('disconnect', () => process.exit(0))
