/** Views in front of an upstream, which knows none: what would pass as a list is refused, and
 *  nothing of a view ever reaches it. */

import t from 'tap'
import type { HttpAnswer } from '../../support/http/served.ts'
import { createGuard } from '../../support/upstream/guard.ts'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'
import { moment } from '../../support/http/moment.ts'
import { identity } from '../../support/upstream/reviews.ts'
import type { Binding } from '../../support/upstream/rules.ts'

const users = new Map([
  ['alice', identity('alice')],
  ['root', identity('root', 'system:masters')],
  ['ours', identity('watchglass')],
])

const everything: readonly Binding['rules'][number][] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

const json = ({ body }: HttpAnswer): object => JSON.parse(body.toString()) as object

t.test('an upstream decides who may view what, and is asked nothing else', async t => {
  const proxied = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
    objects: [
      ['/api/v1/namespaces/a/configmaps', configMap('x', '1')],
      ['/api/v1/namespaces/b/configmaps', configMap('x', '2')],
    ],
  })
  const { upstream, service, get } = proxied
  const guard = createGuard({
    users,
    bindings: () => [
      { subjects: ['watchglass'], namespace: '', rules: everything },
      { subjects: ['alice'], namespace: 'a', rules: [everything[0]!] },
    ],
  })
  const asked: string[] = []
  upstream.before = (request, response) => {
    asked.push(String(request.url))
    return guard(request, response)
  }
  await answeredHere({ service }, '', 'v1', 'configmaps')
  const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
  const path = (namespace: string): string => `/views/api/v1/namespaces/${namespace}/configmaps`

  const allowed = await get(path('a'), as('alice'))
  t.equal(allowed.status, 200)
  t.equal(originOf(allowed), 'mirror')
  t.match(json(allowed), { total: 1, rows: [{ name: 'x', namespace: 'a' }] })

  const cases: readonly (readonly [
    path: string,
    headers: Record<string, string>,
    code: number,
    message: RegExp,
  ])[] = [
    [
      path('b'),
      as('alice'),
      403,
      /^configmaps is forbidden: the caller cannot list them in the namespace "b"$/,
    ],
    ['/views/api/v1/configmaps', as('alice'), 403, /at the cluster scope$/],
    [path('a'), {}, 401, /^Unauthorized$/],
    [path('a'), as('stranger'), 401, /^Unauthorized$/],
    [
      path('a'),
      { ...as('root'), 'impersonate-user': 'alice' },
      405,
      /not answered here: only the API server, .* may impersonate whom; ask as that user$/,
    ],
    ['/views/api/v1/nobodies', as('root'), 404, /^the server could not find/],
    ['/views/version', as('root'), 404, /^the server could not find/],
    [`${path('a')}?nonsense=1`, as('alice'), 400, /nonsense/],
  ]
  for (const [path, headers, code, message] of cases) {
    const answer = await get(path, headers)
    t.equal(answer.status, code, path)
    t.match(json(answer), { kind: 'Status', code, message }, path)
  }

  service.readSwitch?.toggle()
  const off = await get(path('a'), as('alice'))
  t.match(json(off), { code: 503, message: /at the moment: switched-off$/ })
  t.equal(off.headers['retry-after'], '1')
  t.strictSame(
    asked.filter(url => url.includes('/views')),
    [],
  )
})

t.test('a resource that is mirrored on demand is mirrored for its first view', async t => {
  const { upstream, get } = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
    objects: [['/api/v1/namespaces/a/configmaps', configMap('x', '1')]],
    service: { source: { isWantedAtStart: () => false } },
  })
  upstream.before = createGuard({
    users,
    bindings: () => [
      { subjects: ['watchglass'], namespace: '', rules: everything },
      { subjects: ['alice'], namespace: 'a', rules: [everything[0]!] },
    ],
  })
  const headers = { authorization: 'Bearer alice' }
  const path = '/views/api/v1/namespaces/a/configmaps'
  let answer = await get(path, headers)
  t.match(json(answer), { code: 503, message: /at the moment: (?:not-ready|not-listed|version)$/ })
  while (answer.status !== 200) {
    await moment()
    answer = await get(path, headers)
  }
  t.match(json(answer), { total: 1 })
  t.equal((await get('/views/api/v1/namespaces/b/secrets', headers)).status, 403)
})
