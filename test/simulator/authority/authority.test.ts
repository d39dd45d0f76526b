/** Certificates of a cluster's own authority: openssl and Node's TLS take them. */

import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import * as tls from 'node:tls'
import t from 'tap'
import { createAuthority } from '../../../lib/simulator/authority/authority.ts'
import * as der from '../../../lib/simulator/authority/der.ts'

const names = ['localhost', 'kubernetes.default.svc', '127.0.0.1', '::1', '2001:db8::a:0:1']
const authority = createAuthority(Date.now())
const issued = authority.issue(names)

t.test('openssl verifies the chain, the purpose and the names', async t => {
  const folder = t.testdir()
  const files = { ca: join(folder, 'ca.pem'), cert: join(folder, 'cert.pem') }
  writeFileSync(files.ca, authority.cert)
  writeFileSync(files.cert, issued.cert)
  const verify = (...more: string[]): string =>
    execFileSync('openssl', ['verify', '-x509_strict', '-CAfile', files.ca, ...more, files.cert], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  t.match(verify('-purpose', 'sslserver'), /OK/)
  t.match(verify('-verify_hostname', 'kubernetes.default.svc'), /OK/)
  for (const address of ['127.0.0.1', '::1', '2001:db8::a:0:1']) {
    t.match(verify('-verify_ip', address), /OK/, address)
  }
  t.throws(() => verify('-verify_hostname', 'example.com'))
  t.throws(() => verify('-purpose', 'sslclient'))
})

t.test('Node reads what is in them', async t => {
  const [ca, cert] = [new X509Certificate(authority.cert), new X509Certificate(issued.cert)]
  t.equal(ca.ca, true)
  t.equal(ca.verify(ca.publicKey), true)
  t.equal(cert.ca, false)
  t.equal(cert.checkIssued(ca), true)
  t.equal(cert.verify(ca.publicKey), true)
  t.equal(cert.checkHost('localhost'), 'localhost')
  t.equal(cert.checkIP('127.0.0.1'), '127.0.0.1')
  t.ok(new Date(cert.validTo).getTime() > Date.now() + 300 * 24 * 3_600_000)
})

t.test('a client that knows the authority connects, and no other one', async t => {
  const server = tls.createServer({ key: issued.key, cert: issued.cert }, socket => socket.end('x'))
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = tls.connect({ host: '127.0.0.1', port, ca: authority.cert })
  await once(socket, 'secureConnect')
  t.equal(socket.authorized, true)
  socket.destroy()
  const stranger = tls.connect({ host: '127.0.0.1', port, ca: createAuthority(Date.now()).cert })
  const [error] = (await once(stranger, 'error')) as [Error]
  t.match(error.message, /certificate|signature/)
})

t.test('DER', async t => {
  t.equal(der.integer(Buffer.of(0, 0)).toString('hex'), '020100')
  t.equal(der.integer(Buffer.of(0, 0x80)).toString('hex'), '02020080')
  t.equal(der.identifier('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302')
  t.equal(der.octets(Buffer.alloc(128)).subarray(0, 3).toString('hex'), '048180')
  t.equal(der.octets(Buffer.alloc(256)).subarray(0, 4).toString('hex'), '04820100')
  t.equal(der.time(Date.UTC(2049, 11, 31)).toString('latin1', 2), '491231000000Z')
  t.equal(der.time(Date.UTC(2050, 0, 1)).toString('latin1', 2), '20500101000000Z')
})
