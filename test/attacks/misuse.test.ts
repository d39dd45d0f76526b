/** Secrets stay secret, and one client's doings concern nobody else: encrypted tokens, groups
 *  without a name, changes of rules, tokens on a line without encryption. */

import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { startGuarded } from '../../lib/cli/commands/plan/access.ts'
import { load } from '../../lib/cli/commands/command-line.ts'
import { admin, maps, startDoor } from '../support/attacks/door.ts'
import { ask, versions } from '../support/attacks/ask.ts'
import { configMap } from '../support/upstream/proxied.ts'
import { silentLogger } from '../support/silent-logger.ts'
import { identity } from '../support/upstream/reviews.ts'
import type { Binding } from '../support/upstream/rules.ts'

const everything: Binding = {
  subjects: ['alice'],
  namespace: '',
  rules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
}
const alice = { authorization: 'Bearer alice' }

const file = join(await mkdtemp(join(tmpdir(), 'watchglass-keys-')), 'keys')
await writeFile(file, `${Buffer.alloc(32, 7).toString('base64')}\n`)
const door = await startDoor(t, {
  users: [['alice', identity('alice')]],
  bindings: [everything],
  objects: [[maps, configMap('b', '2')]],
  // On a slow machine the writes take longer than a review is kept.
  args: [`--continue-key-file=${file}`, '--authorized-ttl=3600'],
})

t.test('an encrypted continue token is opened for its own list only', async t => {
  const page = await ask(door, '1.1', { path: `${maps}?limit=1`, headers: alice })
  const { metadata } = JSON.parse(page.body) as { metadata: { continue: string } }
  const token = encodeURIComponent(metadata.continue)
  t.match(metadata.continue, /^wg2\./)
  for (const version of versions) {
    const next = await ask(door, version, {
      path: `${maps}?limit=1&continue=${token}`,
      headers: alice,
    })
    t.match(next.body, /"name":"b"/, 'it goes on with its list')
    const others = [
      '/api/v1/secrets',
      '/api/v1/namespaces/other/configmaps',
      '/api/v1/configmaps',
      `${maps}/a`,
      '/echo',
      '/api/v1/namespaces/default/pods/mine/proxy/api/v1/namespaces/default/configmaps',
    ]
    for (const path of others) {
      door.upstream.seen.length = 0
      const answer = await ask(door, version, {
        path: `${path}?limit=1&foo=1&continue=${token}`,
        headers: alice,
      })
      const urls = door.upstream.seen.map(({ url }) => url).filter(url => url.includes('continue'))
      for (const url of urls) t.ok(url.includes(token), `${path}: passed as it is`)
      t.notMatch(answer.body, /meta\.k8s\.io|"name":"b"/, `${path}: ${answer.status}`)
    }
  }
})

const certs = 'test/support/certs'

t.test('a group without a name is no group', async t => {
  const door = await startDoor(t, {
    protocol: 'https',
    isUpstreamSecure: true,
    bindings: [everything],
    args: [
      '--auth=requestheader',
      `--requestheader-client-ca=${certs}/proxies-ca.pem`,
      '--pass-identity=headers',
      `--front-proxy-cert=${certs}/front-proxy.pem`,
      `--front-proxy-key=${certs}/front-proxy.key`,
    ],
    probe: { headers: { 'x-remote-user': 'alice' }, certificate: 'front-proxy' },
  })
  const headers = { 'x-remote-user': 'alice', 'x-remote-group': '', 'x-remote-uid': '' }
  await ask({ ...door, certificate: 'front-proxy' }, '1.1', { path: '/echo', headers })
  const { rawHeaders = [] } = door.upstream.last('/echo') ?? {}
  const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1]]] : []))
  const groups = lines.filter(([name]) => /^x-remote-group$/i.test(name ?? ''))
  t.strictSame(
    groups.map(([, value]) => value),
    ['system:authenticated'],
  )
})

/** The number of reviews so far. */
async function reviews(): Promise<number> {
  return door.metric('watchglass_access_reviews_total')
}

t.test('a change of the rules of one namespace has nobody else asked about again', async t => {
  const rules = '/apis/rbac.authorization.k8s.io/v1'
  const get = (): Promise<unknown> => ask(door, '1.1', { path: `${maps}/a`, headers: alice })
  const write = (name: string, namespace: string): Promise<{ status: number }> =>
    ask(door, '1.1', {
      method: 'POST',
      path: `${rules}/namespaces/${namespace}/roles`,
      headers: { ...admin, 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name },
      }),
    })
  await get()
  const before = await reviews()
  t.equal((await write('r', 'elsewhere')).status, 201)
  await new Promise(resolve => setTimeout(resolve, 200))
  await get()
  t.equal(await reviews(), before, 'a Role of another namespace')
  t.equal((await write('r', 'default')).status, 201)
  await new Promise(resolve => setTimeout(resolve, 200))
  await get()
  t.ok((await reviews()) > before, 'a Role of this one')
})

t.test('tokens on a line without encryption are warned of', async t => {
  for (const [host, isWarned] of [
    ['10.0.0.1', true],
    ['127.0.0.1', false],
  ] as const) {
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
    const args = ['serve', '--etcd=embedded', '--upstream=http://127.0.0.1:1', '--auth=delegate']
    const invocation = load(args, {})
    if (invocation.kind !== 'run') throw new Error('nothing is run')
    const guarded = await startGuarded(invocation.values, host, logger)
    await guarded.stop()
    t.equal(
      warnings.some(message => message.includes('tokens travel unencrypted')),
      isWarned,
      host,
    )
  }
})
