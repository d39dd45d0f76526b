import { copyFile, mkdtemp } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as tls from 'node:tls'
import t, { type Test } from 'tap'
import { startEmbeddedEtcd } from '../../../lib/etcd-server/embedded.ts'
import { startEtcdReplica } from '../../../lib/etcd-server/etcd-replica.ts'
import type { EtcdListen, EtcdListenFiles } from '../../../lib/etcd-server/listen-settings.ts'
import { Metrics } from '../../../lib/cache/ops/metrics.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { freePort } from '../../support/program/ports.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { moment } from '../../support/http/moment.ts'

const certs = 'test/support/certs'

type Files = EtcdListenFiles

async function ownFiles(): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-etcd-tls-'))
  const files = {
    certFile: join(folder, 'cert.pem'),
    keyFile: join(folder, 'key.pem'),
    clientCaFile: undefined,
  }
  await use('server', files)
  return files
}

async function use(name: string, { certFile, keyFile }: Files): Promise<void> {
  await copyFile(`${certs}/${name}.pem`, certFile)
  await copyFile(`${certs}/${name}.key`, keyFile)
}

async function nameOf(port: number): Promise<string> {
  const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

/** Changes the files; resolves when new connections are shown the other certificate, and fails if
 *  none ever is. */
async function renews(t: Test, port: number, files: Files, clock: FakeClock): Promise<void> {
  t.equal(await nameOf(port), 'watchglass test server')
  await use('renewed', files)
  for (let i = 0; i < 100 && (await nameOf(port)) === 'watchglass test server'; i++) {
    await clock.advance(10_000)
    await moment()
  }
  t.equal(await nameOf(port), 'watchglass renewed server')
}

async function listenWith(tlsFiles: Files): Promise<[EtcdListen, number]> {
  const port = await freePort()
  return [{ address: `127.0.0.1:${port}`, tlsFiles, prefixes: ['/registry/'] }, port]
}

t.test('the API of the embedded etcd uses a renewed certificate', async t => {
  const [files, clock] = [await ownFiles(), new FakeClock()]
  const [listen, port] = await listenWith(files)
  const etcd = await startEmbeddedEtcd({ listen, load: undefined, clock, logger: silentLogger })
  t.teardown(() => etcd.close())
  await renews(t, port, files, clock)
})

t.test("so does etcd's API from a mirror", async t => {
  const logger = silentLogger
  const embedded = await startEmbeddedEtcd({
    listen: undefined,
    load: undefined,
    clock: systemClock,
    logger,
  })
  const [files, clock] = [await ownFiles(), new FakeClock()]
  const [listen, port] = await listenWith(files)
  const client = embedded.createClient()
  const connection = { endpoints: ['http://127.0.0.1:1'] }
  let followers = 0
  const replica = await startEtcdReplica({
    listen,
    connection,
    onRenewed: () => {
      followers++
      return () => followers--
    },
    client,
    clock,
    metrics: new Metrics(),
    logger,
  })
  t.teardown(async () => {
    await client.close()
    await embedded.close()
  })
  await renews(t, port, files, clock)
  t.equal(followers, 1, 'connections to etcd are told of theirs')
  await replica.stop(0)
  t.equal(followers, 0)
})
