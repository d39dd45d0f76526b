import t from 'tap'
import { measureIngest } from '../../bench/engine/ingest.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'

const etcd = await findEtcd('3.5')

t.test('the ingest bench runs, and reads the same twice', { skip: etcd.skip }, async t => {
  const options = { size: 'small', progress: () => undefined } as const
  const first = await measureIngest(options)
  t.equal(first.tables[0]?.rows.length, 4)
  t.equal(first.floors.length, 1)
  t.equal((await measureIngest(options)).resultHash, first.resultHash)
})
