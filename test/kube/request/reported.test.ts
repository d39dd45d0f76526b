import t from 'tap'
import { listScopeOf, reportedOf, reportedPath } from '../../../lib/kube/request/reported.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { routeRequest } from '../../../lib/kube/request/routes.ts'
import { parseFieldSelector } from '../../../lib/kube/selectors/field-selector.ts'
import { registryAt } from '../../support/kube/kube-golden.ts'

const registry = registryAt(708)
const apply = 'application/apply-patch+yaml'

/** The labels that depend on the request: verb, scope, resource, subresource, dry run. */
function reported(method: string, url: string, contentType?: string): string {
  const target = parseTarget(url)
  if (target === undefined) throw new Error(url)
  const route = routeRequest(method, target.path, registry)
  if (route.type !== 'resource') throw new Error(`${method} ${url} is ${route.type}`)
  const labels = reportedOf(route, { method, contentType, target })
  const { verb, scope, resource, subresource, dryRun } = labels
  return [verb, scope, resource, subresource, dryRun].join('|')
}

t.test('a request has the verb and the scope of kube-apiserver', async t => {
  const pods = '/api/v1/namespaces/a/pods'
  const named = 'fieldSelector=metadata.name%3Dp'
  const cases: readonly (readonly [string, string, string, string?])[] = [
    ['GET', `${pods}/p`, 'GET|resource|pods||'],
    ['HEAD', '/apis/example.com/v1/namespaces/a/widgets/w', 'GET|resource|widgets||'],
    ['GET', pods, 'LIST|namespace|pods||'],
    ['GET', '/api/v1/pods', 'LIST|cluster|pods||'],
    ['GET', '/api/v1/nodes', 'LIST|cluster|nodes||'],
    ['GET', '/api/v1/namespaces/a', 'GET|resource|namespaces||'],
    ['GET', '/api/v1/nodes/n', 'GET|resource|nodes||'],
    ['GET', '/api/v1/pods?watch=true', 'WATCH|cluster|pods||'],
    ['GET', `${pods}?watch=1`, 'WATCH|namespace|pods||'],
    ['GET', `${pods}?watch=false`, 'LIST|namespace|pods||'],
    ['GET', `${pods}?watch=0`, 'LIST|namespace|pods||'],
    ['GET', '/api/v1/watch/pods', 'WATCH|cluster|pods||'],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'WATCH|namespace|pods||'],
    ['GET', '/api/v1/watch/namespaces/a/pods/p', 'WATCH|resource|pods||'],
    ['POST', pods, 'POST|resource|pods||'],
    ['POST', '/api/v1/namespaces', 'POST|resource|namespaces||'],
    ['POST', `${pods}/p/binding`, 'POST|resource|pods|binding|'],
    ['PUT', `${pods}/p/status`, 'PUT|resource|pods|status|'],
    ['PATCH', `${pods}/p`, 'PATCH|resource|pods||', 'application/merge-patch+json'],
    ['PATCH', `${pods}/p`, 'APPLY|resource|pods||', apply],
    ['PATCH', `${pods}/p`, 'PATCH|resource|pods||', `${apply}; charset=utf-8`],
    ['DELETE', `${pods}/p`, 'DELETE|resource|pods||'],
    ['DELETE', pods, 'DELETE|namespace|pods||'],
    ['DELETE', '/api/v1/nodes', 'DELETE|cluster|nodes||'],
    ['GET', `${pods}/p/log`, 'CONNECT|resource|pods|log|'],
    ['POST', `${pods}/p/exec`, 'CONNECT|resource|pods|exec|'],
    ['GET', `${pods}/p/attach`, 'CONNECT|resource|pods|attach|'],
    ['POST', `${pods}/p/portforward`, 'CONNECT|resource|pods|portforward|'],
    ['GET', '/api/v1/nodes/n/proxy', 'CONNECT|resource|nodes|proxy|'],
    ['POST', `${pods}?dryRun=All`, 'POST|resource|pods||All'],
    ['POST', `${pods}?dryRun=All&dryRun=All`, 'POST|resource|pods||All'],
    ['POST', `${pods}?dryRun=some`, 'POST|resource|pods||invalid'],
    ['POST', `${pods}?dryRun=All&dryRun=`, 'POST|resource|pods||invalid'],
    ['GET', `${pods}?${named}`, 'LIST|namespace|pods||'],
    ['GET', `/apis/example.com/v1/widgets?${named}`, 'GET|resource|widgets||'],
  ]
  for (const [method, url, expected, contentType] of cases) {
    t.equal(reported(method, url, contentType), expected, `${method} ${url}`)
  }
})

t.test('the path of a server itself stands for the subresource', async t => {
  t.match(reportedPath('/readyz', ''), {
    verb: 'GET',
    subresource: '/readyz',
    scope: '',
    resource: '',
    component: '',
  })
})

/** listScope of apiserver/pkg/endpoints/metrics. */
t.test('the scope of a list is that of its namespace or its selector', async t => {
  const keyspace = '/registry/pods/'
  const scope = (fields: string, inNamespace: boolean): string => {
    const prefix = inNamespace ? '/registry/pods/a/' : keyspace
    return listScopeOf({ fields: parseFieldSelector(fields), prefix, keyspace })
  }
  t.equal(scope('', false), 'cluster')
  t.equal(scope('', true), 'namespace')
  t.equal(scope('metadata.name=p', true), 'resource')
  t.equal(scope('metadata.name=p', false), 'resource')
  t.equal(scope('metadata.namespace=a', false), 'namespace')
  t.equal(scope('spec.nodeName=n', false), 'cluster')
})
