import t from 'tap'
import { revision } from '../../../lib/base/revision.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import type { MemberStatus } from '../../../lib/etcd/client.ts'
import {
  areQuorumReadsSound,
  etcdVersionFromText,
  isProgressSound,
  judgeVersions,
} from '../../../lib/cache/mirror/versions.ts'

const table: readonly [text: string, progress: boolean, quorumReads: boolean][] = [
  ['3.3.27', false, false],
  ['3.4.23', false, false],
  ['3.4.30', false, false],
  ['3.4.31', true, false],
  ['3.4.41', true, false],
  ['3.4.42', true, true],
  ['3.5.0', false, false],
  ['3.5.12', false, false],
  ['3.5.13-rc.0', false, false],
  ['3.5.13', true, false],
  ['v3.5.13+k3s1', true, false],
  ['3.5.27', true, false],
  ['3.5.28', true, true],
  ['3.6.0', true, false],
  ['3.6.9', true, true],
  ['3.7.0', true, true],
  ['4.0.0', true, true],
  ['2.3.8', false, false],
]

t.test('each version is believed in exactly what it gets right', async t => {
  for (const [text, progress, quorumReads] of table) {
    const version = etcdVersionFromText(text)
    t.ok(version, text)
    t.equal(isProgressSound(version!), progress, `progress marks of ${text}`)
    t.equal(areQuorumReadsSound(version!), quorumReads, `quorum reads of ${text}`)
  }
})

t.test('what is no version is read as none', async t => {
  for (const text of ['', '3.5', 'kine', '3.5.x', '3.5.13.1']) {
    t.equal(etcdVersionFromText(text), undefined, text)
  }
})

t.test('one old or unreadable endpoint makes the marks of all unsound', async t => {
  t.equal(judgeVersions([status('a', '3.5.30'), status('b', '3.5.12')]).isProgressSound, false)
  t.equal(judgeVersions([status('a', '3.5.30'), status('b', 'unknown')]).isProgressSound, false)
  t.equal(judgeVersions([status('a', '3.5.30'), status('b', '3.5.13')]).isProgressSound, true)
  t.equal(judgeVersions([status('a', '3.5.30'), status('b', '3.5.13')]).areQuorumReadsSound, false)
})

t.test('an endpoint that does not answer proves nothing, in either direction', async t => {
  const silent: MemberStatus = { endpoint: 'b', failure: new CacheError('source_failed', 'down') }
  t.equal(judgeVersions([status('a', '3.5.30'), silent]).isProgressSound, true)
  t.equal(judgeVersions([silent]).isProgressSound, false)
  t.equal(judgeVersions([]).isProgressSound, false)
})

function status(endpoint: string, version: string): MemberStatus {
  return {
    endpoint,
    version,
    header: { clusterId: 1n, memberId: 1n, raftTerm: 2n, revision: revision(1) },
    leader: 1n,
    databaseBytes: 0,
  }
}
