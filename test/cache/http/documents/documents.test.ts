import t from 'tap'
import { ask, askOver2, type HttpAnswer, startServed } from '../../../support/http/served.ts'

const aggregated = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const router = '406: Not Acceptable'
const handler = 'only the following media types are accepted'

function messageOf({ body }: HttpAnswer): string {
  return (JSON.parse(body.toString()) as { message: string }).message
}

t.test('documents that the router knows are refused by it, others by their handler', async t => {
  const { service } = await startServed(t)
  for (const [path, accept, expected] of [
    ['/version', 'text/html', `${router}\n\nAvailable representations: application/json`],
    ['/version', 'application/*', router],
    ['/api', 'text/html', router],
    ['/api', `application/*;${aggregated}`, router],
    ['/api', 'application/json;as=Table;v=v1;g=meta.k8s.io', handler],
    ['/api/v1', 'application/cbor', router],
    ['/apis/apps/v1', 'text/html', router],
    ['/apis', 'text/html', handler],
    ['/apis/apps', 'text/html', handler],
  ] as const) {
    const answer = await ask(service.port, { path, headers: { accept } })
    t.equal(answer.status, 406, `${path} ${accept}`)
    t.match(messageOf(answer), expected, `${path} ${accept}`)
  }
})

t.test('the aggregated document comes in every form, for the clause that names it', async t => {
  const { service } = await startServed(t)
  for (const [accept, type] of [
    [`application/json;${aggregated}`, 'application/json'],
    [`application/yaml;${aggregated}`, 'application/yaml'],
    [`application/vnd.kubernetes.protobuf;${aggregated}`, 'application/vnd.kubernetes.protobuf'],
    [`*/*;${aggregated}`, 'application/json'],
    [`application/yaml, application/json;${aggregated}`, 'application/json'],
    [`application/json;${aggregated};q=0.5, application/yaml`, 'application/json'],
  ] as const) {
    const { status, headers } = await ask(service.port, { path: '/apis', headers: { accept } })
    t.equal(status, 200)
    t.equal(headers['content-type'], `${type};${aggregated}`, accept)
    t.ok(headers.etag)
  }
})

t.test('/apis with a slash at its end has no aggregated document; /api has', async t => {
  const { service } = await startServed(t)
  for (const [path, accept, status, type] of [
    ['/apis/', `application/json;${aggregated}`, 406, 'application/json'],
    ['/apis/', `application/json;${aggregated},application/json`, 200, 'application/json'],
    ['/api/', `application/json;${aggregated}`, 200, `application/json;${aggregated}`],
  ] as const) {
    const answer = await ask(service.port, { path, headers: { accept } })
    t.equal(answer.status, status, `${path} ${accept}`)
    t.equal(answer.headers['content-type'], type, `${path} ${accept}`)
  }
})

t.test('of several Accept headers the first counts', async t => {
  const { service } = await startServed(t)
  const sent = {
    path: '/api/v1/namespaces',
    headers: { accept: ['application/yaml', 'application/json'] },
  }
  for (const answer of [await ask(service.port, sent), await askOver2(service.port, sent)]) {
    t.equal(answer.headers['content-type'], 'application/yaml')
  }
})

t.test('paths that are no REST do not ask for the method', async t => {
  const { service } = await startServed(t)
  for (const [method, path, status] of [
    ['POST', '/livez', 200],
    ['OPTIONS', '/readyz', 200],
    ['PATCH', '/apis', 200],
    ['PUT', '/apis/apps', 200],
    ['POST', '/apis/apps/v1', 405],
    ['POST', '/api', 405],
    ['DELETE', '/version', 405],
    ['GET', '/livez/ping', 200],
    ['GET', '/livez/', 404],
    ['GET', '/healthz/ping/', 404],
  ] as const) {
    t.equal((await ask(service.port, { method, path })).status, status, `${method} ${path}`)
  }
})

t.test('a special verb with nothing behind it is no request that upstream understands', async t => {
  const { service } = await startServed(t)
  for (const path of [
    '/api/v1/watch',
    '/apis/apps/v1/watch/',
    '/api/v1/proxy',
    '/apis/x/v1/watch?a=<',
  ]) {
    const { status, body } = await ask(service.port, { path })
    const shown = path.replace('<', '&lt;')
    const reason = 'failed to create RequestInfo: unable to determine kind and namespace from url'
    t.equal(status, 500)
    t.equal(body.toString(), `Internal Server Error: "${shown}": ${reason}, ${shown}\n`)
  }
})

t.test('bytes that are no UTF-8 are shown as Go shows them', async t => {
  const { service } = await startServed(t)
  const configMaps = '/api/v1/namespaces/a/configmaps'
  for (const [path, expected] of [
    [`${configMaps}/a%ff`, String.raw`"message":"configmaps \"a\\xff\" not found"`],
    [`${configMaps}/a%ff`, String.raw`"details":{"name":"a\ufffd"`],
    [`${configMaps}?fieldSelector=%c3%28`, String.raw`invalid selector: '\ufffd('`],
    [`${configMaps}?fieldSelector=%ff%3Da`, String.raw`"\"\\xff\" is not a known field selector`],
    [`${configMaps}?limit=%ed%a0%80`, String.raw`parsing \"\\xed\\xa0\\x80\"`],
    [`${configMaps}?timeout=%ff`, String.raw`invalid duration \"\\xff\"`],
    [`${configMaps}?resourceVersionMatch=%ff&resourceVersion=1`, String.raw`value: \"\\ufffd\"`],
  ] as const) {
    const { body } = await ask(service.port, { path })
    t.ok(body.toString().includes(expected), `${path}: ${body.toString()}`)
  }
})

t.test('a patch in a form that nobody knows is refused before anything else', async t => {
  const { service } = await startServed(t)
  const path = '/api/v1/namespaces/a/configmaps/missing'
  for (const [type, status] of [
    ['text/plain', 415],
    ['application/json', 415],
    ['application/merge-patch+json; charset=utf-8', 405],
  ] as const) {
    const answer = await ask(service.port, {
      method: 'PATCH',
      path,
      headers: { 'content-type': type },
      body: '{}',
    })
    t.equal(answer.status, status, type)
  }
})

t.test('subresources that are whole objects read as such, some without Tables', async t => {
  const { service } = await startServed(t)
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  for (const [path, status] of [
    ['/api/v1/nodes/none/status', 404],
    ['/api/v1/namespaces/a/pods/none/status', 404],
    ['/api/v1/namespaces/a/pods/none/ephemeralcontainers', 406],
    ['/api/v1/namespaces/a/pods/none/resize', 406],
    ['/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval', 406],
    ['/apis/certificates.k8s.io/v1/certificatesigningrequests/none/status', 404],
    ['/apis/apiregistration.k8s.io/v1/apiservices/none/status', 406],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions/none/status', 406],
    ['/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/none/status', 406],
    ['/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/none', 404],
  ] as const) {
    const answer = await ask(service.port, { path, headers: { accept: table } })
    t.equal(answer.status, status, path)
    if (status === 406) t.match(messageOf(answer), handler, path)
    const plain = await ask(service.port, { path, headers: { accept: 'application/json' } })
    t.equal(plain.status, 404, path)
  }
})

t.test('whatever is asked for, a time that is over before its answer is a 504', async t => {
  const { service } = await startServed(t)
  const paths = [
    '/api',
    '/apis/apps/v1',
    '/version',
    '/nope',
    '/api/v1/pods',
    '/api/v1/pods?limit=x',
  ]
  for (const path of paths) {
    const timed = `${path}${path.includes('?') ? '&' : '?'}timeout=1ns`
    const { status, body, headers } = await ask(service.port, { path: timed })
    t.equal(status, 504, path)
    t.equal(headers['content-type'], 'text/plain; charset=utf-8')
    t.match(body.toString(), /^{"metadata":{},"status":"Failure","message":"Timeout: request did/)
    t.not((await ask(service.port, { path: timed.replace('1ns', '1h') })).status, 504)
  }
})
