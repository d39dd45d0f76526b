import t from 'tap'
import { CacheError } from '../../../lib/base/errors.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { Client, MemberStatus } from '../../../lib/etcd/client.ts'
import { MemberVersions } from '../../../lib/cache/mirror/member-versions.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { silentLogger } from '../../support/silent-logger.ts'

t.test('versions are logged at start and when one changes, not when a member is away', async t => {
  const versions: (string | undefined)[] = ['3.5.16', '3.5.16']
  const said: unknown[] = []
  const note = (_: string, fields?: Record<string, unknown>): void => {
    said.push(fields?.['versions'])
  }
  const statusOf = (version: string | undefined, i: number): MemberStatus =>
    version === undefined
      ? { endpoint: `m${i}`, failure: new CacheError('source_failed', 'away') }
      : {
          endpoint: `m${i}`,
          header: { clusterId: 1n, memberId: 1n, raftTerm: 1n, revision: revision(1) },
          version,
          leader: 1n,
          databaseBytes: 0,
        }
  const client = { status: async () => versions.map(statusOf) } as Partial<Client> as Client
  const members = new MemberVersions({
    client,
    clock: systemClock,
    limits: { statusTimeoutMs: 1000 },
    logger: { ...silentLogger, info: note, warn: note },
    isCheckingVersions: true,
  })
  const { signal } = new AbortController()
  for (const away of [undefined, '3.5.16', '3.5.29', undefined, '3.5.29']) {
    await members.refresh(signal)
    versions[1] = away
  }
  await members.refresh(signal)
  t.strictSame(said, ['m0=3.5.16 m1=3.5.16', 'm0=3.5.16 m1=3.5.29'])
})
