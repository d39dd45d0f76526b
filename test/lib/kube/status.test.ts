import t from 'tap'
import { CacheError, type ErrorCode } from '../../../lib/base/errors.ts'
import {
  forbidden,
  forbiddenPath,
  initializing,
  notAcceptable,
  statusFromError,
  statusJson,
  unauthorized,
} from '../../../lib/kube/status.ts'
import { exchanges } from '../../golden/load.ts'

t.test('every failure of the layers below is a Status', async t => {
  const codes: Readonly<Record<ErrorCode, number>> = {
    invalid_request: 400,
    not_found: 404,
    expired: 410,
    future_revision: 504,
    conflict: 409,
    too_large: 413,
    not_ready: 429,
    overloaded: 429,
    unsupported: 405,
    unauthorized: 503,
    upstream_failed: 502,
    source_failed: 503,
    closed: 503,
  }
  for (const [code, expected] of Object.entries(codes)) {
    const status = statusFromError(new CacheError(code as ErrorCode, 'why'))
    t.equal(status.code, expected, code)
    t.equal((JSON.parse(statusJson(status)) as { message: string }).message, 'why')
  }
  const { details } = statusFromError(new CacheError('not_ready', 'x', { retryAfterMs: 1 }))
  t.equal(details?.retryAfterSeconds, 1)
})

t.test('texts are escaped as Go does, and empty members are left out', async t => {
  t.equal(
    statusJson({ code: 400, message: '<nil> & "x"', details: { name: '', causes: [] } }),
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",' +
      '"message":"\\u003cnil\\u003e \\u0026 \\"x\\"","details":{},"code":400}\n',
  )
})

t.test('recorded refusals of other layers have the same bodies', async t => {
  const bodyOf = (id: string): string | undefined =>
    exchanges().find(exchange => exchange.id === id)?.response.body
  const alice = {
    user: 'alice',
    verb: 'get',
    group: '',
    resource: 'pods',
    subresource: '',
    namespace: 'shop',
    name: 'web-1',
  }
  t.equal(statusJson(forbidden(alice).status), bodyOf('pub-1209'))
  t.equal(statusJson(forbidden({ ...alice, subresource: 'log' }).status), bodyOf('pub-1242'))
  const widgets = { ...alice, verb: 'list', group: 'example.com', resource: 'widgets' }
  t.equal(statusJson(forbidden({ ...widgets, namespace: '', name: '' }).status), bodyOf('pub-1235'))
  t.equal(statusJson(forbiddenPath('alice', 'get', '/metrics').status), bodyOf('pub-1243'))
  t.equal(statusJson(unauthorized), bodyOf('pub-1224'))
  t.equal(statusJson(initializing(1).status), bodyOf('pub-1288'))
  const media = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
  t.equal(
    statusJson(
      notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${media}`, true).status,
    ),
    bodyOf('pub-0959'),
  )
})
