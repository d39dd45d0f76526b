/** Certificates that are signed for others: openssl makes the requests and verifies what comes. */

import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseRequest } from '../../../lib/go/x509/certificate-request.ts'
import { createAuthority } from '../../../lib/simulator/authority/authority.ts'
import { signerProblem } from '../../../lib/simulator/authority/signers.ts'
import {
  SigningAuthority,
  type SigningPair,
} from '../../../lib/simulator/authority/signing-authority.ts'

const minutes = 60_000

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

interface Asked {
  readonly subject: string
  readonly names?: string
  readonly key?: readonly string[]
}

const ecdsa = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

function requestFor({ subject, names, key = ecdsa }: Asked): ReturnType<typeof requestOf> {
  const more = names === undefined ? [] : ['-addext', `subjectAltName=${names}`]
  const made = ['req', '-new', '-newkey', ...key, '-nodes', '-keyout', '/dev/null']
  const pem = openssl(...made, '-subj', subject, ...more)
  return requestOf(pem)
}

function requestOf(pem: string): Exclude<ReturnType<typeof parseRequest>, string> {
  const request = parseRequest(Buffer.from(pem).toString('base64'))
  if (typeof request === 'string') throw new Error(request)
  return request
}

const clientUsages = ['digital signature', 'client auth']

t.test('openssl takes what an authority signs, of whatever key', async t => {
  const folder = t.testdir()
  const [caFile, caKey] = [join(folder, 'ca.pem'), join(folder, 'ca.key')]
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    caKey,
    '-out',
    caFile,
    '-subj',
    '/O=Somebody/CN=their CA',
    '-days',
    '30',
    '-addext',
    'keyUsage=critical,keyCertSign',
  )
  const ofOthers = { cert: openssl('x509', '-in', caFile), key: openssl('rsa', '-in', caKey) }
  const nowMs = Date.now()
  const keys: readonly (readonly string[])[] = [ecdsa, ['rsa:2048'], ['ed25519']]
  for (const pair of [createAuthority(nowMs), ofOthers] satisfies SigningPair[]) {
    const authority = new SigningAuthority(pair)
    for (const key of keys) {
      const request = requestFor({ subject: '/O=dev/O=ops/CN=ann', key })
      const order = { request, usages: clientUsages, expirationSeconds: 3600, nowMs }
      const signed = String(authority.sign(order))
      const files = { ca: join(folder, 'ca'), cert: join(folder, 'cert') }
      writeFileSync(files.ca, pair.cert)
      writeFileSync(files.cert, signed)
      const purpose = ['-x509_strict', '-purpose', 'sslclient']
      t.match(openssl('verify', ...purpose, '-CAfile', files.ca, files.cert), /OK/, String(key))
      const { subject, validTo } = new X509Certificate(signed)
      t.equal(subject, 'O=dev\nO=ops\nCN=ann')
      t.equal(Date.parse(validTo), Math.floor((nowMs + 60 * minutes) / 1000) * 1000)
    }
  }
})

t.test('a certificate has the names that were asked for, and ends with its authority', async t => {
  const nowMs = Date.now()
  const authority = new SigningAuthority(createAuthority(nowMs - 364 * 24 * 60 * minutes))
  const request = requestFor({
    subject: '/O=system:nodes/CN=system:node:a',
    names: 'IP:10.0.0.1,DNS:a.example',
  })
  const usages = ['digital signature', 'key encipherment', 'server auth']
  const order = { request, usages, expirationSeconds: undefined, nowMs }
  const certificate = new X509Certificate(String(authority.sign(order)))
  t.equal(certificate.subjectAltName, 'DNS:a.example, IP Address:10.0.0.1')
  t.ok(Date.parse(certificate.validTo) <= nowMs + 24 * 60 * minutes)
  t.strictSame(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  const later = authority.sign({ ...order, nowMs: nowMs + 2 * 24 * 60 * minutes })
  t.match(later, /the signer has expired/)
})

t.test('what a signer does not sign', async t => {
  const [client, kubelet, serving] = [
    'kubernetes.io/kube-apiserver-client',
    'kubernetes.io/kube-apiserver-client-kubelet',
    'kubernetes.io/kubelet-serving',
  ] as const
  const node = '/O=system:nodes/CN=system:node:a'
  const server = ['digital signature', 'server auth']
  const noNodes = 'subject organization is not system:nodes'
  const noName = 'subject common name does not begin with system:node:'
  const plain = requestFor({ subject: '/CN=ann' })
  const [ofNode, ofOther] = [node, '/O=system:nodes/CN=a'].map(subject => requestFor({ subject }))
  const named = (names: string, subject = node): typeof plain => requestFor({ subject, names })
  if (ofNode === undefined || ofOther === undefined) return
  for (const [signer, request, usages, problem] of [
    [client, plain, clientUsages, undefined],
    [client, plain, ['server auth'], 'invalid usage for client certificate: server auth'],
    [
      client,
      plain,
      ['digital signature'],
      'missing required usage for client certificate: client auth',
    ],
    [kubelet, ofNode, clientUsages, undefined],
    [kubelet, ofNode, [...clientUsages, 'key encipherment'], undefined],
    [kubelet, plain, clientUsages, noNodes],
    [kubelet, named('DNS:a'), clientUsages, 'DNS subjectAltNames are not allowed'],
    [kubelet, named('email:a@b.c'), clientUsages, 'Email subjectAltNames are not allowed'],
    [kubelet, named('IP:1.2.3.4'), clientUsages, 'IP subjectAltNames are not allowed'],
    [kubelet, named('URI:http://a.b/'), clientUsages, 'URI subjectAltNames are not allowed'],
    [kubelet, ofOther, clientUsages, noName],
    [
      kubelet,
      ofNode,
      ['client auth'],
      'usages did not match [client auth digital signature key encipherment]',
    ],
    [serving, named('DNS:a'), server, undefined],
    [serving, named('IP:1.2.3.4'), [...server, 'key encipherment'], undefined],
    [serving, ofNode, server, 'DNS or IP subjectAltName is required'],
    [serving, named('DNS:a,email:a@b.c'), server, 'Email subjectAltNames are not allowed'],
    [serving, named('DNS:a,URI:http://a.b/'), server, 'URI subjectAltNames are not allowed'],
    [serving, named('DNS:a', '/CN=ann'), server, noNodes],
    [serving, named('DNS:a', '/O=system:nodes/CN=a'), server, noName],
    [
      serving,
      named('DNS:a'),
      clientUsages,
      'usages did not match [digital signature key encipherment server auth]',
    ],
  ] as const) {
    t.equal(signerProblem(signer, request, usages), problem, `${signer} ${problem}`)
  }
})
