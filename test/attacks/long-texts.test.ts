/** Texts of a megabyte for patterns that look for their end: a pattern that begins anew at each
 *  character takes hours for them. */

import t from 'tap'
import { ruleAllows } from '../../lib/writes/rbac/policy.ts'
import { failureFromCancel } from '../../lib/etcd/grpc/failures.ts'
import { areEqualButForAges } from '../../lib/proxy/evidence/ages.ts'
import { canonicalQuantity, quantityNanos } from '../../lib/go/quantity.ts'
import { parseShardSelector } from '../../lib/kube/selectors/shard-selector.ts'

const million = 1_000_000

t.test('a quantity', async t => {
  for (const text of [
    `${'1'.repeat(million)}!`,
    `0.${'0'.repeat(million)}x`,
    '1'.repeat(million),
  ]) {
    t.equal(canonicalQuantity(text), undefined)
    t.equal(quantityNanos(text), 0n)
  }
  t.equal(canonicalQuantity('0.5'), '500m')
  t.equal(canonicalQuantity('1.'), '1.')
  t.equal(canonicalQuantity('.5Gi'), '512Mi')
})

t.test('a shard selector with blanks in it', async t => {
  t.throws(() => parseShardSelector(`a${' '.repeat(million)}b`), /invalid shard selector/)
  const range = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
  t.equal(parseShardSelector(`\u00a0\n ${range}\t\u3000`).text, range)
})

t.test('a path of a role', async t => {
  const allows = (pattern: string, path: string): boolean =>
    ruleAllows(
      {
        verbs: ['get'],
        apiGroups: [],
        resources: [],
        resourceNames: [],
        nonResourceURLs: [pattern],
      },
      { verb: 'get', path },
    )
  t.notOk(allows(`${'*'.repeat(million)}x*`, '/healthz'))
  t.ok(allows('/healthz**', '/healthz/a'))
  t.ok(allows('***', '/healthz'))
})

t.test('ages in a table of an upstream', async t => {
  const digits = '1'.repeat(million)
  t.notOk(areEqualButForAges(`${digits}x`, `${digits}y`, 60))
  t.notOk(areEqualButForAges(`5m ${digits}`, `5m ${digits}z`, 60))
  t.ok(areEqualButForAges('up 5m10s', 'up 5m12s', 60))
})

t.test('a reason of an etcd', async t => {
  const { message } = failureFromCancel(`no${' '.repeat(million)}(2026-01-01T`, 'e')
  t.match(message, /no {9}/)
})
