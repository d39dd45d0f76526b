/** Rules of deletes and of token requests, on one object each, without a server. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { TokenOrder, WriteAccess } from '../../../lib/writes/write-access.ts'
import { type Shown, WriteWorld } from '../../support/kube/writes/write-world.ts'

const uid = '11111111-2222-3333-4444-555555555555'

const podKey = keyFromText('/registry/pods/ns/a')
const pods = { group: '', version: 'v1', resource: 'pods', name: 'a' } as const

function pod(spec: object, status: object = {}, metadata: object = {}): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'ns', uid, ...metadata },
    spec: { containers: [{ name: 'c', image: 'i:1' }], ...spec },
    status,
  }
}

/** podStrategy.CheckGracefulDelete and BeforeDelete of registry/rest. */
t.test('a pod that runs on a node has its grace period, others go at once', async t => {
  const onNode = { nodeName: 'n', terminationGracePeriodSeconds: 30 }
  const rows: readonly (readonly [string, object, object, number | 'gone'])[] = [
    ['its own period', pod(onNode), {}, 30],
    ['that of the request', pod(onNode), { gracePeriodSeconds: 5 }, 5],
    ['none at all', pod(onNode), { gracePeriodSeconds: 0 }, 'gone'],
    ['a period below zero is one second', pod(onNode), { gracePeriodSeconds: -3 }, 1],
    [
      'its own may be below zero, too',
      pod({ ...onNode, terminationGracePeriodSeconds: -1 }),
      {},
      1,
    ],
    ['on no node', pod({ terminationGracePeriodSeconds: 30 }), {}, 'gone'],
    ['ended well', pod(onNode, { phase: 'Succeeded' }), {}, 'gone'],
    ['ended badly', pod(onNode, { phase: 'Failed' }), {}, 'gone'],
    ['running', pod(onNode, { phase: 'Running' }), {}, 30],
    ['pending', pod(onNode, { phase: 'Pending' }), {}, 30],
  ]
  for (const [name, object, options, expected] of rows) {
    const world = new WriteWorld()
    world.put(podKey, object)
    const answer = await world.ask('delete', pods, { kind: 'DeleteOptions', ...options })
    t.equal(world.has(podKey), expected !== 'gone', name)
    if (expected === 'gone') continue
    t.match(answer, { metadata: { deletionGracePeriodSeconds: expected } }, name)
  }
})

t.test('a period can be shortened while a pod goes, not made longer', async t => {
  const rows: readonly (readonly [number, number | 'gone'])[] = [
    [40, 30],
    [30, 30],
    [10, 10],
    [0, 'gone'],
  ]
  for (const [asked, expected] of rows) {
    const world = new WriteWorld()
    world.put(podKey, pod({ nodeName: 'n', terminationGracePeriodSeconds: 30 }))
    await world.ask('delete', pods)
    const answer = await world.ask('delete', pods, { gracePeriodSeconds: asked })
    t.equal(world.has(podKey), expected !== 'gone', `${asked}`)
    if (expected === 'gone') continue
    t.match(answer, { metadata: { deletionGracePeriodSeconds: expected } }, `${asked}`)
  }
})

/** deletionFinalizersForGarbageCollection of registry/generic. */
t.test(
  'the finalizers of the collector are those that the propagation policy asks for',
  async t => {
    const own = ['example.com/f']
    const rows: readonly (readonly [object, readonly string[], readonly string[]])[] = [
      [{ propagationPolicy: 'Background' }, [...own, 'orphan'], own],
      [{ propagationPolicy: 'Background' }, [...own, 'foregroundDeletion'], own],
      [{ propagationPolicy: 'Orphan' }, own, [...own, 'orphan']],
      [{ propagationPolicy: 'Orphan' }, [...own, 'foregroundDeletion'], [...own, 'orphan']],
      [{ propagationPolicy: 'Foreground' }, [...own, 'orphan'], [...own, 'foregroundDeletion']],
      [{ orphanDependents: true }, own, [...own, 'orphan']],
      [{ orphanDependents: false }, [...own, 'orphan'], own],
      [{}, [...own, 'orphan'], [...own, 'orphan']],
      [{}, own, own],
    ]
    for (const [options, finalizers, left] of rows) {
      const world = new WriteWorld()
      world.put(podKey, pod({}, {}, { finalizers }))
      await world.ask('delete', pods, options)
      const { metadata } = world.stored(podKey) as { readonly metadata: Shown }
      t.strictSame(
        (metadata['finalizers'] as string[]).toSorted(),
        left.toSorted(),
        JSON.stringify([options, finalizers]),
      )
    }
  },
)

/** As a kube-apiserver 1.36 refuses them. */
t.test('a delete whose body is of another kind is refused', async t => {
  const world = new WriteWorld()
  world.put(podKey, pod({}))
  const anyVersion = [
    'APIGroup',
    'APIGroupList',
    'APIResourceList',
    'APIVersions',
    'CreateOptions',
    'Status',
    'UpdateOptions',
  ]
  const meta = ['PartialObjectMetadata', 'Table', 'TableOptions']
  const metaV1 = ['GetOptions', 'ListOptions', 'PatchOptions', 'WatchEvent']
  const versions = [undefined, 'meta.k8s.io/v1', 'meta.k8s.io/v1beta1', 'v1', 'v2']
  for (const kind of [...anyVersion, ...meta, ...metaV1, 'Pod', 'APIResource']) {
    for (const [i, apiVersion] of versions.entries()) {
      const isKnown =
        anyVersion.includes(kind) ||
        (i < 2 && [...meta, ...metaV1].includes(kind)) ||
        (i < 3 && meta.includes(kind))
      const scheme = 'k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27'
      t.equal(
        await world.ask('delete', pods, {
          kind,
          ...(apiVersion === undefined ? {} : { apiVersion }),
        }),
        isKnown
          ? `400: converting (v1.${kind}) to (v1.DeleteOptions): unknown conversion`
          : `400: no kind "${kind}" is registered for version "${apiVersion ?? 'meta.k8s.io/v1'}" in scheme "${scheme}"`,
        `${apiVersion} ${kind}`,
      )
    }
  }
})

t.test('a delete that expects another object is refused', async t => {
  const world = new WriteWorld()
  world.put(podKey, pod({}))
  const expecting = (preconditions: object): Promise<unknown> =>
    world.ask('delete', pods, { preconditions })
  const prefix = '409: Operation cannot be fulfilled on Pod "a": '
  t.equal(
    await expecting({ uid: 'another' }),
    `${prefix}the UID in the precondition (another) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
  )
  t.equal(
    await expecting({ resourceVersion: '1' }),
    `${prefix}the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (3). The object might have been modified`,
  )
  t.ok(world.has(podKey))
  await expecting({ uid, resourceVersion: '3' })
  t.notOk(world.has(podKey))
})

/** registry/core/namespace/storage: the namespace checks these itself, in its own words. */
t.test('a namespace that is deleted is marked once, and goes without finalizers', async t => {
  const key = keyFromText('/registry/namespaces/b')
  const namespaces = { group: '', version: 'v1', resource: 'namespaces', name: 'b' } as const
  const world = new WriteWorld()
  const put = (spec: object): void =>
    world.put(key, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'b', uid },
      spec,
      status: { phase: 'Active' },
    })
  put({ finalizers: ['kubernetes'] })
  const expecting = (preconditions: object): Promise<unknown> =>
    world.ask('delete', namespaces, { preconditions })
  const prefix = '409: Operation cannot be fulfilled on namespaces "b": Precondition failed: '
  t.equal(
    await expecting({ uid: 'another' }),
    `${prefix}UID in precondition: another, UID in object meta: ${uid}`,
  )
  t.match(
    await expecting({ resourceVersion: '1' }),
    `${prefix}ResourceVersion in precondition: 1, ResourceVersion in object meta: `,
  )
  t.match(world.stored(key), { status: { phase: 'Active' } })
  await expecting({ uid })
  const marked = world.stored(key) as { metadata: { deletionTimestamp?: string } }
  t.match(marked, { status: { phase: 'Terminating' } })
  t.ok(marked.metadata.deletionTimestamp)
  await world.ask('delete', namespaces)
  t.same(world.stored(key), marked, 'a second time changes nothing')
  put({})
  await world.ask('delete', namespaces)
  t.ok(world.has(key), 'it is marked first')
  await world.ask('delete', namespaces)
  t.notOk(world.has(key))
})

t.test('options of a delete may be in its query', async t => {
  const rows: readonly (readonly [string, boolean, RegExp | undefined])[] = [
    ['dryRun=All', true, undefined],
    ['dryRun=Some', true, /^422: DeleteOptions.* dryRun: Unsupported value: .*"Some"/],
    ['gracePeriodSeconds=0', false, undefined],
    ['propagationPolicy=Foreground', true, undefined],
    ['propagationPolicy=x', true, /propagationPolicy: Unsupported value: "x"/],
    ['orphanDependents=true', true, undefined],
    [
      'orphanDependents=true&propagationPolicy=Orphan',
      true,
      /orphanDependents and deletionPropagation cannot be both set/,
    ],
  ]
  for (const [query, stays, refusal] of rows) {
    const world = new WriteWorld()
    world.put(podKey, pod({}))
    const answer = await world.ask('delete', pods, '', { query })
    t.equal(world.has(podKey), stays, query)
    if (refusal === undefined) t.not(typeof answer, 'string', query)
    else t.match(answer, refusal, query)
  }
})

t.test('an event of events.k8s.io is named as one of the core group', async t => {
  const world = new WriteWorld()
  world.put(keyFromText('/registry/events/ns/a'), {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'ns', uid },
    involvedObject: { namespace: 'ns' },
  })
  for (const group of ['', 'events.k8s.io']) {
    const events = { group, version: 'v1', resource: 'events', name: 'a' }
    const preconditions = { uid: 'another' }
    t.match(
      await world.ask('delete', events, { preconditions }),
      '409: Operation cannot be fulfilled on Event "a": the UID in the precondition',
    )
  }
})

const tokens = {
  group: '',
  version: 'v1',
  resource: 'serviceaccounts',
  name: 'acc',
  subresource: 'token',
} as const

function tokenWorld(): { readonly world: WriteWorld; readonly orders: TokenOrder[] } {
  const orders: TokenOrder[] = []
  const access = {
    audiences: ['https://here'],
    issueToken: (order: TokenOrder) => {
      orders.push(order)
      return { token: 'a.b.c', expiresAtMs: Date.parse('2026-01-02T00:00:00Z') }
    },
  } as unknown as WriteAccess
  const world = new WriteWorld(access)
  const metadata = { name: 'acc', namespace: 'ns', uid }
  world.put(keyFromText('/registry/serviceaccounts/ns/acc'), {
    kind: 'ServiceAccount',
    apiVersion: 'v1',
    metadata,
  })
  world.put(podKey, pod({ serviceAccountName: 'acc' }))
  world.put(keyFromText('/registry/pods/ns/other'), pod({ serviceAccountName: 'else' }))
  const secret = {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name: 's', namespace: 'ns', uid: 'su' },
  }
  world.put(keyFromText('/registry/secrets/ns/s'), secret)
  return { world, orders }
}

function request(spec: object, metadata: object = {}): object {
  return { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', metadata, spec }
}

t.test('a token is for its account, for an hour, and for this server', async t => {
  const { world, orders } = tokenWorld()
  const answer = await world.ask('create', tokens, request({}))
  t.match(answer, {
    kind: 'TokenRequest',
    metadata: { name: 'acc', namespace: 'ns', uid },
    spec: { audiences: ['https://here'], expirationSeconds: 3600, boundObjectRef: null },
    status: { token: 'a.b.c', expirationTimestamp: '2026-01-02T00:00:00Z' },
  })
  t.match((answer as { metadata: Shown }).metadata['creationTimestamp'], /^2026-01-01T/)
  const account = { name: 'acc', uid }
  const usual = { account, namespace: 'ns', bound: undefined, audiences: ['https://here'] }
  t.strictSame(orders, [{ ...usual, seconds: 3600 }])
})

/** rest.TokenREST.Create of registry/core/serviceaccount, and validation of authentication. */
t.test('a token is as the request says, or the request is refused', async t => {
  const bound = (kind: string, name: string, rest: object = {}): object =>
    request({ boundObjectRef: { apiVersion: 'v1', kind, name, ...rest } })
  const rows: readonly (readonly [object, object | string])[] = [
    [request({ expirationSeconds: 600 }), { seconds: 600 }],
    [request({ expirationSeconds: 2 ** 32 }), { seconds: 2 ** 32 }],
    [request({ audiences: ['a', 'b'] }), { audiences: ['a', 'b'] }],
    [bound('Pod', 'a'), { bound: { kind: 'pod', name: 'a', uid } }],
    [bound('Pod', 'a', { uid }), { bound: { kind: 'pod', name: 'a', uid } }],
    [bound('Secret', 's'), { bound: { kind: 'secret', name: 's', uid: 'su' } }],
    [request({}, { name: 'acc' }), { account: { name: 'acc', uid } }],
    [
      request({}, { name: 'x' }),
      '422: TokenRequest.authentication.k8s.io "acc" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      request({ expirationSeconds: 599 }),
      '422: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      request({ expirationSeconds: 2 ** 32 + 1 }),
      '422: TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [bound('Pod', 'none'), '404: pods "none" not found'],
    [bound('Secret', 'none'), '404: secrets "none" not found'],
    [bound('ConfigMap', 'a'), '400: cannot bind token to object of type /v1, Kind=ConfigMap'],
    [
      bound('Pod', 'a', { uid: 'u2' }),
      '409: Operation cannot be fulfilled on Pod "a": the UID in the bound object reference (u2) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [
      bound('Pod', 'other'),
      '400: cannot bind token for serviceaccount "acc" to pod running with different serviceaccount name.',
    ],
  ]
  for (const [sent, expected] of rows) {
    const { world, orders } = tokenWorld()
    const answer = await world.ask('create', tokens, sent)
    if (typeof expected === 'string') {
      t.equal(answer, expected)
      t.strictSame(orders, [], 'no token is made')
    } else t.match(orders[0], expected, JSON.stringify(sent))
  }
  const { world } = tokenWorld()
  t.equal(
    await world.ask('create', { ...tokens, name: 'none' }, request({})),
    '404: serviceaccounts "none" not found',
  )
})

t.test('a server that authorizes nobody makes no tokens', async t => {
  const answer = await new WriteWorld().ask('create', tokens, request({}))
  t.match(answer, /^405: /)
})

t.test('a binding that is posted to its collection is one of the pod that it names', async t => {
  const bindings = { group: '', version: 'v1', resource: 'bindings' } as const
  const target = { kind: 'Node', name: 'n' }
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a' }, target }
  const world = new WriteWorld()
  world.put(podKey, pod({}))
  t.strictSame(await world.ask('create', bindings, binding), { type: 'success' })
  t.match(world.stored(podKey), { spec: { nodeName: 'n' } })
  t.equal(
    await world.ask('create', bindings, binding),
    '409: Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"',
  )
  const other = { ...binding, metadata: { name: 'b' } }
  t.equal(await world.ask('create', bindings, other), '404: pods "b" not found')
  const nameless = { ...binding, metadata: {} }
  t.equal(await world.ask('create', bindings, nameless), '400: Name parameter required.')
})

t.test('an address that is to have a generated name has the prefix itself', async t => {
  const addresses = { group: 'networking.k8s.io', version: 'v1', resource: 'ipaddresses' } as const
  const parentRef = { resource: 'services', namespace: 'ns', name: 'a' }
  const ask = async (generateName: string): Promise<Shown | string> =>
    new WriteWorld().ask('create', addresses, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { generateName },
      spec: { parentRef },
    })
  const detail = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
  t.equal(
    await ask('a-'),
    `422: IPAddress.networking.k8s.io "a-" is invalid: [metadata.generateName: Invalid value: "a-": ${detail}, metadata.name: Invalid value: "a-": ${detail}]`,
  )
  t.match(await ask('10.9.8.7'), { metadata: { name: '10.9.8.7' } })
})
