/** The hash of an object's uid is looked up and tested for several watches and both sides of a
 *  change. */

import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { uidHash } from '../../../lib/kube/selectors/filter.ts'
import { shardHash } from '../../../lib/kube/selectors/shard-hash.ts'
import type { SelectableReader } from '../../../lib/codec/fields/selectable.ts'
import { builtIn, jsonEntry } from '../../support/kube/kube-builders.ts'
import { slowReader } from '../../support/kube/slow-selectable.ts'

/** A reader that counts how often it has read. */
function countingReader(): SelectableReader & { readonly reads: () => number } {
  const reader = slowReader(builtIn('pods'), [], false)
  let reads = 0
  const read: SelectableReader['read'] = value => {
    reads++
    return reader.read(value)
  }
  return { ...reader, read, reads: () => reads }
}

const pod = (name: string, uid: string, at: number): ReturnType<typeof jsonEntry> =>
  jsonEntry(`/registry/pods/a/${name}`, { metadata: { name, uid } }, at)

t.test('an object is read once for its shard, and others anew', async t => {
  const reader = countingReader()
  const first = pod('x', 'one', 1)
  for (let i = 0; i < 3; i++) t.match(uidHash(first, reader), shardHash('one'))
  t.equal(reader.reads(), 1)
  t.match(uidHash(pod('x', 'one', 1), reader), shardHash('one'))
  t.equal(reader.reads(), 1, 'an object keeps its uid for life')
  t.match(uidHash(pod('x', 'two', 2), reader), shardHash('two'), 'made again under its name')
  t.match(uidHash(pod('y', 'three', 2), reader), shardHash('three'), 'of the same revision')
  t.match(uidHash(first, reader), shardHash('one'))
  t.equal(reader.reads(), 4)
  const other = countingReader()
  t.match(uidHash(first, other), shardHash('one'))
  t.equal(other.reads(), 1, 'another reader reads for itself')
})

t.test('an object to which somebody wrote another uid has its hash', async t => {
  const reader = countingReader()
  t.match(uidHash(pod('x', 'one', 1), reader), shardHash('one'))
  const changed = Object.assign(pod('x', 'two', 2), { createRevision: 1 })
  t.match(uidHash(changed, reader), shardHash('two'))
})

t.test('what cannot be read is kept for nobody', async t => {
  const problem = new NotExact('it cannot be read')
  const reader = { ...countingReader(), read: () => problem }
  const entry = pod('x', 'one', 1)
  t.equal(uidHash(entry, reader), problem)
  t.equal(uidHash(entry, reader), problem)
})
