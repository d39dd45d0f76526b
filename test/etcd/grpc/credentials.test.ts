import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { GrpcClient, type GrpcClientOptions } from '../../../lib/etcd/grpc/client.ts'
import { put, refuses, under } from '../../contract/builders.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd, findEtcdctl } from '../../support/etcd/real-etcd.ts'
import { WatchRecorder } from '../../support/watch/watch-recorder.ts'

const etcd = await findEtcd('3.5')
const oldEtcd = await findEtcd('3.4')
const etcdctl = await findEtcdctl()

const certificate = (name: string): string =>
  fileURLToPath(new URL(`../../../../test/support/certs/${name}`, import.meta.url))
const pem = (name: string): Buffer => readFileSync(certificate(name))
const server = {
  ca: certificate('ca.pem'),
  cert: certificate('server.pem'),
  key: certificate('server.key'),
}

function clientOf(
  t: { teardown: (task: () => Promise<void>) => void },
  options: GrpcClientOptions,
) {
  const client = new GrpcClient({ timeouts: { connectMs: 5000, answerMs: 5000 }, ...options })
  t.teardown(() => client.close())
  return client
}

t.test(
  'TLS needs the certificate of an authority that is trusted',
  { skip: etcd.skip },
  async t => {
    const { endpoints } = await startEtcd(t, etcd, { tls: { ...server, clientAuth: false } })
    const client = clientOf(t, { endpoints, tls: { ca: pem('ca.pem') } })
    await put(client, 'a', '1')
    const sink = new WatchRecorder()
    client.watch({ range: under('a') }, sink)
    await sink.untilCreated()
    const byName = endpoints[0]!.replace('https://127.0.0.1', 'localhost')
    t.equal(
      (
        await clientOf(t, { endpoints: [byName], tls: { ca: pem('ca.pem') } }).range({
          range: under('a'),
        })
      ).count,
      1,
    )
    for (const tls of [{ ca: pem('renewed.pem') }, {}]) {
      const stranger = clientOf(t, { endpoints, tls })
      await refuses(t, 'source_failed', stranger.range({ range: under('a') }))
      const [status] = await stranger.status()
      t.match(status, { failure: { message: /certificate/ } })
    }
    const plain = endpoints[0]!.replace('https:', 'http:')
    await refuses(
      t,
      'source_failed',
      clientOf(t, { endpoints: [plain] }).range({ range: under('a') }),
    )
  },
)

t.test('etcd may ask for a client certificate', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd, { tls: { ...server, clientAuth: true } })
  const ca = pem('ca.pem')
  const tls = { ca, cert: pem('client.pem'), key: pem('client.key') }
  const client = clientOf(t, { endpoints, tls })
  await put(client, 'a', '1')
  const sink = new WatchRecorder()
  client.watch({ range: under('a') }, sink)
  await sink.untilCreated()
  const nobody = clientOf(t, { endpoints, tls: { ca } })
  await refuses(t, 'source_failed', nobody.range({ range: under('a') }))
  const unwatched = new WatchRecorder()
  nobody.watch({ range: under('a') }, unwatched)
  t.equal((await unwatched.untilEnded()).code, 'source_failed')
})

for (const program of [etcd, oldEtcd]) {
  const skip = program.skip || etcdctl.skip
  const version = program.version.slice(0, 3)

  t.test(
    `a user of etcd ${version} gets a token, and a new one when it is refused`,
    { skip },
    async t => {
      const { endpoints } = await startEtcd(t, program)
      const control = await enableAuth(endpoints)
      const client = clientOf(t, { endpoints, user: { name: 'root', password: 'secret' } })
      await put(client, 'a', '1')

      // A changed password, even to the same, makes every token of the user void.
      await control('user', 'passwd', 'root')
      t.equal((await client.range({ range: under('a') })).count, 1)
      await control('user', 'passwd', 'root')
      await put(client, 'a', '2')
      await control('user', 'passwd', 'root')
      const sink = new WatchRecorder()
      client.watch({ range: under('a') }, sink)
      await sink.untilCreated()
      await control('user', 'passwd', 'root')
      await put(client, 'a', '3')
      await sink.until(({ batches }) => batches.length === 1)

      await control('user', 'passwd', 'root')
      const calls = Array.from({ length: 20 }, () => client.range({ range: under('a') }))
      t.strictSame(new Set((await Promise.all(calls)).map(({ count }) => count)), new Set([1]))
    },
  )

  t.test(
    `etcd ${version} refuses those whom it does not know, and what they may not see`,
    { skip },
    async t => {
      const { endpoints } = await startEtcd(t, program)
      const control = await enableAuth(endpoints)
      await control('user', 'add', 'reader')
      await control('role', 'add', 'reads')
      await control('role', 'grant-permission', 'reads', '--prefix=true', 'read', 'open/')
      await control('user', 'grant-role', 'reader', 'reads')
      const clients = {
        nobody: clientOf(t, { endpoints }),
        stranger: clientOf(t, { endpoints, user: { name: 'root', password: 'wrong' } }),
        reader: clientOf(t, { endpoints, user: { name: 'reader', password: 'secret' } }),
      }
      for (const client of Object.values(clients)) {
        await refuses(t, 'unauthorized', client.range({ range: under('hidden/') }))
        await refuses(t, 'unauthorized', put(client, 'open/a', '1'))
        const sink = new WatchRecorder()
        client.watch({ range: under('hidden/') }, sink)
        t.equal((await sink.untilEnded()).code, 'unauthorized')
      }
      t.equal((await clients.reader.range({ range: under('open/') })).count, 0)
      const sink = new WatchRecorder()
      clients.reader.watch({ range: under('open/') }, sink)
      await sink.untilCreated()
    },
  )
}

t.test(
  'a user is no hindrance where nobody is asked who they are',
  { skip: etcd.skip },
  async t => {
    const { endpoints } = await startEtcd(t, etcd)
    const client = clientOf(t, { endpoints, user: { name: 'root', password: 'secret' } })
    await put(client, 'a', '1')
    if (etcdctl.skip === false) {
      await enableAuth(endpoints)
      t.equal((await client.range({ range: under('a') })).count, 1, 'not even when that changes')
    }
  },
)

/** Makes a user `root` with the password `secret`, switches authentication on, and gives an etcdctl
 *  that acts as that user. It answers `secret` to whatever password it is asked for. */
async function enableAuth(
  endpoints: readonly string[],
): Promise<(...args: string[]) => Promise<void>> {
  const run = async (...args: string[]): Promise<void> => {
    const child = promisify(execFile)(etcdctl.binary, [
      `--endpoints=${endpoints.join(',')}`,
      ...args,
    ])
    child.child.stdin?.end('secret\nsecret\n')
    await child
  }
  await run('user', 'add', 'root', '--interactive=false')
  await run('user', 'grant-role', 'root', 'root')
  await run('auth', 'enable')
  return (...args) => {
    const asks = args[0] === 'user' && (args[1] === 'add' || args[1] === 'passwd')
    return run('--user=root:secret', ...args, ...(asks ? ['--interactive=false'] : []))
  }
}

t.test('certificates are renewed while a watch is open', { skip: etcd.skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd, { tls: { ...server, clientAuth: true } })
  const ca = pem('ca.pem')
  const own = { ca, cert: pem('client.pem'), key: pem('client.key') }
  const client = clientOf(t, { endpoints, tls: own })
  const sink = new WatchRecorder()
  client.watch({ range: under('a') }, sink)
  await sink.untilCreated()
  // Signed by an authority that etcd does not trust: new connections are refused, the open watch
  // goes on.
  client.renew({ ca, cert: pem('front-proxy.pem'), key: pem('front-proxy.key') })
  await refuses(t, 'source_failed', client.range({ range: under('a') }))
  client.renew(own)
  await put(client, 'a', '1')
  await sink.until(({ batches }) => batches.length > 0)
  t.equal((await client.range({ range: under('a') })).count, 1)
})
