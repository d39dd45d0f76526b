/** The program beside an aggregated API server: another process, a real etcd, certificates, a front
 *  proxy; what the server does, and how it is restarted, is up to a stand-in that is made from the
 *  recordings. */

import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import * as https from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { sleep } from '../../lib/base/clock.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { readRecording } from '../golden/aggregated/recording.ts'
import { documentsIn } from '../golden/aggregated/world.ts'
import { type Answer, WardleServer } from '../support/aggregated/wardle-server.ts'
import { type EtcdMember, startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { programFlags } from '../support/program/program-flags.ts'
import { patient } from '../support/patience.ts'

const certs = 'test/support/certs'
const pem = (name: string): Buffer => readFileSync(`${certs}/${name}`)
const flunders = '/apis/wardle.example.com/v1alpha1/namespaces/pond/flunders'

interface Got {
  readonly status: number
  readonly origin: string
  readonly body: string
}

interface Sidecar {
  readonly server: WardleServer
  readonly member: EtcdMember
  /** Whether callers may do what they ask for. */
  readonly rights: { isAllowed: boolean }
  readonly ask: (method: string, path: string, body?: object) => Promise<Got>
}

const etcd = await findEtcd('3.5')

t.setTimeout(patient(60_000))

t.test('reads come from the mirror, the rest from the server', { skip: etcd.skip }, async t => {
  const { ask, server, rights, member } = await startSidecar(t)
  await until(async () => !(await ask('GET', flunders)).origin.endsWith('unknown-resource'))
  for (let i = 0; i < 30; i++) {
    const answer = await ask('POST', flunders, flunder(`f-${i}`))
    t.match(answer, { status: 201, origin: 'pass; reason=write' })
  }
  await until(async () => (await ask('GET', flunders)).origin.startsWith('mirror'))
  await ask('GET', `${flunders}/f-1`)
  await until(async () => (await ask('GET', `${flunders}/f-1`)).origin.startsWith('mirror'))
  const share = await shareFromMirror(ask)
  t.ok(share >= 0.95, `${share} of the reads come from the mirror`)

  const beta = await ask('GET', flunders.replace('v1alpha1', 'v1beta1'))
  t.match(beta, {
    status: 200,
    origin: 'pass; reason=conversion',
    body: /"flunderReference":"of-f-1"/,
  })

  rights.isAllowed = false
  await sleep(systemClock, 1_200)
  t.match(await ask('GET', flunders), { origin: 'pass; reason=denied' }, 'a right is withdrawn')
  rights.isAllowed = true
  await until(async () => (await ask('GET', flunders)).origin.startsWith('mirror'))

  await member.kill()
  const old = await ask('GET', `${flunders}?resourceVersion=0`)
  t.match(old, { status: 200, origin: /^mirror/ }, 'what may be old is answered without etcd')
  await member.restart()
  await until(async () => (await ask('GET', flunders)).origin.startsWith('mirror'))
  await ask('POST', flunders, flunder('f-after'))
  t.match(await ask('GET', flunders), { origin: /^mirror/, body: /"f-after"/ })

  await server.close()
  server.versions = new Set(['v1beta1'])
  await server.listen()
  await until(async () => (await ask('GET', flunders)).status === 404)
  t.match(
    (await ask('GET', flunders)).origin,
    /^pass/,
    'a version that is gone is not answered here',
  )
  await server.close()
  server.versions = new Set(['v1alpha1', 'v1beta1'])
  await server.listen()
  await until(async () => (await ask('GET', flunders)).origin.startsWith('mirror'))
})

async function shareFromMirror(ask: Sidecar['ask']): Promise<number> {
  let here = 0
  let all = 0
  for (let i = 0; i < 60; i++) {
    const page = await ask('GET', `${flunders}?limit=7`)
    const token = /"continue":"([^"]+)"/.exec(page.body)?.[1] ?? ''
    const answers = [
      page,
      await ask('GET', `${flunders}?limit=7&continue=${token}`),
      await ask('GET', `${flunders}/f-${i % 30}`),
      await ask('GET', `${flunders}?labelSelector=n%3D1`),
    ]
    const watch = `${flunders}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Df-2`
    if (i % 30 === 0) answers.push(await ask('GET', watch))
    all += answers.length
    here += answers.filter(({ origin }) => origin.startsWith('mirror')).length
  }
  return here / all
}

function flunder(name: string): object {
  const metadata = { name, labels: { n: name.slice(-1) } }
  const spec = { reference: `of-${name}`, referenceType: 'Flunder' }
  return { apiVersion: 'wardle.example.com/v1alpha1', kind: 'Flunder', metadata, spec }
}

/** A few seconds are enough for everything that is waited for. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let i = 0; !(await isSo()); i++) {
    if (i === 300) throw new Error('it has not come about within 30 s')
    await sleep(systemClock, 100)
  }
}

async function startSidecar(t: Test): Promise<Sidecar> {
  const { endpoints, members } = await startEtcd(t, etcd)
  const client = new GrpcClient({ endpoints })
  const rights = { isAllowed: true }
  const tls = { cert: pem('server.pem'), key: pem('server.key') }
  const server = new WardleServer({
    client,
    prefix: '/registry/wardle.example.com',
    document: documentsIn(readRecording('default').exchanges),
    tls: { ...tls, ca: pem('proxies-ca.pem'), requestCert: true, rejectUnauthorized: false },
    before: ({ url = '' }) => (url.includes('/subjectaccessreviews') ? review(rights) : undefined),
  })
  await server.listen()
  t.teardown(async () => {
    await server.close()
    await client.close()
  })
  const port = await startProgram(t, endpoints, server.url)
  const agent = new https.Agent({
    keepAlive: true,
    ca: pem('ca.pem'),
    cert: pem('front-proxy.pem'),
    key: pem('front-proxy.key'),
  })
  t.teardown(() => agent.destroy())
  return {
    server,
    member: members[0]!,
    rights,
    ask: (method, path, body) => ask({ port, agent, method, path }, body),
  }
}

function review({ isAllowed }: { readonly isAllowed: boolean }): Answer {
  const body = Buffer.from(JSON.stringify({ status: { allowed: isAllowed } }))
  return { status: 201, headers: { 'content-type': 'application/json' }, body }
}

async function startProgram(t: Test, endpoints: readonly string[], url: string): Promise<number> {
  const token = join(t.testdir(), 'token')
  writeFileSync(token, 'ours')
  const options = {
    etcd: endpoints.join(','),
    listen: 'https://127.0.0.1:0',
    'tls-cert': `${certs}/server.pem`,
    'tls-key': `${certs}/server.key`,
    upstream: url,
    'upstream-ca': `${certs}/ca.pem`,
    'upstream-token-file': token,
    auth: 'requestheader',
    'authorized-ttl': '1',
    'unauthorized-ttl': '1',
    'requestheader-client-ca': `${certs}/proxies-ca.pem`,
    'pass-identity': 'headers',
    'front-proxy-cert': `${certs}/front-proxy.pem`,
    'front-proxy-key': `${certs}/front-proxy.key`,
    'review-server': url,
    'review-server-ca': `${certs}/ca.pem`,
    'review-server-token-file': token,
    'admin-listen': 'none',
    'log-level': 'warn',
  }
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  const child = spawn(process.execPath, [...programFlags(), '.', 'serve', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => void child.kill())
  let text = ''
  for await (const piece of child.stdout as AsyncIterable<Buffer>) {
    text += piece.toString()
    if (text.includes('\n  first  ')) break
  }
  return Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1])
}

interface Asked {
  readonly port: number
  readonly agent: https.Agent
  readonly method: string
  readonly path: string
}

function ask({ port, agent, method, path }: Asked, body?: object): Promise<Got> {
  const headers = {
    'X-Remote-User': 'alice',
    'X-Remote-Group': 'dev',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return new Promise((resolve, reject) => {
    const request = https.request(
      { host: '127.0.0.1', port, agent, method, path, headers },
      response => {
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('end', () => {
          const { statusCode = 0, headers: got } = response
          const origin = String(got['x-watchglass'])
          resolve({ status: statusCode, origin, body: Buffer.concat(pieces).toString() })
        })
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
