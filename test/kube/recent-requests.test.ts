import t from 'tap'
import { createRandom, randomInt, randomItem } from '../../lib/base/random.ts'
import { RecentRequests } from '../../lib/kube/recent-requests.ts'
import { routeRequest } from '../../lib/kube/request/routes.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import { registryAt } from '../support/kube/kube-golden.ts'
import { collector } from '../support/program/collector.ts'

const [before, after] = [registryAt(1), registryAt(708)]

t.test('a request means the same whether it is remembered or not', async t => {
  const recent = new RecentRequests()
  const random = createRandom(20261123)
  const paths = [
    '/api/v1/pods',
    '/api/v1/nodes/n',
    '/apis/example.com/v1/widgets',
    '/a b',
    '*',
    '/x\u0100',
  ]
  const targets = (): string => `${randomItem(random, paths)}?limit=${randomInt(random, 0, 2_000)}`
  for (let i = 0; i < 8_000; i++) {
    // The custom resource is not there before.
    const registry = i < 2_000 || i > 6_000 ? before : after
    const method = randomItem(random, ['GET', 'GET', 'GET', 'POST', 'HEAD'])
    const raw = randomItem(random, [paths[0]!, paths[2]!, targets(), `/${'l'.repeat(300)}`])
    const known = recent.find(method, raw, registry)
    const target = parseTarget(raw)
    if (target === undefined) t.equal(known, undefined, raw)
    else {
      const route = routeRequest(method, target.path, registry)
      t.strictSame(
        known && { target: known.target, route: known.route.type },
        { target, route: route.type },
        raw,
      )
    }
  }
})

t.test(
  'who answers a line is remembered, with an upgrade of its connection or without',
  async t => {
    const recent = new RecentRequests()
    const policy = { hasUpstream: false, hasCluster: true, isExcluded: () => false }
    const deciding = (path: string, takeover?: object): string =>
      recent.find('GET', path, after)!.decide({ headers: {}, takeover }, '', policy).type
    const exec = '/api/v1/namespaces/a/pods/p/exec?command=sh'
    // Whoever takes writes looks for the pod first, and then at the upgrade.
    for (const takeover of [undefined, {}, undefined]) t.equal(deciding(exec, takeover), 'cluster')
    t.equal(deciding('/api/v1/pods'), 'mirror')
    t.equal(deciding('/api/v1/pods'), 'mirror')
  },
)

t.test('what was asked for lately is remembered, and of the requests nothing else', async t => {
  const recent = new RecentRequests()
  const first = recent.find('GET', '/api/v1/pods', after)
  t.equal(recent.find('GET', '/api/v1/pods', after), first)
  t.not(recent.find('POST', '/api/v1/pods', after)?.route, first?.route)
  const collect = collector()
  collect()
  const { heapUsed } = process.memoryUsage()
  for (let i = 0; i < 10_000; i++) {
    const request = `GET /api/v1/pods?limit=${i} HTTP/1.1 ${'authorization: secret'.repeat(500)} ${i}`
    recent.find('GET', request.slice(4, request.indexOf(' HTTP')), after)
  }
  collect()
  const grown = (process.memoryUsage().heapUsed - heapUsed) / 2 ** 20
  t.ok(grown < 4, `grown by ${grown} MiB`)
  t.not(recent.find('GET', '/api/v1/pods', after), first, 'what is old is forgotten')
})
