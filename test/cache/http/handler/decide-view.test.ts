/** Views of what the mirror does not answer: each is refused with a Status that says why. */

import t from 'tap'
import { decideView, viewNotHere } from '../../../../lib/cache/http/handler/decide-view.ts'
import type { Decision, PassReason } from '../../../../lib/kube/decide.ts'
import type { KnownRequest } from '../../../../lib/kube/recent-requests.ts'
import type { Route } from '../../../../lib/kube/request/routes.ts'
import { builtIn } from '../../../support/kube/kube-builders.ts'

const pods: Route = {
  type: 'resource',
  resource: builtIn('pods'),
  verb: 'list',
  subresource: '',
  namespace: 'a',
  name: '',
} as Route
const remote: Route = { type: 'remote', group: 'metrics.k8s.io', version: 'v1beta1' }

t.test('what keeps a list from being answered here is said in words', t => {
  const cases: readonly (readonly [Route, PassReason, code: number, message: RegExp])[] = [
    [
      pods,
      'impersonation',
      405,
      /^views of "pods" are not answered here: only the API server, which has no views, knows who may impersonate whom; ask as that user$/,
    ],
    [pods, 'excluded', 405, /^views of "pods" are not answered here: they are not mirrored$/],
    [pods, 'conversion', 405, /: a webhook converts them, which only the API server calls$/],
    [pods, 'stored-version', 405, /^views of "pods" are not answered here: stored-version$/],
    [pods, 'not-ready', 503, /^views of "pods" cannot be answered at the moment: not-ready$/],
    [pods, 'denied', 403, /^pods is forbidden: the caller cannot list them in the namespace "a"$/],
    [pods, 'unauthenticated', 401, /^Unauthorized$/],
    [
      remote,
      'other-server',
      405,
      /^views of "metrics.k8s.io\/v1beta1" are not answered here: another API server answers for them$/,
    ],
    [{ type: 'unknown' } as Route, 'unknown-resource', 404, /^the server could not find/],
  ]
  for (const [route, reason, code, message] of cases) {
    t.match(viewNotHere(reason, route), { code, message }, reason)
  }
  t.end()
})

t.test('only lists that the mirror answers have views', t => {
  const decided = (decision: Decision, route: Route): Decision =>
    decideView(decision, { route } as KnownRequest)
  const mirror: Decision = { type: 'mirror' }
  const cluster: Decision = { type: 'cluster' }
  t.equal(decided(mirror, pods), mirror)
  t.match(decided(mirror, { ...pods, verb: 'get' } as Route), { status: { code: 404 } })
  t.match(decided(cluster, pods), {
    type: 'refuse',
    status: { code: 405, message: /they are measured for each request, and not stored$/ },
  })
  t.match(decided(cluster, { ...pods, subresource: 'log' } as Route), { status: { code: 404 } })
  t.match(decided({ type: 'unavailable' }, remote), { status: { code: 503 } })
  t.match(decided({ type: 'unknown' }, remote), { status: { code: 404 } })
  t.end()
})
