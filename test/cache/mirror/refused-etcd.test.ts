/** A real etcd that refuses calls from some moment on, while the watch that is open lives on. */

import { execFile } from 'node:child_process'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { GrpcClient, type GrpcClientOptions } from '../../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { noMetrics } from '../../../lib/cache/mirror/metrics.ts'
import { Mirror } from '../../../lib/cache/mirror/mirror.ts'
import { systemClock, systemRandom } from '../../../lib/cache/ops/system.ts'
import { certificate } from '../../../lib/simulator/authority/certificate.ts'
import { type EtcdCluster, startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd, findEtcdctl } from '../../support/etcd/real-etcd.ts'
import { historyBounds, nameOf, RecordingSink } from '../../support/mirror/mirror-builders.ts'
import { patient } from '../../support/patience.ts'
import { silentLogger } from '../../support/silent-logger.ts'

const etcd = await findEtcd('3.5')
const etcdctl = await findEtcdctl()
const skip = etcd.skip === false ? etcdctl.skip : etcd.skip

type Run = (...words: string[]) => Promise<unknown>

function etcdctlOf(cluster: EtcdCluster): Run {
  const common = ['--endpoints', cluster.endpoints[0]!, '--user', 'root:secret']
  return (...words) => promisify(execFile)(etcdctl.binary, [...common, ...words])
}

interface Started {
  readonly client: GrpcClient
  readonly mirror: Mirror
  readonly errors: string[]
}

function startMirror(t: Test, options: GrpcClientOptions): Started {
  const client = new GrpcClient(options)
  const errors: string[] = []
  const mirror = new Mirror({
    client,
    clock: systemClock,
    random: systemRandom,
    limits: defaultLimits,
    logger: { ...silentLogger, error: (_, fields) => void errors.push(String(fields?.['error'])) },
    metrics: noMetrics,
    sink: new RecordingSink(),
    ranges: [prefixRange(keyFromText('/r/'))],
    keyspaceOf: nameOf,
  })
  mirror.add({ name: 'a', range: prefixRange(keyFromText('/r/a/')), history: historyBounds })
  mirror.start()
  t.teardown(async () => {
    await mirror.stop()
    await client.close()
  })
  return { client, mirror, errors }
}

async function until(isDone: () => boolean, what: string): Promise<void> {
  for (const deadline = Date.now() + patient(10_000); !isDone();) {
    if (Date.now() > deadline) throw new Error(`${what}: not in time`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

const isReady = (mirror: Mirror): boolean => mirror.statuses()[0]?.state === 'ready'

t.test('a role that is revoked is named, and that it was given back', { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const run = etcdctlOf(cluster)
  await run('user', 'add', 'root:secret')
  await run('user', 'grant-role', 'root', 'root')
  await run('role', 'add', 'reader')
  const grant = ['role', 'grant-permission', '--prefix=true', 'reader', 'read', '/r/']
  await run(...grant)
  await run('user', 'add', 'reader:word')
  await run('user', 'grant-role', 'reader', 'reader')
  await run('auth', 'enable')
  const user = { name: 'reader', password: 'word' }
  const { mirror, errors } = startMirror(t, { endpoints: cluster.endpoints, user })
  await until(() => isReady(mirror), 'ready')
  await run('role', 'revoke-permission', '--prefix=true', 'reader', '/r/')
  await until(() => mirror.probe.outage.problem !== undefined, 'the outage')
  t.match(mirror.probe.outage.problem, /etcd http:.*permission denied/)
  await until(() => errors.length > 0, 'the log')
  t.match(errors, [/permission denied/])
  await run(...grant)
  await until(() => mirror.probe.outage.problem === undefined && isReady(mirror), 'the end')
})

t.test('authentication that is switched on is named', { skip }, async t => {
  const cluster = await startEtcd(t, etcd)
  const run = etcdctlOf(cluster)
  await run('user', 'add', 'root:secret')
  await run('user', 'grant-role', 'root', 'root')
  const { mirror } = startMirror(t, { endpoints: cluster.endpoints })
  await until(() => isReady(mirror), 'ready')
  await run('auth', 'enable')
  await until(() => mirror.probe.outage.problem !== undefined, 'the outage')
  t.match(mirror.probe.outage.problem, /etcd http:.*user name is empty/)
  await run('auth', 'disable')
  await until(() => mirror.probe.outage.problem === undefined, 'the end')
})

const certs = 'test/support/certs'
const pem = (name: string): Buffer => readFileSync(`${certs}/${name}`)

/** A client's certificate that ends at some moment. */
function clientUntil(notAfterMs: number): { ca: Buffer; cert: Buffer; key: Buffer } {
  const authority = createPrivateKey(pem('ca.key'))
  const text = certificate({
    subject: 'watchglass',
    issuer: 'watchglass test CA',
    publicKey: createPublicKey(createPrivateKey(pem('client.key'))),
    issuerKey: createPublicKey(authority),
    signWith: authority,
    notBeforeMs: Date.now() - 60_000,
    notAfterMs,
    // For etcd it is good for everything, as it names no extended use.
    use: 'authority',
  })
  return { ca: pem('ca.pem'), cert: Buffer.from(text), key: pem('client.key') }
}

t.test('a certificate that has expired when etcd restarts is named', { skip }, async t => {
  const files = { ca: 'ca.pem', cert: 'server.pem', key: 'server.key' }
  const paths = Object.entries(files).map(([name, file]) => [name, resolve(certs, file)])
  const tls = { ...(Object.fromEntries(paths) as typeof files), clientAuth: true }
  const cluster = await startEtcd(t, etcd, { tls })
  const notAfterMs = Date.now() + patient(3000)
  const options = { endpoints: cluster.endpoints, tls: clientUntil(notAfterMs) }
  const { client, mirror, errors } = startMirror(t, options)
  await until(() => isReady(mirror), 'ready')
  // A connection outlasts its certificate.
  await until(() => Date.now() > notAfterMs + 1000, 'the end of the certificate')
  t.ok(isReady(mirror))
  const [member] = cluster.members
  await member!.kill()
  await member!.restart()
  const expired = /certificate of --etcd-cert has expired/
  await until(() => expired.test(mirror.probe.outage.problem ?? ''), 'the outage')
  await until(() => errors.some(error => expired.test(error)), 'the log')
  client.renew(clientUntil(Date.now() + 3_600_000))
  await until(() => mirror.probe.outage.problem === undefined && isReady(mirror), 'the end')
})
