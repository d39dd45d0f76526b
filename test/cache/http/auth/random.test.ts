import { silentLogger } from '../../../support/silent-logger.ts'
import { strict as assert } from 'node:assert'
import * as http from 'node:http'
import t from 'tap'
import { createRandom, type Random, randomInt, randomItem } from '../../../../lib/base/random.ts'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import type { KubeService } from '../../../../lib/cli/compose/kube-service.ts'
import type { Client } from '../../../../lib/etcd/client.ts'
import { attributesOf } from '../../../../lib/kube/request/attributes.ts'
import { parseTarget } from '../../../../lib/kube/request/request.ts'
import type { Registry } from '../../../../lib/kube/resources/registry.ts'
import { routeRequest } from '../../../../lib/kube/request/routes.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { delegatedTo, RulesServer } from '../../../support/http/rules-server.ts'
import { ask, caughtUp, startServed } from '../../../support/http/served.ts'
import { createGuard } from '../../../support/upstream/guard.ts'
import { startFront, startProxied } from '../../../support/upstream/proxied.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import { type Binding, isAllowed, type Rule } from '../../../support/upstream/rules.ts'
import { effort } from '../../../support/effort.ts'

const seed = Number(process.env['WATCHGLASS_SEED'] ?? 1 + (systemClock.wallMs() % 1_000_000))

/** Each round has other rules, and asks so many questions under them. */
const rounds = 10
const questions = 60 * effort
const upstreamQuestions = 15 * effort

const names = ['a', 'b', 'c', 'd']
const resources = ['configmaps', 'secrets', 'pods', 'namespaces', 'widgets']
const stored = ['configmaps', 'secrets']
const people = ['alice', 'bob', 'carol', 'dave']
const users = new Map(
  people.map((name, i) => [`${name}-token`, identity(name, i < 2 ? 'dev' : 'ops')] as const),
)

function some<T>(random: Random, items: readonly T[]): T[] {
  const picked = items.filter(() => random.next() < 0.4)
  return picked.length === 0 ? [randomItem(random, items)] : picked
}

function randomRule(random: Random): Rule {
  const isOften = (share: number): boolean => random.next() < share
  return {
    verbs: isOften(0.2) ? ['*'] : some(random, ['get', 'list', 'watch', 'create']),
    apiGroups: isOften(0.9) ? [''] : ['*'],
    resources: isOften(0.1) ? ['*'] : some(random, resources),
    ...(isOften(0.3) ? { resourceNames: some(random, names) } : {}),
    ...(isOften(0.2) ? { labels: [`app=${randomItem(random, names)}`] } : {}),
    ...(isOften(0.1) ? { fields: [`metadata.namespace=${randomItem(random, names)}`] } : {}),
  }
}

function randomBindings(random: Random): Binding[] {
  return Array.from({ length: randomInt(random, 3, 10) }, () => ({
    subjects: some(random, [...people, 'group:dev', 'group:ops']),
    namespace: random.next() < 0.7 ? randomItem(random, names) : '',
    rules: Array.from({ length: randomInt(random, 1, 3) }, () => randomRule(random)),
  }))
}

function randomPath(random: Random): string {
  const resource = randomItem(random, stored)
  const isEverywhere = random.next() < 0.2
  const scope = isEverywhere ? '' : `/namespaces/${randomItem(random, names)}`
  const root = `/api/v1${scope}/${resource}`
  if (!isEverywhere && random.next() < 0.4) return `${root}/${randomItem(random, names)}`
  const query: string[] = []
  if (random.next() < 0.3) query.push(`labelSelector=app%3D${randomItem(random, names)}`)
  const field = randomItem(random, ['metadata.name', 'metadata.namespace'])
  if (random.next() < 0.3) query.push(`fieldSelector=${field}%3D${randomItem(random, names)}`)
  if (random.next() < 0.2) query.push('limit=3')
  if (random.next() < 0.1) query.push('resourceVersion=0')
  return query.length === 0 ? root : `${root}?${query.join('&')}`
}

async function fill(client: Client): Promise<void> {
  for (const resource of stored) {
    for (const namespace of names) {
      for (const [i, name] of names.entries()) {
        const kind = resource === 'secrets' ? 'Secret' : 'ConfigMap'
        const labels = { app: names[(i + 1) % names.length] }
        await put(client, `/registry/${resource}/${namespace}/${name}`, {
          apiVersion: 'v1',
          kind,
          metadata: { name, namespace, labels },
        })
      }
    }
  }
}

async function put(client: Client, key: string, object: object): Promise<number> {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  const { header } = await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value }],
    failure: [],
  })
  return header.revision
}

function changeRules(client: Client): Promise<number> {
  return put(client, '/registry/clusterroles/any', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'any' },
  })
}

interface Question {
  readonly user: string
  readonly path: string
}

interface Answered {
  readonly status: number
  readonly origin: string
  readonly body: string
}

/** The right answer by the rules: by the oracle alone. */
function isRight(
  registry: Registry,
  bindings: readonly Binding[],
  { user, path }: Question,
): boolean {
  const target = parseTarget(path)!
  const route = routeRequest('GET', target.path, registry)
  assert.ok(route.type === 'resource', path)
  return isAllowed(bindings, users.get(`${user}-token`)!, attributesOf('GET', target))
}

/** Nothing is in an answer that was not asked for by what was allowed. */
function checkContents({ path }: Question, { body }: Answered): void {
  const target = parseTarget(path)!
  const [, , scope, namespace = ''] = target.path.slice(1).split('/')
  const parsed = JSON.parse(body) as { items?: Item[] } & Item
  const items = parsed.items ?? [parsed]
  const name = /metadata\.name=(.)/.exec(target.query.text('fieldSelector'))?.[1]
  for (const { metadata } of items) {
    if (scope === 'namespaces') assert.equal(metadata.namespace, namespace, path)
    if (name !== undefined) assert.equal(metadata.name, name, path)
  }
}

interface Item {
  readonly metadata: { readonly name: string; readonly namespace: string }
}

function asking(
  agent: http.Agent,
): (service: KubeService, question: Question) => Promise<Answered> {
  return async ({ port }, { user, path }) => {
    const headers = { authorization: `Bearer ${user}-token` }
    const { status, headers: got, body } = await ask(port, { path, headers }, agent)
    return { status, origin: String(got['x-watchglass']), body: body.toString() }
  }
}

/** Runs tasks, some at a time. */
async function inParallel(count: number, task: () => Promise<void>): Promise<void> {
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (count-- > 0) await task()
    }),
  )
}

t.test('random reads through two replicas are answered as the rules say', async t => {
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const server = new RulesServer(users, [])
  const authorization = delegatedTo(server)
  const first = await startServed(t, { authorization })
  const second = await startServed(t, { authorization, client: first.client })
  await fill(first.client)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  t.teardown(() => agent.destroy())
  const send = asking(agent)
  const registry = first.service.registry.state.registry
  const seen = { allowed: 0, denied: 0 }
  for (let round = 0; round < rounds; round++) {
    server.bindings = randomBindings(random)
    const revision = await changeRules(first.client)
    await Promise.all([first, second].map(served => caughtUp(served, revision)))
    await inParallel(questions, async () => {
      const question = { user: randomItem(random, people), path: randomPath(random) }
      const expected = isRight(registry, server.bindings, question)
      // Cold on some replica, if nobody has asked it yet, and warm on one of them.
      for (const { service } of [randomItem(random, [first, second]), first]) {
        const answered = await send(service, question)
        const isAnswered = answered.status === 200 || answered.status === 404
        const text = `seed ${seed}: ${question.user} ${question.path} ${answered.status}`
        assert.ok(isAnswered || answered.status === 403, text)
        assert.equal(isAnswered, expected, text)
        if (answered.status === 200) checkContents(question, answered)
        seen[expected ? 'allowed' : 'denied']++
      }
    })
  }
  t.comment(`${seen.allowed} allowed, ${seen.denied} denied, ${server.paths.length} reviews`)
  const all = rounds * questions * 2
  t.equal(seen.allowed + seen.denied, all)
  t.ok(seen.allowed > all / 10 && seen.denied > all / 10)
})

t.test('so are those in front of an upstream, where what is denied passes', async t => {
  const random = createRandom(seed)
  let bindings: Binding[] = []
  const service = { logger: silentLogger }
  const proxied = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
    service,
  })
  const { upstream, client } = proxied
  const registry = upstream.service.registry.state.registry
  const everybody = new Map([...users, ['ours', identity('ours', 'system:masters')]])
  const guard = { users: everybody, registry: () => registry, bindings: () => bindings }
  upstream.before = createGuard(guard)
  await fill(client)
  const replica = await startFront(client, upstream, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
  })
  t.teardown(() => replica.stop())
  const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
  t.teardown(() => agent.destroy())
  const send = asking(agent)
  const replicas = [proxied.service, replica]
  const served = replicas.map(one => ({ client, service: one, clock: systemClock }) as never)
  // A busy machine lets more of them pass.
  const enough = (rounds * upstreamQuestions) / 5
  let mirrored = 0
  for (let round = 0; round < rounds || mirrored <= enough; round++) {
    bindings = randomBindings(random)
    const revision = await changeRules(client)
    await Promise.all(served.map(one => caughtUp(one, revision)))
    await inParallel(upstreamQuestions, async () => {
      const question = { user: randomItem(random, people), path: randomPath(random) }
      const expected = isRight(registry, bindings, question)
      for (const one of [randomItem(random, replicas), proxied.service]) {
        const { status, origin } = await send(one, question)
        const text = `seed ${seed}: ${question.user} ${question.path} ${status} ${origin}`
        assert.equal(status !== 403, expected, text)
        if (origin.startsWith('mirror')) assert.ok(expected, text)
        if (origin.startsWith('mirror')) mirrored++
      }
    })
  }
  t.comment(`${mirrored} answered from the mirror`)
})
