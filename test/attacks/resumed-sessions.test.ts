/** A TLS connection is who its own certificate says, at both listeners: nobody comes back as
 *  somebody by a session of before, or becomes somebody else on the way. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import * as tls from 'node:tls'
import t, { type Test } from 'tap'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { authoritiesOf } from '../../lib/cache/http/server/authorities.ts'
import { identityOfCertificate, trustedUntil } from '../../lib/cache/http/auth/certificates.ts'
import type { HttpRequest } from '../../lib/cache/http/server/http-request.ts'
import { sendWhole } from '../../lib/cache/http/server/respond.ts'
import { Server } from '../../lib/cache/http/server/server.ts'
import { readTls } from '../../lib/cache/http/server/tls.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import {
  attribute,
  certificateOf,
  clientKey,
  intermediate,
  nameOf,
  pemOf,
} from '../support/attacks/certificates.ts'

const certs = 'test/support/certs'
const pem = (name: string): Buffer => readFileSync(`${certs}/${name}`)
const versions = ['TLSv1.2', 'TLSv1.3'] as const
const files = {
  certFile: `${certs}/server.pem`,
  keyFile: `${certs}/server.key`,
  clientCaFile: `${certs}/ca.pem`,
}

/** Certificates of clients, with their keys. */
type Shown = Pick<tls.ConnectionOptions, 'cert' | 'key'>

const between = intermediate()
const deep = certificateOf(nameOf(attribute('CN', 'deep')), between.signer)
const shown: Readonly<Record<string, Shown>> = {
  nobody: {},
  alice: { cert: pem('client.pem'), key: pem('client.key') },
  deep: { cert: pemOf(deep) + pemOf(between.certificate), key: clientKey },
  stranger: { cert: pem('false-proxy.pem'), key: pem('false-proxy.key') },
}

/** Answers with the user whom the connection's certificate names. */
function whoIs({ peer }: HttpRequest): string {
  const certificate = peer.certificate()
  const authorities = authoritiesOf(pem('ca.pem').toString())
  if (certificate === undefined) return 'nobody'
  if (!trustedUntil(certificate, authorities, systemClock.wallMs())) return 'stranger'
  return identityOfCertificate(certificate)?.user ?? 'nobody'
}

interface Asked {
  readonly version: (typeof versions)[number]
  readonly name: string
  readonly session?: Buffer | undefined
}

interface Listener {
  readonly port: number
  readonly protocol: 'http/1.1' | 'h2'
}

interface Connection {
  readonly socket: tls.TLSSocket
  /** The newest session that the server has given. */
  readonly session: () => Buffer | undefined
}

async function connect(
  t: Test,
  { port, protocol }: Listener,
  { version, name, session }: Asked,
): Promise<Connection> {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion: version,
    ALPNProtocols: [protocol],
    ...shown[name],
    ...(session === undefined ? {} : { session }),
  })
  t.teardown(() => socket.destroy())
  let given: Buffer | undefined
  socket.on('session', one => (given = one))
  socket.on('error', () => undefined)
  await new Promise(resolve => socket.once('secureConnect', resolve).once('close', resolve))
  return { socket, session: () => given ?? socket.getSession() }
}

async function asked(socket: tls.TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  let text = ''
  while (!/\r\n\r\n./.test(text)) text += String((await once(socket, 'data'))[0])
  return text.split('\r\n').at(-1) ?? ''
}

/** Whether this Node tells a server the certificates between its client's and the authority's:
 *  20.20 does, 24.21 does not, so that such a client is a stranger there, and nobody else. */
async function tellsChains(t: Test): Promise<boolean> {
  const [cert, key, ca] = [pem('server.pem'), pem('server.key'), pem('ca.pem')]
  const server = tls.createServer({ cert, key, ca, requestCert: true })
  t.teardown(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const accepted = once(server, 'secureConnection') as Promise<[tls.TLSSocket]>
  const client = tls.connect({ port, rejectUnauthorized: false, ...shown['deep'] })
  t.teardown(() => client.destroy())
  const [socket] = await accepted
  const { issuerCertificate } = socket.getPeerCertificate(
    true,
  ) as Partial<tls.DetailedPeerCertificate>
  socket.destroy()
  return issuerCertificate !== undefined
}

t.test('who comes back to the API', async t => {
  const server = await Server.listen({
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: await readTls(files),
    clock: systemClock,
    onFault: error => t.fail(String(error)),
    handler: one => sendWhole(one, { status: 200, headers: {} }, Buffer.from(whoIs(one))),
  })
  t.teardown(() => server.close())
  const listener: Listener = { port: server.port, protocol: 'http/1.1' }
  const deepUser = (await tellsChains(t)) ? 'deep' : 'stranger'
  const seen: Readonly<Record<string, string>> = { ...identity, deep: deepUser, stranger: 'nobody' }
  for (const version of versions) {
    for (const first of Object.keys(shown)) {
      const before = await connect(t, listener, { version, name: first })
      t.equal(await asked(before.socket), seen[first], `${first} over ${version}`)
      for (const name of Object.keys(shown)) {
        const session = before.session()
        const again = await connect(t, listener, { version, name, session })
        t.equal(await asked(again.socket), seen[name], `${name} with the session of ${first}`)
      }
    }
  }
})

const identity = { nobody: 'nobody', alice: 'alice', deep: 'deep' }

t.test('who comes back to etcd’s API', async t => {
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    tls: await readTls(files),
    clock: systemClock,
    handle: call => call.finish({ code: 0, details: call.certificateName ?? 'nobody' }),
  })
  t.teardown(() => server.close())
  const listener: Listener = { port: Number(server.address.split(':').at(-1)), protocol: 'h2' }
  const seen: Readonly<Record<string, string>> = { ...identity, nobody: '', stranger: '' }
  for (const version of versions) {
    for (const first of Object.keys(shown)) {
      const before = await connect(t, listener, { version, name: first })
      t.equal(await called(before.socket), seen[first], `${first} over ${version}`)
      for (const name of Object.keys(shown)) {
        const session = before.session()
        const again = await connect(t, listener, { version, name, session })
        t.equal(await called(again.socket), seen[name], `${name} with the session of ${first}`)
      }
    }
  }
})

/** The name that a call is answered with; empty if the connection is refused. */
async function called(socket: tls.TLSSocket): Promise<string> {
  if (socket.destroyed) return ''
  const session = http2.connect('https://localhost', { createConnection: () => socket })
  session.on('error', () => undefined)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/x',
    'content-type': 'application/grpc',
  })
  let name = ''
  stream.on('response', headers => (name = String(headers['grpc-message'] ?? '')))
  stream.on('error', () => undefined)
  const closed = new Promise(resolve => stream.once('close', resolve))
  stream.resume()
  stream.end()
  await closed
  return name
}

t.test('nobody changes on the way: a connection has one handshake', async t => {
  const server = await Server.listen({
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: await readTls(files),
    clock: systemClock,
    onFault: error => t.fail(String(error)),
    handler: one => sendWhole(one, { status: 200, headers: {} }, Buffer.from(whoIs(one))),
  })
  t.teardown(() => server.close())
  const { socket } = await connect(
    t,
    { port: server.port, protocol: 'http/1.1' },
    { version: 'TLSv1.2', name: 'alice' },
  )
  const failure = await new Promise(resolve => {
    socket.once('error', resolve)
    socket.renegotiate({}, resolve)
  })
  t.match(failure, { message: /no renegotiation/ })
})
