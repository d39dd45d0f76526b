/** Values that are planted wherever secrets lie do not come out where they must not: in what the
 *  program prints, logs, counts and records, and in what it says of failures. */

import { silentLogger } from './support/silent-logger.ts'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { keyFromText } from '../lib/base/keys.ts'
import { protobufFromJson } from '../lib/codec/transcode/transcode.ts'
import { startEmbeddedEtcd } from '../lib/etcd-server/embedded.ts'
import type { Client } from '../lib/etcd/client.ts'
import { systemClock } from '../lib/cache/ops/system.ts'
import { ask } from './support/http/served.ts'
import { programFlags } from './support/program/program-flags.ts'
import { createGuard } from './support/upstream/guard.ts'
import { identity } from './support/upstream/reviews.ts'
import type { Binding } from './support/upstream/rules.ts'
import { TestUpstream, upstreamReady } from './support/upstream/upstream.ts'
import { moment } from './support/http/moment.ts'

/** Every planted value holds this. */
const planted = 'pl4nt3d'
const tokens = {
  ours: `ours-${planted}`,
  alice: `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.${Buffer.from(`{"sub":"${planted}"}`).toString('base64url')}.${planted}`,
  stranger: `stranger-${planted}`,
}

const bindings: Binding[] = [
  {
    subjects: ['alice'],
    namespace: 'a',
    rules: [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['secrets', 'configmaps'] }],
  },
]

async function plant(client: Client): Promise<void> {
  const values: [string, Uint8Array][] = ['x', 'y', 'z'].map(name => {
    const data = { password: Buffer.from(planted).toString('base64') }
    const metadata = { name, namespace: 'a', annotations: { last: planted } }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data, stringData: undefined }
    const stored = protobufFromJson(Buffer.from(JSON.stringify(secret))) as Uint8Array
    return [`/registry/secrets/a/${name}`, stored]
  })
  values.push(['/registry/configmaps/a/encrypted', Buffer.from(`k8s:enc:aescbc:v1:${planted}`)])
  values.push(['/registry/configmaps/a/broken', Buffer.from(`k8s\0\xff${planted}`, 'latin1')])
  const definition = '/registry/apiextensions.k8s.io/customresourcedefinitions/x'
  values.push([definition, Buffer.from(`{"spec":"${planted}"`)])
  for (const [key, value] of values) {
    await client.txn({
      compares: [],
      success: [{ type: 'put', key: keyFromText(key), value }],
      failure: [],
    })
  }
}

t.test('secrets come out nowhere but in the answers to those who may read them', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'watchglass-'))
  let etcd = ''
  const logger = {
    ...silentLogger,
    warn: (_: string, fields = {}) => (etcd = String((fields as { etcd?: string }).etcd)),
  }
  const embedded = await startEmbeddedEtcd({
    listen: { address: '127.0.0.1:0', tlsFiles: undefined, prefixes: [] },
    load: undefined,
    clock: systemClock,
    logger,
  })
  const client = embedded.createClient()
  await plant(client)
  const upstream = await TestUpstream.start({ client: embedded.createClient() })
  await upstreamReady(upstream)
  const users = new Map([
    [tokens.ours, identity('ours', 'system:masters')],
    [tokens.alice, identity('alice')],
  ])
  upstream.before = createGuard({ users, bindings: () => bindings })
  const [tokenFile, auditLog] = ['token', 'audit.log'].map(name => join(directory, name))
  writeFileSync(tokenFile!, tokens.ours)
  const child = spawn(
    process.execPath,
    [
      ...programFlags(),
      '.',
      'serve',
      '--listen',
      'http://127.0.0.1:0',
      '--log-level',
      'debug',
      '--etcd',
      etcd,
      '--upstream',
      upstream.url,
      '--upstream-token-file',
      tokenFile!,
      '--audit-log',
      auditLog!,
      '--admin-listen',
      'http://127.0.0.1:0',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => (said += piece.toString()))
  }
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill()
    await exited
    await upstream.stop()
    await embedded.close()
    rmSync(directory, { recursive: true })
  })
  while (!said.includes('\n  first  ')) await moment()
  const port = Number(/serves the Kubernetes API at http:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1])
  const admin = Number(/"port":(\d+)/.exec(said)?.[1])

  const errors: string[] = []
  const codes = new Set<number>()
  const get = async (path: string, authorization: string): Promise<number> => {
    const { status, body, headers } = await ask(port, { path, headers: { authorization } })
    codes.add(status)
    if (status !== 200) errors.push(`${path} ${body.toString()} ${JSON.stringify(headers)}`)
    return status
  }
  const everybody = [
    ...Object.values(tokens).map(token => `Bearer ${token}`),
    `Basic ${Buffer.from(planted).toString('base64')}${planted}`,
    `Bearer ${planted} ${planted}`,
    planted,
  ]
  const paths = [
    '/api/v1/namespaces/a/secrets',
    '/api/v1/namespaces/a/secrets/x',
    '/api/v1/namespaces/a/secrets?limit=1',
    '/api/v1/namespaces/a/configmaps',
    '/api/v1/namespaces/a/configmaps/encrypted',
    '/api/v1/namespaces/a/configmaps/broken',
    '/api/v1/namespaces/b/secrets',
    '/api/v1/secrets?labelSelector=a%20b',
    '/apis/nothing.example.com/v1/things',
    '/metrics',
  ]
  // Until the objects have been compared with the upstream's, it answers, and there is nothing to
  // audit.
  const headers = { authorization: everybody[1]! }
  for (let origin = ''; !origin.startsWith('mirror');) {
    const answer = await ask(port, { path: '/api/v1/namespaces/a/secrets', headers })
    origin = String(answer.headers['x-watchglass'])
  }
  for (const path of paths) for (const who of everybody) await get(path, who)
  upstream.fault = ({ url }) =>
    url.includes('review') ? { type: 'answer', answer: { code: 500, body: planted } } : undefined
  for (const path of paths) await get(`${path}?pretty=1`, everybody[1]!)
  await upstream.down()
  for (const path of paths) for (const who of everybody) await get(`${path}?pretty=false`, who)
  const metrics = (await ask(admin, { path: '/metrics' })).body.toString()
  child.kill()
  await exited

  const audit = readFileSync(auditLog!, 'utf8')
  t.match(audit, '"username":"alice"', 'there is something to look into')
  t.match(metrics, 'watchglass_access_reviews_total')
  t.match(said, '"level":"debug"')
  t.ok([200, 401, 403, 502, 503].filter(code => codes.has(code)).length >= 4, [...codes].join())
  const values = [planted, Buffer.from(planted).toString('base64'), encodeURIComponent(planted)]
  const outputs = { said, metrics, audit, errors: errors.join('\n') }
  for (const [name, text] of Object.entries(outputs)) {
    for (const value of values) t.notOk(text.includes(value), name)
  }
})
