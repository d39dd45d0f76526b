import t from 'tap'
import { parseQuery, parseTarget, requestInfo } from '../../../lib/kube/request/request.ts'

t.test('a target is taken apart as net/url does', async t => {
  t.equal(parseTarget('/api/v1/pods?limit=1')?.path, '/api/v1/pods')
  t.equal(parseTarget('http://host:1/api?x')?.path, '/api')
  t.equal(parseTarget('https://host')?.path, '/')
  t.equal(parseTarget('/a%2Fb%20c')?.path, '/a/b c')
  t.equal(parseTarget('/%C3%A9')?.path, '/é')
  for (const bad of ['', 'x', '*', '/%zz', '/%4', '/a b', '/\n', 'ftp://x/']) {
    t.equal(parseTarget(bad), undefined, bad)
  }
})

t.test('a path that servers read differently is not canonical', async t => {
  for (const path of ['/api/v1/pods', '/api/v1/pods/', '/', '/api/v1/namespaces/a/pods/web%2D1']) {
    t.equal(parseTarget(path)?.isCanonical, true, path)
  }
  for (const path of [
    '//api',
    '/a//b',
    '/a/./b',
    '/a/..',
    '/a%2fb',
    '/a/%2e%2e/b',
    '/%ff',
    '/a%00',
    '/a//',
    '/a%5cb',
  ]) {
    t.equal(parseTarget(path)?.isCanonical, false, path)
  }
})

t.test('a pair with a bad escape or a semicolon is dropped, the others count', async t => {
  const query = parseQuery('a=1&b=%zz&c=2;d=3&a=4&e&=x&f=+%2B&%zz=1')
  t.equal(query.first('a'), '1')
  t.equal(query.first('b'), undefined)
  t.equal(query.first('c'), undefined)
  t.equal(query.first('e'), '')
  t.equal(query.first('f'), ' +')
  t.equal(query.first('__proto__'), undefined)
  t.strictSame(query.names(), ['a', 'e', '', 'f'])
})

t.test('only 0 and false are false', async t => {
  const query = parseQuery('a=0&b=False&c=no&d&e=')
  t.strictSame(
    ['a', 'b', 'c', 'd', 'e', 'f'].map(name => query.optionalFlag(name)),
    [false, false, true, true, true, undefined],
  )
})

t.test('a request info is what authorization upstream sees', async t => {
  const info = (method: string, path: string): string => {
    const found = requestInfo(method, path)
    if (found === undefined) return 'none'
    const { verb, group, version, namespace, resource, subresource, name } = found
    return [verb, group, version, namespace, resource, name, subresource].join('|')
  }
  const cases: readonly (readonly [string, string, string])[] = [
    ['GET', '/api/v1/pods', 'get||v1||pods||'],
    ['GET', '/api/v1/namespaces/shop/pods/web', 'get||v1|shop|pods|web|'],
    ['GET', '/api/v1/namespaces/shop', 'get||v1|shop|namespaces|shop|'],
    ['PUT', '/api/v1/namespaces/shop/status', 'update||v1|shop|namespaces|shop|status'],
    ['GET', '/api/v1/namespaces//pods', 'get||v1||pods||'],
    [
      'DELETE',
      '/apis/apps/v1/namespaces/a/deployments',
      'deletecollection|apps|v1|a|deployments||',
    ],
    ['DELETE', '/apis/apps/v1/namespaces/a/deployments/d', 'delete|apps|v1|a|deployments|d|'],
    [
      'PATCH',
      '/apis/apps/v1/namespaces/a/deployments/d/scale',
      'patch|apps|v1|a|deployments|d|scale',
    ],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'watch||v1|a|pods||'],
    ['GET', '/api/v1/proxy/nodes/n/metrics', 'proxy||v1||nodes|n|'],
    ['FOO', '/api/v1/pods', '||v1||pods||'],
    ['GET', '/api/v1', 'none'],
    ['GET', '/apis/apps/v1', 'none'],
    ['GET', '/healthz/a/b', 'none'],
    ['GET', '/api/v1/watch', 'none'],
  ]
  for (const [method, path, expected] of cases) t.equal(info(method, path), expected, path)
})
