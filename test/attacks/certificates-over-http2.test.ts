/** Whom the streams of one connection are of: the certificate is the connection's, everything else
 *  is each stream's own, and neither outlasts who has vouched for it. */

import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { connect, createServer, type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Callers, type CallersOptions } from '../../lib/cache/http/auth/callers.ts'
import { defaultIdentityHeaders } from '../../lib/cache/http/auth/identity-headers.ts'
import { authoritiesOf } from '../../lib/cache/http/server/authorities.ts'
import { peerOf } from '../../lib/cache/http/server/peer.ts'
import { sendWhole } from '../../lib/cache/http/server/respond.ts'
import { Server } from '../../lib/cache/http/server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import {
  attribute,
  authorityUntil,
  certificateOf,
  clientKey,
  nameOf,
  pemOf,
} from '../support/attacks/certificates.ts'

const certs = 'test/support/certs'
const pem = (name: string): string => readFileSync(`${certs}/${name}`, 'utf8')
const ending = authorityUntil('21000101000000Z')
const dora = certificateOf(nameOf(attribute('CN', 'dora')), ending.signer)

/** Client certificates, with their keys. */
const shown: Readonly<Record<string, http2.SecureClientSessionOptions>> = {
  nobody: {},
  alice: { cert: pem('client.pem'), key: pem('client.key') },
  dora: { cert: pemOf(dora), key: clientKey },
  proxy: { cert: pem('front-proxy.pem'), key: pem('front-proxy.key') },
  stranger: { cert: pem('false-proxy.pem'), key: pem('false-proxy.key') },
}

interface Known {
  readonly port: number
  /** Time of the wall clock. */
  nowMs: number
  users: readonly X509Certificate[]
}

/** Answers each request with its caller, and when that ends. */
async function startServer(t: Test): Promise<Known> {
  const authorities = [pem('ca.pem'), pem('proxies-ca.pem'), pemOf(ending.certificate)]
  const proxies: ReturnType<CallersOptions['frontProxies']> = {
    authorities: authoritiesOf(pem('proxies-ca.pem')),
    allowedNames: ['front-proxy'],
    headers: defaultIdentityHeaders,
  }
  const callers = new Callers({
    clock: { ...systemClock, wallMs: () => known.nowMs },
    userAuthorities: () => known.users,
    frontProxies: () => proxies,
    passIdentity: 'headers',
  })
  const server = await Server.listen({
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: { cert: pem('server.pem'), key: pem('server.key'), ca: authorities },
    clock: systemClock,
    onFault: error => t.fail(String(error)),
    handler(one) {
      one.accept()
      const caller = callers.callerOf(one)
      const user = caller?.identity?.user ?? caller?.headers['authorization'] ?? 'nobody'
      const groups = caller?.identity?.groups ?? []
      const isRefused = one.peer.hasRefusedCertificate()
      const told = { user, groups, isRefused, expiresAtMs: caller?.expiresAtMs }
      sendWhole(one, { status: 200, headers: {} }, Buffer.from(JSON.stringify(told)))
    },
  })
  t.teardown(() => server.close())
  const users = authoritiesOf(pem('ca.pem') + pemOf(ending.certificate))
  const known: Known = { port: server.port, nowMs: systemClock.wallMs(), users }
  return known
}

interface Told {
  readonly user: string
  readonly groups: readonly string[]
  readonly isRefused: boolean
  readonly expiresAtMs?: number
}

type Ask = (headers?: http2.OutgoingHttpHeaders) => Promise<Told>

/** Opens a connection; each request of it is a stream. */
function open(t: Test, { port }: Known, name: string): Ask {
  const options = { rejectUnauthorized: false, ...shown[name] }
  const session = http2.connect(`https://127.0.0.1:${port}`, options)
  t.teardown(() => session.destroy())
  return async (headers = {}) => {
    const stream = session.request({ ':path': '/', ...headers })
    let text = ''
    for await (const piece of stream as AsyncIterable<Buffer>) text += String(piece)
    return JSON.parse(text) as Told
  }
}

const bearer = { authorization: 'Bearer a' }

t.test('a certificate goes before a token, and one of another authority is none', async t => {
  const known = await startServer(t)
  for (const [name, alone, withToken] of [
    ['alice', 'alice', 'alice'],
    ['nobody', 'nobody', 'Bearer a'],
    ['stranger', 'nobody', 'Bearer a'],
    ['proxy', 'nobody', 'Bearer a'],
  ] as const) {
    const ask = open(t, known, name)
    for (let i = 0; i < 3; i++) {
      t.match(await ask(), { user: alone, isRefused: name === 'stranger' }, name)
      t.match(await ask(bearer), { user: withToken }, `${name} with a token`)
      const claims = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' }
      const claimed = name === 'proxy' ? 'root' : alone
      t.match(await ask(claims), { user: claimed }, `${name} with headers`)
    }
  }
})

t.test('a front proxy names the user of each stream, however they cross', async t => {
  const ask = open(t, await startServer(t), 'proxy')
  const requests: readonly [http2.OutgoingHttpHeaders, string, readonly string[]][] = [
    [{ 'x-remote-user': 'a', 'x-remote-group': 'one' }, 'a', ['one']],
    [{ 'x-remote-user': 'a', 'x-remote-group': ['one', 'two'] }, 'a', ['one', 'two']],
    [{ 'x-remote-user': 'a' }, 'a', []],
    [{ 'x-remote-user': ['a', 'root'] }, 'a', []],
    [{ 'x-remote-user': ['', 'root'] }, 'nobody', []],
    [{ 'x-remote-group': 'one' }, 'nobody', []],
    [{ 'x-remote-user': 'b', ...bearer }, 'b', []],
    [bearer, 'Bearer a', []],
    [{ authorization: 'Bearer b' }, 'Bearer b', []],
    [{}, 'nobody', []],
  ]
  const all = Array.from({ length: 200 }, (_, i) => requests[(i * 7) % requests.length]!)
  const told = await Promise.all(all.map(([headers]) => ask(headers)))
  for (const [i, [headers, user, groups]] of all.entries()) {
    const isKnown = 'x-remote-user' in headers && user !== 'nobody'
    const expected = isKnown ? [...groups, 'system:authenticated'] : []
    t.strictSame([told[i]!.user, told[i]!.groups], [user, expected], JSON.stringify(headers))
  }
})

t.test('a connection is nobody’s once its certificate, or who signed it, has ended', async t => {
  const known = await startServer(t)
  const asks = { alice: open(t, known, 'alice'), dora: open(t, known, 'dora') }
  t.match(await asks.dora(), { user: 'dora', expiresAtMs: Date.parse('2100-01-01T00:00:00Z') })
  t.match(await asks.alice(), { user: 'alice' })
  known.nowMs = Date.parse('2110-01-01')
  t.match(await asks.dora(), { user: 'nobody' }, 'the authority has ended')
  t.match(await asks.dora(bearer), { user: 'Bearer a' })
  t.match(await asks.alice(), { user: 'alice' })
  known.nowMs = Date.parse('2130-01-01')
  t.match(await asks.alice(), { user: 'nobody' }, 'the certificate has ended')
  known.nowMs = systemClock.wallMs()
  t.match(await open(t, known, 'alice')(), { user: 'alice' })
  known.users = authoritiesOf(pem('proxies-ca.pem'))
  t.match(await asks.alice(), { user: 'nobody' }, 'the authority is believed no more')
})

t.test('a connection that is gone has no certificate', async t => {
  for (const name of ['alice', 'stranger']) {
    const options = { cert: pem('server.pem'), key: pem('server.key'), ca: pem('ca.pem') }
    const asks = { requestCert: true, rejectUnauthorized: false }
    const server = createServer({ ...options, ...asks })
    t.teardown(() => server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>
    const { port } = server.address() as { readonly port: number }
    const client = connect({ port, rejectUnauthorized: false, ...shown[name] })
    t.teardown(() => client.destroy())
    const [socket] = await accepted
    socket.destroy()
    t.equal(peerOf(socket).certificate(), undefined, name)
    t.equal(peerOf(socket).hasRefusedCertificate(), false, name)
  }
})
