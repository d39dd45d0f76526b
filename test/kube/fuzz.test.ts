import { schemaOf } from '../../lib/codec/schema/schema.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { decodeContinuation } from '../../lib/kube/continuation.ts'
import { parseFieldSelector } from '../../lib/kube/selectors/field-selector.ts'
import { parseLabelSelector } from '../../lib/kube/selectors/label-selector.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import { statusFromError, statusJson } from '../../lib/kube/status.ts'
import { answer, registryAt, storeAt } from '../support/kube/kube-golden.ts'
import { anyCharacter } from '../support/kube/any-character.ts'

const registry = registryAt(708)
const store = storeAt(708, 500)

/** Words and signs that parsers look for, mixed with anything. */
const fragment = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('=', '==', '!=', '!', ',', '(', ')', '\\', ' ', '/', '.'),
  },
  { weight: 2, arbitrary: fc.constantFrom('in', 'notin', 'app', 'web', 'metadata.name', '<', '>') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('0', '-1', '1', '534', '9007199254740993', '18446744073709551616'),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\0', '\n', '\u2028', '\ufffd', 'é', '😀', '%', '+', ';', '&'),
  },
)
const text = fc.array(fragment, { maxLength: 8 }).map(parts => parts.join(''))

const parameter = fc.constantFrom(
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'watch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'timeoutSeconds',
  'timeout',
  'constructor',
  '__proto__',
)
const query = fc
  .array(
    fc.tuple(parameter, fc.oneof(text, token(), fc.constantFrom('Exact', 'NotOlderThan', ''))),
    {
      maxLength: 5,
    },
  )
  .chain(pairs => fc.tuple(fc.constant(pairs), fc.boolean()))
  .map(([pairs, isRaw]) =>
    pairs
      .map(
        ([name, value]) =>
          `${name}=${isRaw ? value : encodeURIComponent(Buffer.from(value).toString())}`,
      )
      .join('&'),
  )

const segment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('api', 'apis', 'v1', 'apps', 'namespaces', 'shop', 'pods'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('watch', 'configmaps', 'web-1', 'status', 'example.com', 'widgets'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('', '.', '..', '%2f', '%2e%2e', '%00', '%zz', '%ff', 'constructor'),
  },
  { weight: 1, arbitrary: text },
)
const path = fc.oneof(
  fc.array(segment, { maxLength: 8 }).map(parts => `/${parts.join('/')}`),
  fc.constantFrom(
    '/api/v1/namespaces/shop/pods',
    '/api/v1/pods',
    '/apis/example.com/v1/widgets',
    '/api/v1/watch/namespaces/shop/pods/web-1',
    '/api/v1/namespaces/shop/pods/web-1',
    '/apis/multi.example.com/v1alpha1/gadgets',
  ),
)
const method = fc.oneof(
  { weight: 8, arbitrary: fc.constant('GET') },
  { weight: 1, arbitrary: fc.constantFrom('HEAD', 'POST', 'DELETE', 'OPTIONS', 'constructor', '') },
)

/** Continue tokens that are nearly right. */
function token(): fc.Arbitrary<string> {
  const member = fc.oneof(
    fc.constantFrom('"v":"meta.k8s.io/v1"', '"v":""', '"rv":534', '"rv":-1', '"rv":0', '"rv":1e3'),
    fc.constantFrom('"start":"a"', '"start":"/../x"', '"start":"a//b"', '"start":7', '"RV":null'),
    text.map(value => `"start":${JSON.stringify(value)}`),
    text,
  )
  return fc
    .array(member, { maxLength: 5 })
    .map(members => `{${members.join(',')}}`)
    .chain(json => fc.constantFrom(json, Buffer.from(json).toString('base64url')))
}

/** Checks the failure of a malformed request: a Status of its own making, never anything else. */
function checkFailure(error: unknown): void {
  if (!(error instanceof CacheError)) throw error
  const status = statusFromError(error)
  const parsed = JSON.parse(statusJson(status)) as Record<string, unknown>
  assert.equal(parsed['kind'], 'Status')
  assert.equal(parsed['code'], status.code)
  assert.equal(typeof parsed['message'], 'string')
  assert.ok(status.code >= 400 && status.code < 600)
  const isRecorded500 = status.code === 500 && status.message.startsWith('resourceVersion: Invalid')
  assert.ok(status.code < 500 || status.code === 504 || isRecorded500, JSON.stringify(status))
}

function check(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    checkFailure(error)
  }
}

t.test('20,000 malformed requests are answered or refused with a well-formed Status', async t => {
  fc.assert(
    fc.property(method, path, query, (verb, route, parameters) => {
      check(() => {
        const found = answer(verb, `${route}?${parameters}`, registry, store)
        if (found.type === 'failure') {
          assert.ok(found.code >= 400 && found.code < 600)
          if (found.body.startsWith('{')) JSON.parse(found.body)
        }
      })
    }),
    { numRuns: 12_000 },
  )
  fc.assert(
    fc.property(text, selector => {
      check(() => parseLabelSelector(selector, schemaOf()))
      check(() => parseFieldSelector(selector))
    }),
    { numRuns: 4_000 },
  )
  fc.assert(
    fc.property(token(), value => {
      check(() => decodeContinuation(value))
    }),
    { numRuns: 4_000 },
  )
  t.pass('no other failure')
})

t.test('any text is a target or is refused', async t => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 40 }), target => {
      const parsed = parseTarget(target)
      if (parsed !== undefined) assert.equal(parsed.path.startsWith('/'), true)
    }),
    { numRuns: 4_000 },
  )
  t.pass('no failure')
})
