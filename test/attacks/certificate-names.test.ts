/** Nobody is somebody else by how a certificate writes names: several of them, kinds of strings,
 *  spaces that headers drop. Everybody is whom Go takes them for. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import { credentials } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { identityOfCertificate } from '../../lib/cache/http/auth/certificates.ts'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import {
  attribute,
  certificateOf,
  clientKey,
  der,
  nameOf,
  type NameSet,
  pemOf,
  tags,
} from '../support/attacks/certificates.ts'
import { startDoor } from '../support/attacks/door.ts'
import { RawEtcd } from '../support/etcd/raw-etcd.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'

const certs = 'test/support/certs'
const cn = (value: string | Buffer, tag?: number): Buffer => attribute('CN', value, tag)
const o = (value: string | Buffer, tag?: number): Buffer => attribute('O', value, tag)
const wide = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()
const long = 'x'.repeat(64 * 1024)

/** Subjects, and whom Go sees in them; undefined: nobody. */
const subjects: readonly [string, Buffer, readonly [string, ...string[]] | undefined][] = [
  ['one name', nameOf(cn('alice'), o('dev')), ['alice', 'dev']],
  ['of two names the last one', nameOf(cn('admin'), cn('mallory')), ['mallory']],
  ['also in one set', nameOf([cn('admin'), cn('mallory')]), ['mallory']],
  ['an empty one', nameOf(cn('admin'), cn('')), undefined],
  ['none', nameOf(o('dev')), undefined],
  ['no attribute', nameOf(), undefined],
  ['an empty set', nameOf([], cn('alice')), ['alice']],
  ['groups in order', nameOf(o('b'), cn('alice'), [o('a'), o('')]), ['alice', 'b', 'a', '']],
  ['another attribute', nameOf(cn('alice'), attribute('OU', 'admin')), ['alice']],
  [
    'commas',
    nameOf(cn('a,CN=admin\\, b\nCN=admin'), o('x+O=y')),
    ['a,CN=admin\\, b\nCN=admin', 'x+O=y'],
  ],
  ['a zero', nameOf(cn('admin\0.example')), ['admin\0.example']],
  ['a mark of byte order', nameOf(cn('\ufeffadmin')), ['\ufeffadmin']],
  ['two bytes a character', nameOf(cn(wide('\u00e4dmin'), tags.bmp)), ['\u00e4dmin']],
  ['the same with a zero', nameOf(cn(wide('admin\0'), tags.bmp)), ['admin']],
  ['half a character', nameOf(cn(Buffer.from('odd'), tags.bmp)), undefined],
  ['a surrogate', nameOf(cn(wide('\ud83d\ude00'), tags.bmp)), undefined],
  ['no character', nameOf(cn(wide('\ufdd0'), tags.bmp)), undefined],
  ['a set of characters', nameOf(cn("a'(1)+,-./:=?*&", tags.printable)), ["a'(1)+,-./:=?*&"]],
  ['one beyond it', nameOf(cn('a@b', tags.printable)), undefined],
  ['ASCII', nameOf(cn('a@b', tags.ia5)), ['a@b']],
  ['not ASCII', nameOf(cn(Buffer.from([0xe4]), tags.ia5)), undefined],
  ['digits', nameOf(cn('1 2', tags.numeric)), ['1 2']],
  ['letters as digits', nameOf(cn('1a', tags.numeric)), undefined],
  ['T.61', nameOf(cn('admin', tags.t61)), ['admin']],
  ['T.61 of which Go changed its mind', nameOf(cn(Buffer.from('\u00e4'), tags.t61)), undefined],
  ['no UTF-8', nameOf(cn(Buffer.from([0xc0, 0xaf]))), undefined],
  [
    'one that cannot be read, of another attribute',
    nameOf(cn('a'), attribute('OU', Buffer.from([0xff]))),
    undefined,
  ],
  ['no string of Go', nameOf(cn('alice'), cn('admin', tags.visible)), ['alice']],
  [
    'four bytes a character',
    nameOf(cn('alice'), cn(Buffer.from('\0\0\0a'), tags.universal)),
    ['alice'],
  ],
  [
    'a string in pieces',
    nameOf(cn('alice'), cn(der(tags.utf8, Buffer.from('admin')), 0x2c)),
    ['alice'],
  ],
  ['64 KB', nameOf(cn(long), o('dev')), [long, 'dev']],
  ['a long length', nameOf(cn('alice'), Buffer.from([0x30, 0x81, 0])), undefined],
  [
    'a type with zeros before',
    nameOf(cn('alice'), der(0x30, der(0x06, Buffer.from('55048003', 'hex')), der(0x0c))),
    undefined,
  ],
  [
    'a type that does not end',
    nameOf(
      cn('alice'),
      der(0x30, der(0x06, Buffer.from('5504', 'hex'), Buffer.from([0x83])), der(0x0c)),
    ),
    undefined,
  ],
  ['no value', nameOf(cn('alice'), der(0x30, der(0x06, Buffer.from('550403', 'hex')))), undefined],
]

t.test('a subject is read as Go reads it', async t => {
  for (const [title, subject, known] of subjects) {
    const identity = identityOfCertificate({ raw: certificateOf(subject) })
    if (known === undefined) {
      t.equal(identity, undefined, title)
    } else {
      const [user, ...groups] = known
      t.strictSame(
        identity,
        { user, uid: '', groups: [...groups, 'system:authenticated'], extra: {} },
        title,
      )
    }
  }
  const [[, plain]] = subjects as [(typeof subjects)[0]]
  const whole = certificateOf(plain)
  for (let length = 0; length < whole.length; length++) {
    const raw = Buffer.from(whole)
    raw.fill(0xff, length)
    // Whatever it says: it ends.
    identityOfCertificate({ raw })
    identityOfCertificate({ raw: whole.subarray(0, length) })
  }
  for (const name of ['client', 'server', 'renewed', 'front-proxy', 'ca']) {
    const { raw, subject } = new X509Certificate(readFileSync(`${certs}/${name}.pem`))
    const [, expected] = /^CN=(.*)$/m.exec(subject) ?? []
    t.equal(identityOfCertificate({ raw })?.user, expected, `${name}, as openssl writes it`)
  }
})

const tls = {
  ca: readFileSync(`${certs}/ca.pem`),
  key: clientKey,
  servername: 'localhost',
}
const shown = (subject: Buffer): typeof tls & { cert: string } => {
  return { ...tls, cert: pemOf(certificateOf(subject)) }
}

t.test('the upstream is told of whom Go sees', async t => {
  const door = await startDoor(t, {
    protocol: 'https',
    isUpstreamSecure: true,
    isGuarded: false,
    probe: 'none',
    args: [
      '--auth=requestheader',
      `--client-ca=${certs}/ca.pem`,
      `--requestheader-client-ca=${certs}/ca.pem`,
      '--requestheader-allowed-names=front-proxy',
      '--pass-identity=headers',
      `--front-proxy-cert=${certs}/front-proxy.pem`,
      `--front-proxy-key=${certs}/front-proxy.key`,
    ],
  })
  /** Whom the upstream sees, who answers a request with this certificate. */
  const seen = async (...sets: readonly NameSet[]): Promise<unknown[]> => {
    const headers = { 'X-Remote-User': 'root' }
    const options = {
      port: door.port,
      path: '/echo',
      headers,
      agent: false,
      ...shown(nameOf(...sets)),
    }
    const status = await new Promise((resolve, reject) => {
      const request = https.get(options, answer => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode))
      })
      request.on('error', reject)
    })
    const { rawHeaders } = door.upstream.last('/echo')!
    const valuesOf = (name: string): string[] =>
      rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name)
    return [status, ...valuesOf('x-remote-user'), ...valuesOf('x-remote-group')]
  }
  const all = 'system:authenticated'
  t.strictSame(await seen(cn('alice'), o('a'), o('b')), [200, 'alice', 'a', 'b', all])
  t.strictSame(await seen(cn('admin'), cn('mallory')), [200, 'mallory', all])
  t.strictSame(await seen([cn('admin'), cn('mallory')]), [200, 'mallory', all])
  t.strictSame(
    await seen(cn('front-proxy'), cn('mallory')),
    [200, 'mallory', all],
    'no front proxy',
  )
  t.strictSame((await seen(cn('mallory'), cn('front-proxy'))).slice(0, 2), [200, 'root'], 'one')
  t.strictSame(await seen(cn('front-proxy'), cn('')), [200], 'nobody')
  for (const name of [' admin', 'admin ', 'admin\n', 'a\0b', '\tadmin', 'a\u007f']) {
    t.strictSame(await seen(cn(name)), [200], `nobody: ${JSON.stringify(name)}`)
    t.strictSame(await seen(cn('mallory'), o(name)), [200], `no group: ${JSON.stringify(name)}`)
  }
  t.strictSame(await seen(cn('a b'), o('c d')), [200, 'a b', 'c d', all])
})

t.test('a name of an etcd replica is the one that etcd sees', async t => {
  const { engine } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => server.close())
  const rules = new Map([['alice', { read: [], write: ['/own/'] }]])
  const tlsFiles = {
    certFile: `${certs}/server.pem`,
    keyFile: `${certs}/server.key`,
    clientCaFile: `${certs}/ca.pem`,
  }
  const door = await startTestReplica(t, [`http://${server.address}`], {
    listen: { tlsFiles, rules },
  })
  await door.ready()
  const codeOf = async (...sets: readonly NameSet[]): Promise<unknown> => {
    const { ca, key, cert } = shown(nameOf(...sets))
    const as = credentials.createSsl(ca, key, Buffer.from(cert))
    const client = new RawEtcd(door.address.replace('127.0.0.1', 'localhost'), as)
    const request = { key: Buffer.from('/own/a').toString('base64') }
    const answer = await client.call('KV', 'Put', request)
    client.close()
    return 'code' in answer ? answer.code : 'done'
  }
  t.equal(await codeOf(cn('alice')), 'done')
  t.equal(await codeOf(cn('mallory'), cn('alice')), 'done')
  t.equal(await codeOf(cn('alice'), cn('mallory')), 7)
  t.equal(await codeOf(cn('alice'), cn('')), 7)
  t.equal(await codeOf(cn('alice'), cn(Buffer.from('\0\0\0a'), tags.universal)), 'done')
})

t.test('who shows a certificate has a name, which has its bounds', async t => {
  t.strictSame(await namesAt(t, nameOf(o('dev')), nameOf(cn('a'), cn('b'))), ['', 'b'])
})

/** The names that a listener of gRPC knows clients with these subjects by. */
async function namesAt(t: Test, ...all: readonly Buffer[]): Promise<(string | undefined)[]> {
  const names: (string | undefined)[] = []
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    tls: {
      ca: tls.ca,
      cert: readFileSync(`${certs}/server.pem`),
      key: readFileSync(`${certs}/server.key`),
    },
    clock: systemClock,
    handle(call) {
      names.push(call.certificateName)
      call.finish()
    },
  })
  t.teardown(() => server.close())
  for (const subject of all) {
    const session = http2.connect(`https://${server.address}`, shown(subject))
    const stream = session.request({
      ':method': 'POST',
      ':path': '/x',
      'content-type': 'application/grpc',
    })
    stream.resume()
    stream.end()
    await new Promise(resolve => stream.once('close', resolve))
    session.destroy()
  }
  return names
}
