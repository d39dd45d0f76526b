import t from 'tap'
import { CacheError, type ErrorCode } from '../../lib/base/errors.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import {
  badRequest,
  continuationExpired,
  forbidden,
  forbiddenPath,
  initializing,
  invalidOptions,
  listExpired,
  needsKubelet,
  needsUpstream,
  notAcceptable,
  notExactly,
  NotExactlyError,
  objectNotFound,
  plainError,
  resourceVersionTooLarge,
  type Status,
  type StatusError,
  statusFromError,
  statusJson,
  tooManyRequests,
  unauthorized,
  uncachedWatchExpired,
  verbNotSupported,
  watchExpired,
} from '../../lib/kube/status.ts'
import { exchanges } from '../golden/load.ts'

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

const pods = { group: '', resource: 'pods' }
const widgets = { group: 'example.com', resource: 'widgets' }

/** An error, the code by which the program knows it, and what it says. */
const failures: readonly (readonly [StatusError, ErrorCode, Partial<Status>])[] = [
  [badRequest('m'), 'invalid_request', { code: 400, message: 'm', reason: 'BadRequest' }],
  [plainError('m'), 'invalid_request', { code: 500, message: 'm' }],
  [
    objectNotFound(widgets, 'w'),
    'not_found',
    {
      code: 404,
      message: 'widgets.example.com "w" not found',
      reason: 'NotFound',
      details: { name: 'w', group: 'example.com', kind: 'widgets' },
    },
  ],
  [
    verbNotSupported(widgets, 'watch'),
    'unsupported',
    {
      code: 405,
      message: 'watch is not supported on resources of kind "widgets.example.com"',
      reason: 'MethodNotAllowed',
      details: { group: 'example.com', kind: 'widgets' },
    },
  ],
  [
    notAcceptable('m', false),
    'unsupported',
    { code: 406, message: 'm', reason: 'NotAcceptable', details: undefined },
  ],
  [
    notAcceptable('m', true),
    'unsupported',
    { code: 406, message: 'm', reason: 'NotAcceptable', details: {} },
  ],
  [
    needsUpstream(pods, 'proxy'),
    'unsupported',
    {
      code: 405,
      message: 'proxy of "pods" needs an upstream API server: it is not done here',
      reason: 'MethodNotAllowed',
      details: { group: '', kind: 'pods' },
    },
  ],
  [
    needsKubelet(pods, 'log'),
    'unsupported',
    {
      code: 405,
      message: 'log of "pods" needs a kubelet: pods are stored here, and no program runs in them',
      reason: 'MethodNotAllowed',
      details: { group: '', kind: 'pods' },
    },
  ],
  [
    notExactly(widgets, new NotExact('why')),
    'unsupported',
    {
      code: 500,
      message: '"widgets.example.com" cannot be served exactly without an upstream API server: why',
      reason: 'InternalError',
      details: { group: 'example.com', kind: 'widgets' },
    },
  ],
  [
    resourceVersionTooLarge(9, 8, 1),
    'future_revision',
    {
      code: 504,
      message: 'Timeout: Too large resource version: 9, current: 8',
      reason: 'Timeout',
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    },
  ],
  [
    listExpired(),
    'expired',
    {
      code: 410,
      message: 'The resourceVersion for the provided list is too old.',
      reason: 'Expired',
      continue: undefined,
    },
  ],
  [
    uncachedWatchExpired(),
    'expired',
    {
      code: 410,
      message: 'The resourceVersion for the provided watch is too old.',
      reason: 'Expired',
      continue: undefined,
    },
  ],
  [
    watchExpired(3, 5),
    'expired',
    {
      code: 410,
      message: 'too old resource version: 3 (5)',
      reason: 'Expired',
      continue: undefined,
    },
  ],
  [
    continuationExpired(),
    'expired',
    {
      code: 410,
      message:
        'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.',
      reason: 'Expired',
      continue: undefined,
    },
  ],
  [
    tooManyRequests('m', 7),
    'overloaded',
    { code: 429, message: 'm', reason: 'TooManyRequests', details: { retryAfterSeconds: 7 } },
  ],
  [
    forbiddenPath('a<b', 'get', '/x&y', 'why>'),
    'unauthorized',
    {
      code: 403,
      message: 'forbidden: User "a&lt;b" cannot get path "/x&amp;y": why>',
      reason: 'Forbidden',
      details: {},
    },
  ],
  [
    forbidden({
      ...widgets,
      user: 'a>b',
      verb: 'get',
      subresource: 'scale',
      namespace: '',
      name: '',
      reason: 'why',
    }),
    'unauthorized',
    {
      code: 403,
      message:
        'widgets.example.com is forbidden: User "a&gt;b" cannot get resource "widgets/scale" in API group "example.com" at the cluster scope: why',
      reason: 'Forbidden',
      details: { name: '', group: 'example.com', kind: 'widgets' },
    },
  ],
  [
    invalidOptions('ListOptions', [{ field: 'a', message: 'b' }]),
    'invalid_request',
    {
      code: 422,
      message: 'ListOptions.meta.k8s.io "" is invalid: a: b',
      reason: 'Invalid',
      details: {
        group: 'meta.k8s.io',
        kind: 'ListOptions',
        causes: [{ field: 'a', message: 'b' }],
      },
    },
  ],
]

t.test('each failure has a code for the program, and a Status for the client', async t => {
  for (const [error, code, status] of failures) {
    t.equal(error.code, code, error.message)
    t.strictSame(error.status, status, error.message)
    t.strictSame(statusFromError(error), error.status)
  }
  const both = invalidOptions('X', [{ field: 'a', message: 'b' }, { message: 'c' }])
  t.equal(both.message, 'X.meta.k8s.io "" is invalid: [a: b, : c]')
  t.ok(notExactly(pods, new NotExact('why')) instanceof NotExactlyError)
  t.match(continuationExpired('token').status, { continue: 'token', message: /inconsistent list/ })
})

t.test('a client is told to wait for whole seconds, and for one at least', async t => {
  const secondsOf = (retryAfterMs: number): unknown =>
    statusFromError(new CacheError('not_ready', 'x', { retryAfterMs })).details
  for (const [milliseconds, retryAfterSeconds] of [
    [0, 1],
    [1000, 1],
    [1001, 2],
    [2000, 2],
  ] as const) {
    t.strictSame(secondsOf(milliseconds), { retryAfterSeconds })
  }
})
