/** An etcd that refuses calls while its watch lives on: health, log and refusals say what it says,
 *  and since when. */

import t from 'tap'
import { CacheError } from '../../../../lib/base/errors.ts'
import type { LogFields } from '../../../../lib/base/logger.ts'
import type { Mirrors } from '../../../../lib/cache/mirror/mirrors.ts'
import { MirrorSet } from '../../../../lib/cache/mirror/mirror-set.ts'
import { ServiceHealth } from '../../../../lib/cache/keepers/service-health.ts'
import { createReadyFixture, read, watchOutcome } from '../../../support/mirror/mirror-builders.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { sayingLogger } from '../../../support/saying-logger.ts'
import { silentLogger } from '../../../support/silent-logger.ts'

const refused = new CacheError('unauthorized', 'etcd http://one: etcdserver: permission denied')

t.test('an etcd that refuses is named by health, log and refusals until it answers', async t => {
  const said: [string, string, LogFields | undefined][] = []
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: LogFields) => void said.push(['error', message, fields]),
    warn: (message: string, fields?: LogFields) => void said.push(['warn', message, fields]),
  }
  const fixture = await createReadyFixture({ keyspaces: [], mirror: { logger } })
  const { etcd, mirror, clock } = fixture
  const mirrors = new MirrorSet([mirror])
  const problem = (): string | undefined =>
    new ServiceHealth(mirrors).readyz.find(({ name }) => name === 'etcd')?.problem()
  await clock.advance(10_000)
  t.equal(problem(), undefined)
  const asked = etcd.ranges.length

  etcd.onRange = () => {
    throw refused
  }
  await clock.advance(1000)
  t.equal(problem(), undefined, 'a question may be lost')
  await clock.advance(9000)
  t.match(problem(), /^no answer since \d.*Z \(\d s\): etcd http:\/\/one: .*permission denied$/)
  t.equal(said.length, 1, 'said once')
  t.match(said[0], ['error', /^etcd gives no answer/, { error: refused.message, since: /Z$/ }])
  t.ok(etcd.ranges.length - asked < 50, `${etcd.ranges.length - asked} questions`)
  await clock.advance(60_000)
  t.equal(said.length, 2, 'and again after a minute')

  etcd.onRange = () => undefined
  await clock.advance(5000)
  t.equal(problem(), undefined)
  t.match(said[2], [
    'warn',
    'etcd answers again',
    { since: said[0]?.[2]?.['since'], seconds: Number },
  ])
})

t.test('a refusal has the words of etcd, and what an upstream may answer goes there', async t => {
  const { etcd, mirror, clock } = await createReadyFixture()
  etcd.onRange = () => {
    throw refused
  }
  const first = read(mirror, 'a')
  first.catch(() => undefined)
  await clock.advance(3000)
  await t.rejects(first, {
    code: 'source_failed',
    message: 'etcd has no answer within 3000 ms: etcd http://one: etcdserver: permission denied',
  })
  await clock.advance(2000)
  const passing = watchOutcome(read(mirror, 'a', { type: 'consistent' }, 'anywhere'))
  await clock.advance(0)
  t.equal(passing.now(), 'not-ready', 'at once: the upstream has credentials of its own')
  etcd.onRange = () => undefined
  await clock.advance(5000)
  const again = watchOutcome(read(mirror, 'a', { type: 'consistent' }, 'anywhere'))
  await clock.advance(0)
  t.equal(again.now(), 'at 1')
})

t.test('an etcd that is silent is named by its addresses', async t => {
  const { etcd, mirror, clock } = await createReadyFixture({ keyspaces: [] })
  Object.assign(etcd, { endpoints: ['http://one', 'http://two'] })
  etcd.range = (_, signal) =>
    new Promise((_resolve, reject) => {
      const closed = new CacheError('closed', 'the call to etcd was cancelled')
      signal?.addEventListener('abort', () => reject(closed))
    })
  await clock.advance(20_000)
  t.match(
    mirror.probe.outage.problem,
    /^no answer since \S+Z \(\d+ s\): etcd http:\/\/one, http:\/\/two did not answer in \d+ ms$/,
  )
})

t.test('it is said when everything is mirrored again, unless that was soon', async t => {
  const clock = new FakeClock()
  const { logger, said } = sayingLogger()
  let state = 'starting'
  const mirrors = { statuses: () => [{ name: 'a', state }] } as unknown as Mirrors
  const health = new ServiceHealth(mirrors, { told: { clock, logger } })
  const become = (next: string): void => {
    state = next
    health.stateChanged()
  }
  become('catching-up')
  await clock.advance(60_000)
  become('ready')
  become('cut-off')
  await clock.advance(1000)
  become('ready')
  t.strictSame(said, [], 'the start, and a moment')
  become('cut-off')
  await clock.advance(10_000)
  become('catching-up')
  await clock.advance(10_000)
  become('ready')
  t.match(said, [{ level: 'warn', text: 'everything is mirrored again', fields: { seconds: 20 } }])
  t.equal(said.length, 1)
})
