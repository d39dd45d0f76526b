import { schemaOf } from '../../lib/codec/schema/schema.ts'
import t from 'tap'
import { keyFromText, prefixRange, singleKey } from '../../lib/base/keys.ts'
import { CacheError } from '../../lib/base/errors.ts'
import { parseListOptions } from '../../lib/kube/request/list-options.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { planRead, prefixOfList, type ReadPlan } from '../../lib/kube/read-plan.ts'
import { readFailure } from '../../lib/kube/read-failure.ts'
import { statusFromError } from '../../lib/kube/status.ts'
import type { ResourceRoute } from '../../lib/kube/request/routes.ts'
import { builtIn, refusalOf } from '../support/kube/kube-builders.ts'

interface Asked {
  readonly resource?: string
  readonly verb?: 'get' | 'list' | 'watch'
  readonly namespace?: string
  readonly name?: string
  readonly minor?: string
}

function plan(query: string, asked: Asked = {}): ReadPlan {
  const { resource = 'configmaps', verb = 'list', namespace = 'shop', name = '' } = asked
  const route: ResourceRoute = {
    type: 'resource',
    schema: schemaOf(asked.minor),
    resource: builtIn(resource),
    verb,
    namespace,
    name,
    subresource: '',
  }
  return planRead(route, parseQuery(query))
}

/** Freshness and limit of a list in one text. */
function readOf(query: string, asked: Asked = {}): string {
  const found = plan(query, asked)
  if (found.type !== 'list') return found.type
  const { freshness } = found
  const revision = 'revision' in freshness ? ` ${freshness.revision}` : ''
  return `${freshness.type}${revision} limit ${found.limit}`
}

t.test(
  'an invalid resourceVersion of an object is refused as by the cache or by the store',
  async t => {
    const refused = (asked: Asked): unknown => refusalOf(() => plan('resourceVersion=1.5', asked))
    const what =
      'resourceVersion: Invalid value: "1.5": strconv.ParseUint: parsing "1.5": invalid syntax'
    t.match(refused({ verb: 'get', name: 'a' }), { code: 500, message: what })
    t.match(refused({ verb: 'get', name: 'a', resource: 'events' }), {
      code: 400,
      message: `invalid resource version: ${what}`,
    })
  },
)

t.test('resourceVersion, match and limit decide together what a list reads', async t => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'consistent limit 0'],
    ['limit=3', 'consistent limit 3'],
    ['resourceVersion=0', 'any limit 0'],
    ['resourceVersion=0&limit=3', 'any limit 0'],
    ['resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=3', 'any limit 0'],
    ['resourceVersion=00&limit=3', 'any limit 3'],
    ['resourceVersion=00&resourceVersionMatch=Exact', 'consistent limit 0'],
    ['resourceVersion=7', 'not-older-than 7 limit 0'],
    ['resourceVersion=7&limit=3', 'exact 7 limit 3'],
    ['resourceVersion=7&limit=-3', 'not-older-than 7 limit 0'],
    ['resourceVersion=7&resourceVersionMatch=NotOlderThan&limit=3', 'not-older-than 7 limit 3'],
    ['resourceVersion=07&resourceVersionMatch=Exact', 'exact 7 limit 0'],
    ['resourceVersion=7&limit=3&fieldSelector=metadata.name=x', 'not-older-than 7 limit 3'],
    ['resourceVersion=18446744073709551615', `not-older-than ${Number.MAX_SAFE_INTEGER} limit 0`],
  ]
  for (const [query, expected] of cases) t.equal(readOf(query), expected, query)
})

t.test(
  'events honour a limit at resourceVersion 0, since upstream does not cache them',
  async t => {
    t.equal(readOf('resourceVersion=0&limit=2', { resource: 'events' }), 'any limit 2')
  },
)

t.test('a continue token decides the revision and the first key', async t => {
  const token = (revision: number): string =>
    Buffer.from(`{"v":"meta.k8s.io/v1","rv":${revision},"start":"/m\\u0000"}`).toString('base64url')
  t.equal(readOf(`continue=${token(9)}&limit=2`), 'exact 9 limit 2')
  t.equal(readOf(`continue=${token(9)}&limit=2&resourceVersion=0`), 'exact 9 limit 0')
  t.equal(readOf(`continue=${token(-1)}`), 'consistent limit 0')
  const found = plan(`continue=${token(9)}&fieldSelector=metadata.name=x`)
  t.equal(found.type === 'list' && found.range.start, '/registry/configmaps/shop/m\0')
  t.equal(refusalOf(() => plan(`continue=${token(9)}&resourceVersion=x`))?.code, 400)
})

t.test('the keys of a read are as few as the request allows', async t => {
  const rangeOf = (query: string, asked: Asked = {}): unknown => {
    const found = plan(query, asked)
    return found.type === 'get' ? found.key : found.range
  }
  const prefix = '/registry/configmaps/'
  const key = keyFromText
  t.strictSame(rangeOf(''), prefixRange(key(`${prefix}shop/`)))
  t.strictSame(rangeOf('', { namespace: '' }), prefixRange(key(prefix)))
  t.strictSame(rangeOf('fieldSelector=metadata.name=x'), singleKey(key(`${prefix}shop/x`)))
  t.strictSame(
    rangeOf('fieldSelector=metadata.name=x', { namespace: '' }),
    prefixRange(key(prefix)),
  )
  t.strictSame(
    rangeOf('fieldSelector=metadata.namespace=a', { namespace: '' }),
    prefixRange(key(`${prefix}a/`)),
  )
  t.strictSame(
    rangeOf('fieldSelector=metadata.namespace=a/b', { namespace: '' }),
    prefixRange(key(prefix)),
  )
  t.strictSame(rangeOf('', { name: 'x', verb: 'get' }), key(`${prefix}shop/x`))
  t.strictSame(rangeOf('', { name: 'x', verb: 'watch' }), singleKey(key(`${prefix}shop/x`)))
  t.strictSame(
    rangeOf('', { resource: 'nodes', namespace: '' }),
    prefixRange(key('/registry/minions/')),
  )
})

t.test('names and namespaces that are no path segments are refused', async t => {
  const message = (asked: Asked): string | undefined => refusalOf(() => plan('', asked))?.message
  t.equal(message({ verb: 'get', name: '..' }), 'Name parameter invalid: "..": may not be \'..\'')
  t.equal(
    message({ verb: 'get', name: 'a/%' }),
    "Name parameter invalid: \"a/%\": may not contain '/';may not contain '%'",
  )
  t.equal(message({ namespace: '.' }), 'Namespace parameter invalid: ".": may not be \'.\'')
  t.equal(message({ verb: 'get', name: 'x', namespace: '' }), 'Namespace parameter required.')
})

t.test('a watch begins with the state, now, or after a revision', async t => {
  const startOf = (query: string, asked: Asked = {}): string => {
    const found = plan(query, asked)
    if (found.type !== 'watch') return found.type
    const { start } = found
    if (start.type === 'after') return `after ${start.revision}`
    const revision = 'revision' in start.freshness ? ` ${start.freshness.revision}` : ''
    const bookmark = start.type === 'state' && start.hasEndBookmark ? ' bookmark' : ''
    return `${start.type} ${start.freshness.type}${revision}${bookmark}`
  }
  const newest = 'resourceVersionMatch=NotOlderThan'
  const cases: readonly (readonly [string, string])[] = [
    ['watch=1', 'state consistent'],
    ['watch=1&allowWatchBookmarks=1', 'state consistent bookmark'],
    ['watch=1&resourceVersion=0', 'state any'],
    ['watch=1&resourceVersion=00&allowWatchBookmarks=1', 'state any'],
    ['watch=1&resourceVersion=7', 'after 7'],
    [`watch=1&sendInitialEvents=true&${newest}&resourceVersion=7`, 'state not-older-than 7'],
    [`watch=1&sendInitialEvents=false&${newest}`, 'now consistent'],
    [`watch=1&sendInitialEvents=false&${newest}&resourceVersion=0`, 'now any'],
    [`watch=1&sendInitialEvents=false&${newest}&resourceVersion=7`, 'after 7'],
  ]
  for (const [query, expected] of cases) t.equal(startOf(query), expected, query)
  t.equal(startOf('', { verb: 'watch' }), 'state consistent')
  t.equal(startOf('allowWatchBookmarks=1', { verb: 'watch' }), 'state consistent')
  t.equal(refusalOf(() => plan('sendInitialEvents=true', { verb: 'watch' }))?.code, 422)
})

t.test('a name in a watch path goes with no other field than itself', async t => {
  const watch = (query: string): unknown => plan(query, { verb: 'watch', name: 'x' })
  t.ok(watch('fieldSelector=metadata.name=x'))
  for (const query of ['fieldSelector=metadata.name=y', 'fieldSelector=metadata.namespace=shop']) {
    t.equal(
      refusalOf(() => watch(query))?.message,
      "fieldSelector metadata.name doesn't match requested name",
    )
  }
})

t.test('what is not stored, or not watched, is refused', async t => {
  const statuses: Asked = { resource: 'componentstatuses', namespace: '' }
  t.strictSame(
    refusalOf(() => plan('watch=1', statuses)),
    {
      code: 405,
      message: 'watch is not supported on resources of kind "componentstatuses"',
      reason: 'MethodNotAllowed',
      details: { group: '', kind: 'componentstatuses' },
    },
  )
  t.equal(refusalOf(() => plan('', statuses))?.code, 405)
})

t.test('mistakes are found in the order in which upstream finds them', async t => {
  const first = (query: string): string | undefined => refusalOf(() => plan(query))?.message
  t.match(first('timeoutSeconds=a&limit=b&labelSelector=='), /"a"/)
  t.match(first('limit=b&labelSelector=%3D'), /"b"/)
  t.match(first('labelSelector=%3D&fieldSelector=x&resourceVersionMatch=Y'), /found '='/)
  t.match(first('fieldSelector=x&resourceVersionMatch=Y'), /can't understand/)
  t.match(first('fieldSelector=x=1&resourceVersionMatch=Y'), /ListOptions/)
  t.match(first('fieldSelector=x=1&resourceVersion=y'), /not a known field selector/)
})

t.test('a value that is not supported is quoted as the version of the server does', async t => {
  const query = parseQuery('resourceVersion=1&resourceVersionMatch=%3C%00%ff')
  const first = (minor: string): string | undefined => {
    const refusal = refusalOf(() => parseListOptions(query, schemaOf(minor)))
    return refusal?.details?.causes?.[0]?.message
  }
  const supported = 'supported values: "Exact", "NotOlderThan", ""'
  t.equal(first('1.33'), `Unsupported value: "<\\x00\\xff": ${supported}`)
  t.equal(first('1.34'), `Unsupported value: "\\u003c\\u0000\\ufffd": ${supported}`)
})

t.test('export is refused where an object is read, and only there', async t => {
  const get = { verb: 'get', name: 'a' } as const
  for (const query of ['export=true', 'export=no', 'export=1&export=0']) {
    t.match(refusalOf(() => plan(query, get))?.message, /export parameter, deprecated/, query)
  }
  for (const query of ['export=', 'export=0', 'export=False', 'export']) {
    t.equal(plan(query, get).type, 'get', query)
  }
  t.equal(plan('export=true').type, 'list')
})

t.test('a read that fails says so in the words of its kind', async t => {
  const statusOf = (found: ReadPlan, error: CacheError): unknown => {
    const { code, message, details } = statusFromError(readFailure(found, error))
    return [code, message, details?.retryAfterSeconds]
  }
  const expired = new CacheError('expired', 'x', { oldest: 9 })
  const future = new CacheError('future_revision', 'x', { latest: 5 })
  const one = 'fieldSelector=metadata.name%3Da&resourceVersion=7'
  for (const [query, retryAfterSeconds] of [
    ['resourceVersion=7&resourceVersionMatch=Exact', 1],
    [one, 1],
    [`${one}&resourceVersionMatch=NotOlderThan&limit=2`, 1],
    [`${one}&resourceVersionMatch=Exact`, undefined],
    [`${one}&limit=2`, undefined],
  ] as const) {
    const text = 'Timeout: Too large resource version: 7, current: 5'
    t.strictSame(statusOf(plan(query), future), [504, text, retryAfterSeconds], query)
  }
  t.strictSame(statusOf(plan('resourceVersion=7&limit=1'), expired), [
    410,
    'The resourceVersion for the provided list is too old.',
    undefined,
  ])
  t.strictSame(statusOf(plan('watch=1&resourceVersion=7'), expired), [
    410,
    'too old resource version: 7 (9)',
    undefined,
  ])
  t.strictSame(statusOf(plan('resourceVersion=0018446744073709551615'), future), [
    504,
    'Timeout: Too large resource version: 18446744073709551615, current: 5',
    1,
  ])
  for (const [revision, refusal] of [
    ['9223372036854775807', [500, 'etcdserver: mvcc: required revision is a future revision']],
    // A negative one to etcd.
    [
      '9223372036854775808',
      [504, 'Timeout: Too large resource version: 9223372036854775808, current: 5'],
    ],
  ] as const) {
    const exact = plan(`resourceVersion=${revision}&limit=1`, { minor: '1.33' })
    t.strictSame(statusOf(exact, future), [...refusal, undefined], revision)
  }
  t.strictSame(statusOf(plan('resourceVersion=7', { resource: 'events' }), future), [
    504,
    'Timeout: Too large resource version: 7, current: 5',
    undefined,
  ])
  t.strictSame(statusOf(plan('watch=1&resourceVersion=7', { resource: 'events' }), expired), [
    410,
    'The resourceVersion for the provided watch is too old.',
    undefined,
  ])
  t.strictSame(statusOf(plan('', { verb: 'get', name: 'x' }), new CacheError('not_found', 'y')), [
    404,
    'configmaps "x" not found',
    undefined,
  ])
  const overloaded = new CacheError('overloaded', 'too many', { retryAfterMs: 1500 })
  t.strictSame(statusOf(plan(''), overloaded), [429, 'too many', 2])
})

t.test('only a list of what is stored has a prefix', async t => {
  const route = {
    type: 'resource',
    schema: schemaOf(),
    resource: builtIn('configmaps'),
    verb: 'list',
    namespace: 'shop',
    name: '',
    subresource: '',
  } as const
  const all = builtIn('configmaps').storage!.prefix
  const rows: readonly (readonly [string, Partial<ResourceRoute>, string | undefined])[] = [
    ['of a namespace', {}, `${all}shop/`],
    ['of all namespaces', { namespace: '' }, all],
    ['of a get', { verb: 'get', name: 'a' }, undefined],
    ['of a watch', { verb: 'watch' }, undefined],
    ['of a subresource', { subresource: 'status' }, undefined],
    ['of a namespace that can be none', { namespace: '..' }, undefined],
    [
      'of what is stored nowhere',
      { resource: { ...builtIn('configmaps'), storage: undefined } },
      undefined,
    ],
  ]
  for (const [name, change, prefix] of rows) {
    const found = prefixOfList({ ...route, ...change })
    t.equal(found, prefix === undefined ? undefined : keyFromText(prefix), name)
  }
})
