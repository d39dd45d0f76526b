import * as http from 'node:http'
import t, { type Test } from 'tap'
import type { Clock } from '../../../../lib/base/clock.ts'
import { keyFromText, singleKey } from '../../../../lib/base/keys.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { delegatedTo, RulesServer } from '../../../support/http/rules-server.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../../support/http/served.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import type { Binding, Rule } from '../../../support/upstream/rules.ts'
import { moment } from '../../../support/http/moment.ts'
import { openWatch } from '../../../support/watch/watch-client.ts'
import { patient } from '../../../support/patience.ts'

const users = new Map([
  ['alice-token', identity('alice', 'dev')],
  ['bob-token', identity('bob')],
])

interface Guarded extends Served {
  readonly rules: RulesServer
}

async function startGuarded(
  t: Test,
  bindings: readonly Binding[],
  clock: Clock = systemClock,
): Promise<Guarded> {
  const rules = new RulesServer(users, bindings)
  const authorization = delegatedTo(rules)
  return { ...(await startServed(t, { authorization, clock })), rules }
}

/** Right after the start an answer is kept for a second, and a slow machine needs more for the
 *  requests of a test: by this clock it has a hundred times as long. */
const slowClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / 100,
}

function grants(user: string, namespace: string, rule: Rule): Binding {
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  return { subjects: [user], namespace, rules: [{ ...all, ...rule }] }
}

async function put(served: Served, key: string, object: object): Promise<number> {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value }],
    failure: [],
  })
  return header.revision
}

function putConfigMap(served: Served, namespace: string, name: string): Promise<number> {
  const metadata = { name, namespace, labels: { app: name } }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  return put(served, `/registry/configmaps/${namespace}/${name}`, object)
}

/** A change of some rule: what it says is up to the test's own rules. */
function changeRules(served: Served): Promise<number> {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [] }
  return put(served, '/registry/clusterroles/any', { ...role, metadata: { name: 'any' } })
}

function get(served: Served, user: string | undefined, path: string): Promise<HttpAnswer> {
  const headers = user === undefined ? {} : { authorization: `Bearer ${user}-token` }
  return ask(served.service.port, { path, headers })
}

async function code(served: Served, user: string | undefined, path: string): Promise<number> {
  return (await get(served, user, path)).status
}

interface ScheduledWatch {
  readonly text: () => string
  readonly ended: Promise<void>
}

function watch(served: Served, user: string, path: string): Promise<ScheduledWatch> {
  return new Promise((resolve, reject) => {
    const { port } = served.service
    const headers = { authorization: `Bearer ${user}-token` }
    const request = http.get({ port, path, headers, agent: false }, response => {
      let text = ''
      response.on('data', piece => (text += String(piece)))
      const ended = new Promise<void>(done => response.once('end', done))
      if (response.statusCode === 200) resolve({ text: () => text, ended })
      else reject(new Error(`${response.statusCode}`))
    })
    request.on('error', reject)
  })
}

t.test(
  'users see what the upstream allows them, by verb, namespace, name and selector',
  async t => {
    const served = await startGuarded(t, [
      grants('alice', 'a', { verbs: ['get', 'list'], resources: ['configmaps'] }),
      grants('bob', '', { verbs: ['get'], resources: ['configmaps'], resourceNames: ['x'] }),
      grants('bob', 'b', { verbs: ['list'], resourceNames: ['x'] }),
      grants('group:dev', '', { resources: ['pods'], fields: ['spec.nodeName=n'] }),
      grants('group:dev', 'b', { verbs: ['watch', 'list'], labels: ['app=web'] }),
    ])
    for (const namespace of ['a', 'b']) await putConfigMap(served, namespace, 'x')
    const maps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`
    const short = 'watch=1&timeoutSeconds=1&resourceVersion=1'
    const table: [string, string, number][] = [
      ['alice', maps('a'), 200],
      ['alice', `${maps('a')}/x`, 200],
      ['alice', `${maps('a')}/y`, 404],
      ['alice', `${maps('a')}?${short}`, 403],
      ['alice', maps('b'), 403],
      ['alice', '/api/v1/configmaps', 403],
      ['alice', '/api/v1/namespaces/a/secrets', 403],
      ['bob', `${maps('a')}/x`, 200],
      ['bob', `${maps('b')}/x`, 200],
      ['bob', `${maps('a')}/y`, 403],
      ['bob', maps('b'), 403],
      ['bob', `${maps('b')}?fieldSelector=metadata.name%3Dx`, 200],
      ['bob', `${maps('b')}?fieldSelector=metadata.name%3Dy`, 403],
      ['bob', `${maps('a')}?fieldSelector=metadata.name%3Dx`, 403],
      ['alice', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn', 200],
      ['alice', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn,status.phase%3DRunning', 200],
      ['alice', '/api/v1/pods?fieldSelector=spec.nodeName%3Dm', 403],
      ['alice', '/api/v1/pods', 403],
      ['alice', `${maps('b')}?labelSelector=app%3Dweb`, 200],
      ['alice', `${maps('b')}?labelSelector=app+in+(web)&${short}`, 200],
      ['alice', `${maps('b')}?labelSelector=app+in+(web,db)`, 403],
      ['alice', `/api/v1/watch/namespaces/b/configmaps?labelSelector=app%3Dweb`, 403],
    ]
    for (const [user, path, expected] of table) {
      t.equal(await code(served, user, path), expected, `${user} ${path}`)
    }
  },
)

t.test('refusals are those of the upstream', async t => {
  const served = await startGuarded(t, [])
  const denied = await get(served, 'alice', '/api/v1/namespaces/a/configmaps/x')
  t.equal(denied.status, 403)
  t.equal(denied.headers['x-content-type-options'], 'nosniff')
  t.equal(
    denied.body.toString(),
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \\"x\\" is forbidden: User \\"alice\\" cannot get resource \\"configmaps\\" in API group \\"\\" in the namespace \\"a\\"","reason":"Forbidden","details":{"name":"x","kind":"configmaps"},"code":403}\n',
  )
  for (const nobody of [undefined, 'stolen']) {
    const answer = await get(served, nobody, '/api/v1/configmaps')
    t.equal(answer.status, 401)
    t.match(answer.body.toString(), '"message":"Unauthorized","reason":"Unauthorized","code":401}')
  }
  const path = '/api/v1/configmaps'
  const headers = { authorization: 'Bearer alice-token', impersonate_user: 'bob' }
  t.equal((await ask(served.service.port, { path, headers })).status, 403)
})

t.test(
  'what the server says of itself is for those who may know, health for everybody',
  async t => {
    const served = await startGuarded(t, [])
    t.equal(await code(served, undefined, '/livez'), 200)
    for (const [path, expected] of [
      ['/apis', 200],
      ['/version', 200],
      ['/metrics', 403],
      ['/openapi/v2', 403],
    ] as const) {
      t.equal(await code(served, 'alice', path), expected, path)
      t.equal(await code(served, undefined, path), 401, path)
    }
  },
)

t.test('health is not told to whoever shows credentials of nobody', async t => {
  const served = await startGuarded(t, [])
  const { port } = served.service
  for (const path of ['/healthz', '/livez', '/readyz', '/livez?verbose']) {
    t.equal(await code(served, undefined, path), 200, 'without credentials')
    t.equal(await code(served, 'alice', path), 200)
    const refused = await get(served, 'stolen', path)
    t.equal(refused.status, 401, path)
    t.match(refused.body.toString(), '"message":"Unauthorized","reason":"Unauthorized","code":401}')
    const basic = { authorization: 'Basic YTpi' }
    t.equal((await ask(port, { path, headers: basic })).status, 200, 'no token')
  }
  served.rules.isDown = true
  t.equal(await code(served, 'bob', '/livez'), 200, 'nobody can say who it is')
  served.rules.isDown = false
  // Never answered.
  served.rules.gate = new Promise(() => {})
  t.equal(await code(served, 'mallory', '/livez'), 200, 'nobody says it in time')
})

t.test('identical questions are asked once, others never answer each other', async t => {
  const served = await startGuarded(t, [grants('alice', 'a', {})], slowClock)
  const { paths } = served.rules
  const one = '/api/v1/namespaces/a/configmaps'
  const answers = await Promise.all(Array.from({ length: 20 }, () => code(served, 'alice', one)))
  t.strictSame([...new Set(answers)], [200])
  t.equal(paths.length, 1)
  await code(served, 'alice', `${one}?limit=1`)
  t.equal(paths.length, 1, 'a limit is no attribute')
  const asked = paths.length
  for (const other of [
    `${one}/x`,
    `${one}?labelSelector=a`,
    `${one}?labelSelector=a%3Db`,
    `${one}?labelSelector=b%3Da`,
    `${one}?fieldSelector=metadata.name%3Dx`,
    '/api/v1/configmaps',
    '/api/v1/namespaces/b/configmaps',
    '/api/v1/namespaces/a/secrets',
  ]) {
    await code(served, 'alice', other)
  }
  await code(served, 'bob', one)
  const headers = { authorization: 'Bearer alice-token' }
  const path = `${one}?watch=1&resourceVersion=1`
  const stream = await openWatch(served.service.port, { path, headers })
  t.equal(stream.status, 200)
  stream.close()
  t.equal(paths.filter(path => path.endsWith('accessreviews')).length - asked, 10)
})

t.test('many selectors cost few questions, and allow nothing more', async t => {
  const served = await startGuarded(
    t,
    [grants('alice', 'a', {}), grants('bob', 'a', { labels: ['app=b'] })],
    slowClock,
  )
  const { paths } = served.rules
  const askMany = async (user: string): Promise<number[]> => {
    const codes: number[] = []
    for (let i = 0; i < 30; i++) {
      const path = `/api/v1/namespaces/a/configmaps?labelSelector=app%3Db,x%21%3D${i}`
      codes.push(await code(served, user, path))
    }
    return codes
  }
  t.strictSame(new Set(await askMany('alice')), new Set([200]))
  t.equal(paths.length, 8, 'seven with their selectors, one without')
  t.strictSame(new Set(await askMany('bob')), new Set([200]))
  t.equal(paths.length, 8 + 31, 'who may not read all is asked about by each')
  t.equal(await code(served, 'bob', '/api/v1/namespaces/a/configmaps?labelSelector=app%3Dc'), 403)
})

t.test('every page is authorized by what it asks for itself', async t => {
  const served = await startGuarded(t, [
    grants('alice', '', { resources: ['configmaps'] }),
    grants('bob', '', { resources: ['configmaps'], labels: ['app=a'] }),
  ])
  for (const name of ['a', 'b', 'c']) await putConfigMap(served, 'n', name)
  const { body } = await get(served, 'alice', '/api/v1/configmaps?limit=1')
  const page = JSON.parse(body.toString()) as { metadata: { continue: string } }
  const token = `limit=1&continue=${page.metadata.continue}`
  t.equal(await code(served, 'alice', `/api/v1/configmaps?${token}`), 200)
  t.equal(await code(served, 'bob', `/api/v1/configmaps?${token}`), 403)
  t.equal(await code(served, 'bob', `/api/v1/configmaps?${token}&labelSelector=app%3Da`), 200)
})

t.test('nothing is answered while nobody can be asked, and that is not kept', async t => {
  const served = await startGuarded(t, [grants('alice', '', {})])
  served.rules.isDown = true
  t.equal(await code(served, 'alice', '/api/v1/configmaps'), 503)
  served.rules.isDown = false
  t.equal(await code(served, 'alice', '/api/v1/configmaps'), 200)
})

t.test('a grant and a revocation count at once when the mirror has seen them', async t => {
  const served = await startGuarded(t, [])
  const path = '/api/v1/namespaces/a/configmaps'
  t.equal(await code(served, 'alice', path), 403)
  served.rules.bindings = [grants('alice', 'a', {})]
  t.equal(await code(served, 'alice', path), 403, 'kept')
  await caughtUp(served, await changeRules(served))
  t.equal(await code(served, 'alice', path), 200)
  served.rules.bindings = []
  t.equal(await code(served, 'alice', path), 200, 'kept')
  await caughtUp(served, await changeRules(served))
  t.equal(await code(served, 'alice', path), 403)
})

/** Ends a test before watches are checked without a reason, which is after four minutes. */
const beforeAnyRecheck = { timeout: patient(60_000) }

t.test(
  'a watch ends when its user may not watch any more, and not before',
  beforeAnyRecheck,
  async t => {
    const served = await startGuarded(t, [grants('alice', 'a', {}), grants('bob', 'a', {})])
    const path = '/api/v1/namespaces/a/configmaps?watch=1'
    const [alice, bob] = await Promise.all(['alice', 'bob'].map(user => watch(served, user, path)))
    await caughtUp(served, await putConfigMap(served, 'a', 'before'))
    served.rules.bindings = [grants('bob', 'a', {})]
    await changeRules(served)
    await alice!.ended
    await caughtUp(served, await putConfigMap(served, 'a', 'after'))
    while (!bob!.text().includes('"after"')) await moment()
    t.match(alice!.text(), '"before"')
    t.notMatch(alice!.text(), '"after"')
  },
)

t.test(
  'a live view ends when its user may not list or not watch any more',
  beforeAnyRecheck,
  async t => {
    const served = await startGuarded(t, [grants('alice', 'a', {}), grants('bob', 'a', {})])
    const path = '/views/api/v1/namespaces/a/configmaps?watch=1'
    const views = await Promise.all(['alice', 'bob'].map(user => watch(served, user, path)))
    served.rules.bindings = [
      grants('alice', 'a', { verbs: ['watch'] }),
      grants('bob', 'a', { verbs: ['list'] }),
    ]
    await changeRules(served)
    for (const view of views) {
      await view.ended
      t.match(view.text(), '"type":"PAGE"')
    }
  },
)

t.test('a watch that a change overtakes while it is opened is looked at again', async t => {
  const served = await startGuarded(t, [grants('alice', '', {})])
  const { rules } = served
  let open = (): void => {}
  rules.gate = new Promise(resolve => (open = resolve))
  const opening = watch(served, 'alice', '/api/v1/configmaps?watch=1')
  while (rules.paths.length === 0) await moment()
  await caughtUp(served, await changeRules(served))
  rules.onCall = () => (rules.bindings = [])
  open()
  await (
    await opening
  ).ended
})

t.test('a deleted rule counts as a changed one', async t => {
  const served = await startGuarded(t, [grants('alice', '', {})])
  await caughtUp(served, await changeRules(served))
  t.equal(await code(served, 'alice', '/api/v1/configmaps'), 200)
  served.rules.bindings = []
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'delete', range: singleKey(keyFromText('/registry/clusterroles/any')) }],
    failure: [],
  })
  await caughtUp(served, header.revision)
  t.equal(await code(served, 'alice', '/api/v1/configmaps'), 403)
})
