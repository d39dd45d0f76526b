import t from 'tap'
import { routeRequest, uninterpretable } from '../../../lib/kube/request/routes.ts'
import { registryAt } from '../../support/kube/kube-golden.ts'

const registry = registryAt(708)

/** A route in short: what it leads to, and with which verb. */
function route(method: string, path: string): string {
  const found = routeRequest(method, path, registry)
  switch (found.type) {
    case 'resource': {
      const { resource, verb, namespace, name, subresource } = found
      return [verb, resource.resource, namespace, name, subresource].join('|')
    }
    case 'discovery':
      return `discovery ${found.document}`
    case 'failure':
      return `${found.status.code}`
    case 'remote':
    case 'path':
    case 'unknown':
      return found.type
  }
}

t.test('built-in resources have the paths and methods of their verbs', async t => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/api/v1/pods', 'list|pods|||'],
    ['POST', '/api/v1/pods', '405'],
    ['POST', '/api/v1/namespaces/a/pods', 'create|pods|a||'],
    ['DELETE', '/api/v1/namespaces/a/pods', 'deletecollection|pods|a||'],
    ['DELETE', '/api/v1/namespaces', '405'],
    ['DELETE', '/api/v1/nodes', 'deletecollection|nodes|||'],
    ['GET', '/api/v1/namespaces/a', 'get|namespaces||a|'],
    ['PUT', '/api/v1/namespaces/a/finalize', 'update|namespaces||a|finalize'],
    ['GET', '/api/v1/namespaces/a/finalize', '405'],
    ['GET', '/api/v1/namespaces/a/pods/p/log', 'get|pods|a|p|log'],
    ['PUT', '/api/v1/namespaces/a/pods/p/log', '405'],
    ['HEAD', '/api/v1/namespaces/a/pods/p/proxy/x/y', 'get|pods|a|p|proxy'],
    ['GET', '/api/v1/namespaces/a/pods/p/log/x', '404'],
    ['GET', '/api/v1/bindings', '404'],
    ['GET', '/api/v1/namespaces/a/bindings', '405'],
    ['GET', '/api/v1/watch/pods', 'watch|pods|||'],
    ['GET', '/api/v1/watch/namespaces/a/pods/p', 'watch|pods|a|p|'],
    ['GET', '/api/v1/watch/nodes/n', 'watch|nodes||n|'],
    ['POST', '/api/v1/watch/pods', '405'],
    ['GET', '/api/v1/watch/componentstatuses', '404'],
    ['GET', '/api/v1/watch', 'path'],
    ['GET', '/api/v1/watch/namespaces/a/pods/p/status', '404'],
    ['GET', '/apis/apps/v1/namespaces/a', '404'],
    ['GET', '/apis/apps//deployments', '404'],
    ['constructor', '/api/v1/pods', '405'],
    ['OPTIONS', '/api/v1/namespaces/a/pods/p/proxy', 'get|pods|a|p|proxy'],
    ['HEAD', '/api/v1/nodes/n/proxy', 'get|nodes||n|proxy'],
    ['TRACE', '/api/v1/nodes/n/proxy', '405'],
    ['HEAD', '/api/v1/namespaces/a/pods/p/log', '405'],
    ['OPTIONS', '/api/v1/namespaces/a/pods/p/log', '405'],
    ['GET', '/api/v1/proxy', 'path'],
    ['GET', '/apis/apps/v1/proxy/', 'path'],
    ['GET', '/apis/apps/v1/watch', 'path'],
    ['GET', '/api/v1/pods/proxy', '404'],
    ['GET', '/api/v1/nodes/proxy', 'get|nodes||proxy|'],
    ['GET', '/api/v1/nodes/watch', 'get|nodes||watch|'],
  ]
  for (const [method, path, expected] of cases) t.equal(route(method, path), expected, path)
})

t.test('custom resources are found by the rules of their own router', async t => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/apis/example.com/v1/widgets', 'list|widgets|||'],
    ['HEAD', '/apis/example.com/v1/namespaces/a/widgets/w', 'get|widgets|a|w|'],
    ['OPTIONS', '/apis/example.com/v1/namespaces/a/widgets', '405'],
    ['OPTIONS', '/apis/example.com/v1/widgets', 'unknown'],
    ['DELETE', '/apis/example.com/v1/widgets', 'unknown'],
    ['PUT', '/apis/example.com/v1/namespaces/a/widgets', '400'],
    ['GET', '/apis/example.com/v1/namespaces/a/realms', 'unknown'],
    ['GET', '/apis/example.com/v1/realms/r/status', '404'],
    ['GET', '/apis/example.com/v1/namespaces/a/widgets/w/scale', 'get|widgets|a|w|scale'],
    ['PATCH', '/apis/example.com/v1/namespaces/a/widgets/w/scale', 'patch|widgets|a|w|scale'],
    ['POST', '/apis/example.com/v1/namespaces/a/widgets/w/scale', '405'],
    ['DELETE', '/apis/example.com/v1/namespaces/a/widgets/w/scale', '405'],
    ['POST', '/apis/example.com/v1/watch/namespaces/a/widgets/w/scale', '405'],
    ['GET', '/apis/example.com/v1/watch/namespaces/a/widgets', 'watch|widgets|a||'],
    ['POST', '/apis/example.com/v1/watch/widgets', '405'],
    ['GET', '/apis/multi.example.com/v0/gadgets', 'unknown'],
    ['GET', '/apis/example.com/v9', 'unknown'],
    ['GET', '/apis/example.com', 'discovery group'],
    ['GET', '/apis/example.com/v1', 'discovery resources'],
    ['PUT', '/apis/ext.example.com', 'discovery group'],
    ['PUT', '/apis/example.com/v1', 'discovery resources'],
    ['GET', '/apis/example.com//', 'discovery group'],
    ['GET', '/apis/example.com//widgets', 'unknown'],
    ['HEAD', '/apis/example.com/v1/watch/namespaces/a/widgets', 'watch|widgets|a||'],
    ['PATCH', '/apis/example.com/v1/namespaces/a/widgets', '400'],
    ['GET', '/apis/example.com/v1/namespaces/a/widgets/w/other', '404'],
    ['GET', '/apis/example.com/v1/proxy/namespaces/a/widgets/w', '405'],
  ]
  for (const [method, path, expected] of cases) t.equal(route(method, path), expected, path)
})

t.test('everything else is a document, another server, or nothing', async t => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/api', 'discovery core'],
    ['GET', '/apis/', 'discovery groups'],
    ['HEAD', '/api', '405'],
    ['GET', '/version/', 'discovery version'],
    ['GET', '/version/x', '404'],
    ['GET', '/apis/ext.example.com', 'discovery group'],
    ['GET', '/apis/ext.example.com/v1alpha1/things', 'remote'],
    ['GET', '/apis//v1/pods', 'unknown'],
    ['GET', '/apis/nope/v1/x', 'unknown'],
    ['GET', '/healthz', 'path'],
    ['GET', '/apisx', 'path'],
  ]
  for (const [method, path, expected] of cases) t.equal(route(method, path), expected, path)
})

t.test('a name that is needed is asked for', async t => {
  const found = routeRequest('PUT', '/apis/example.com/v1/namespaces/a/widgets', registry)
  t.match(found, { type: 'failure', status: { code: 400, message: 'name must be provided' } })
})

t.test('a path whose kind cannot be told has the text of kube-apiserver', async t => {
  t.equal(
    uninterpretable('/api/v1/watch', '/api/v1/watch?a=<&>'),
    'Internal Server Error: "/api/v1/watch?a=&lt;&amp;&gt;": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch?a=&lt;&amp;&gt;\n',
  )
  for (const path of ['/api/v1/watch', '/api/v1/proxy/', '/apis/apps/v1/watch//']) {
    t.type(uninterpretable(path, path), 'string', path)
  }
  for (const path of [
    '/api/watch',
    '/other/v1/watch',
    '/apis/v1/watch',
    '/api/v1/a/watch',
    '/watch',
  ]) {
    t.equal(uninterpretable(path, path), undefined, path)
  }
})
