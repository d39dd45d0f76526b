import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openEtcdClient } from '../../../lib/cli/commands/etcd-client.ts'
import { etcdConnection } from '../../../lib/cli/commands/plan/etcd-connection.ts'
import { load } from '../../../lib/cli/commands/command-line.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

t.test('every client of an etcd uses renewed certificates until it is closed', async t => {
  const ca = join(t.testdir({}), 'ca.pem')
  await copyFile('test/support/certs/ca.pem', ca)
  const args = ['serve', '--etcd', 'https://localhost:1', '--etcd-cacert', ca]
  const invocation = load(args, {})
  if (invocation.kind !== 'run') throw new Error('not to be run')
  const { values } = invocation
  const clock = new FakeClock()
  const said: string[] = []
  const logger = { ...silentLogger, info: (message: string): void => void said.push(message) }
  const clients = await Promise.all(
    [undefined, ['https://localhost:2']].map(endpoints =>
      openEtcdClient(etcdConnection(values, endpoints), { values, logger, clock }),
    ),
  )
  const told: unknown[] = []
  const cancels = clients.map(({ onRenewed }) => onRenewed(tls => told.push(tls.ca?.toString())))
  cancels[1]!()
  await clock.advance(10_000)
  t.strictSame(said, [])
  await copyFile('test/support/certs/renewed.pem', ca)
  await clock.advance(10_000)
  t.strictSame(said, [
    'certificates for etcd at https://localhost:1 were renewed',
    'certificates for etcd at https://localhost:2 were renewed',
  ])
  const renewed = await readFile('test/support/certs/renewed.pem', 'utf8')
  t.strictSame(told, [renewed], 'others are told of it, too, unless they have cancelled that')
  for (const client of clients) await client.close()
  t.equal(clock.pendingTimers, 0)
})
