import { readFileSync } from 'node:fs'
import { copyFile, mkdtemp, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as tls from 'node:tls'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import type { LogFields } from '../../../../lib/base/logger.ts'
import { authoritiesOf } from '../../../../lib/cache/http/server/authorities.ts'
import { followTls, readTls, type TlsFiles } from '../../../../lib/cache/http/server/tls.ts'
import { startServed } from '../../../support/http/served.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { silentLogger } from '../../../support/silent-logger.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'

const certs = 'test/support/certs'

/** Files that a test may change. */
async function ownFiles(t: Test): Promise<TlsFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-tls-'))
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await use('server', files)
  t.comment(folder)
  return files
}

async function use(name: string, { certFile, keyFile }: TlsFiles): Promise<void> {
  await replace(`${certs}/${name}.pem`, certFile)
  await replace(`${certs}/${name}.key`, keyFile)
}

/** At once, so that nobody reads half of a file. */
async function replace(source: string, file: string): Promise<void> {
  await copyFile(source, `${file}.new`)
  await rename(`${file}.new`, file)
}

async function connected(
  port: number,
  options: tls.ConnectionOptions = {},
): Promise<tls.TLSSocket> {
  const socket = tls.connect({ ...options, port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

/** Lets the clock go on until something has come of it: files are read by other threads. */
async function until(clock: FakeClock, isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await goOn(clock)
}

async function goOn(clock: FakeClock): Promise<void> {
  await clock.advance(10_000)
  await systemClock.yield()
}

t.test(
  'files that change are used once they fit together, and until then the old ones',
  async t => {
    const files = await ownFiles(t)
    const clock = new FakeClock()
    const changes: unknown[] = []
    const failures: unknown[] = []
    const warn = (_: string, fields?: LogFields): void => void failures.push(fields?.['reason'])
    const stop = followTls({
      files,
      what: 'certificates',
      current: await readTls(files),
      clock,
      logger: { ...silentLogger, warn },
      onChange: options => changes.push(options),
    })
    await clock.advance(60_000)
    t.equal(changes.length, 0, 'nothing has changed')
    // Half of a renewal: the key is still the old one.
    await replace(`${certs}/renewed.pem`, files.certFile)
    await until(clock, () => failures.length > 0)
    t.match(failures[0], /is not the key of/)
    for (let i = 0; i < 500; i++) await goOn(clock)
    t.strictSame(failures.slice(1), [], 'which is said once')
    t.equal(changes.length, 0)
    await replace(`${certs}/renewed.key`, files.keyFile)
    await until(clock, () => changes.length > 0)
    t.equal(changes.length, 1)
    await writeFile(`${files.certFile}.other`, 'nothing of the kind')
    await replace(`${files.certFile}.other`, files.certFile)
    await until(clock, () => failures.length > 1)
    t.equal(failures.length, 2)
    stop()
    t.equal(clock.pendingTimers, 0)
  },
)

t.test('a service shows a renewed certificate to new connections', async t => {
  const files = await ownFiles(t)
  // Only looks at the files are hurried.
  const clock = {
    ...systemClock,
    setTimer: (delayMs: number, task: () => void) =>
      systemClock.setTimer(delayMs === 10_000 ? 1 : delayMs, task),
  }
  const { service } = await startServed(t, {
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: files,
    clock,
  })
  const shown = async (): Promise<string> => {
    const socket = await connected(service.port)
    const { CN } = socket.getPeerCertificate().subject
    socket.destroy()
    return String(CN)
  }
  t.equal(await shown(), 'watchglass test server')
  await use('renewed', files)
  let now = await shown()
  while (now === 'watchglass test server') now = await shown()
  t.equal(now, 'watchglass renewed server')
})

t.test('AES with 128 bits is preferred, and whoever wants 256 has them', async t => {
  const { service } = await startServed(t, {
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: await ownFiles(t),
  })
  const agreed = async (options: tls.ConnectionOptions): Promise<string> => {
    const socket = await connected(service.port, options)
    const { standardName } = socket.getCipher()
    socket.destroy()
    return standardName
  }
  t.equal(await agreed({}), 'TLS_AES_128_GCM_SHA256')
  t.equal(await agreed({ ciphers: 'TLS_AES_256_GCM_SHA384' }), 'TLS_AES_256_GCM_SHA384')
  t.match(await agreed({ maxVersion: 'TLSv1.2' }), /^TLS_ECDHE_(RSA|ECDSA)_WITH_AES_128_GCM/)
})

t.test('authorities are found in one pass, whatever stands around them', async t => {
  const ca = readFileSync(`${certs}/ca.pem`, 'utf8')
  const begins = '-----BEGIN CERTIFICATE-----'.repeat(40_000)
  t.equal(authoritiesOf(begins + ca + begins).length, 1)
  t.throws(() => authoritiesOf('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'))
})
