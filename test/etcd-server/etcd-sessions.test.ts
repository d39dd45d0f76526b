/** Connections over which calls pass use renewed certificates, as every other client of etcd
 *  does. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import type { Clock } from '../../lib/base/clock.ts'
import { EtcdSessions, type SessionKind } from '../../lib/etcd-server/pass/etcd-sessions.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { FakeClock } from '../support/fake-clock.ts'

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
const ca = pem('ca.pem')
const certificateOf = (name: string): { cert: Buffer; key: Buffer; ca: Buffer } => ({
  ca,
  cert: pem(`${name}.pem`),
  key: pem(`${name}.key`),
})

/** Connections with the certificate of alice to something that says whose it was shown, and repeats
 *  what it is sent. */
async function start(t: Test, clock: Clock = systemClock): Promise<EtcdSessions> {
  const etcd = http2.createSecureServer({
    ...certificateOf('server'),
    requestCert: true,
    rejectUnauthorized: true,
  })
  etcd.on('stream', stream => {
    const socket = stream.session?.socket as TLSSocket
    stream.respond({ ':status': 200, shown: String(socket.getPeerCertificate().subject.CN) })
    stream.pipe(stream)
  })
  etcd.listen(0, '127.0.0.1')
  await once(etcd, 'listening')
  const { port } = etcd.address() as AddressInfo
  const endpoints = [`https://127.0.0.1:${port}`]
  const sessions = new EtcdSessions({
    endpoints,
    tls: certificateOf('client'),
    clock,
  })
  t.teardown(async () => {
    sessions.close()
    etcd.close()
    await once(etcd, 'close')
  })
  return sessions
}

interface Call {
  readonly stream: http2.ClientHttp2Stream
  /** Whose certificate the server was shown. */
  readonly shown: unknown
}

async function call(sessions: EtcdSessions, kind: SessionKind): Promise<Call> {
  const session = sessions.ready(kind) ?? (await sessions.connect(kind))
  const stream = session.request({ ':method': 'POST', ':path': '/x.Y/Z' })
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  return { stream, shown: headers['shown'] }
}

t.test('calls after a renewal use it, and what is under way goes on', async t => {
  const sessions = await start(t)
  const [first, open] = [await call(sessions, 'calls'), await call(sessions, 'streams')]
  t.strictSame([first.shown, open.shown], ['alice', 'alice'])
  first.stream.close()
  const over = (['calls', 'streams'] as const).map(kind => once(sessions.ready(kind)!, 'close'))
  sessions.renew(certificateOf('server'))
  for (const kind of ['calls', 'streams'] as const) {
    t.equal((await call(sessions, kind)).shown, 'watchglass test server', kind)
  }
  open.stream.write('more')
  const [echo] = (await once(open.stream, 'data')) as [Buffer]
  t.equal(echo.toString(), 'more')
  open.stream.end()
  await Promise.all(over)
})

t.test('a connection that is being opened meanwhile uses it, too', async t => {
  const sessions = await start(t)
  const coming = sessions.connect('calls')
  sessions.renew(certificateOf('server'))
  await coming
  t.equal((await call(sessions, 'calls')).shown, 'watchglass test server')
})

t.test('connections with something under way close with the others', async t => {
  const sessions = await start(t)
  const { stream } = await call(sessions, 'streams')
  stream.on('error', () => undefined)
  sessions.renew(certificateOf('server'))
  const closed = once(stream, 'close')
  sessions.close()
  await closed
})

t.test('a connection that has just ended is not asked whether it is there', async t => {
  const clock = new FakeClock()
  const sessions = await start(t, clock)
  const { stream } = await call(sessions, 'calls')
  stream.on('error', () => undefined)
  const session = sessions.ready('calls')!
  const closed = once(session, 'close')
  session.destroy()
  await clock.advance(3_600_000)
  await closed
  t.equal(clock.pendingTimers, 0)
})

t.test('a connection that is being opened does not outlive the others', async t => {
  const silent = createServer(socket => socket.on('error', () => undefined).resume())
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const clock = new FakeClock()
  const sessions = new EtcdSessions({ endpoints: [`http://127.0.0.1:${port}`], clock })
  const accepted = once(silent, 'connection')
  const failed = t.rejects(sessions.connect('calls'), { code: 'source_failed' })
  await accepted
  sessions.close()
  await failed
  silent.close()
  await once(silent, 'close')
  t.equal(clock.pendingTimers, 0)
})
