/** All controllers around a server of writes in memory, with a clock that stands still. */

import t, { type Test } from 'tap'
import {
  type ControlledOptions,
  ControlledWorld,
} from '../../support/kube/writes/controlled-world.ts'

interface Shown {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly finalizers?: readonly string[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion: string
    readonly generation?: number
    readonly deletionTimestamp?: string
    readonly managedFields?: readonly { readonly manager: string; readonly operation: string }[]
  }
  readonly [member: string]: unknown
}

function begin(t: Test, options?: ControlledOptions): Asked {
  const world = new ControlledWorld(options)
  t.teardown(() => world.end())
  return new Asked(world)
}

class Asked {
  readonly world: ControlledWorld

  constructor(world: ControlledWorld) {
    this.world = world
  }

  async send(method: string, path: string, body?: object): Promise<Shown> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const answer = await this.world.ask({
      method,
      path,
      ...(body === undefined ? {} : { type, body: JSON.stringify(body) }),
    })
    if (answer.status >= 400) {
      throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`)
    }
    return answer.body as Shown
  }

  async namespace(name = 'x'): Promise<void> {
    await this.send('POST', '/api/v1/namespaces', { metadata: { name } })
    await this.world.pass()
  }

  async core(resource: string, at: string): Promise<Shown | undefined> {
    return (await this.world.stored('', 'v1', resource, at)) as Shown | undefined
  }
}

const maps = '/api/v1/namespaces/x/configmaps'
const rootAuthority = '-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n'
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal ' +
  'endpoints such as the internal service IP or kubernetes.default.svc. No other usage is ' +
  'guaranteed across distributions of Kubernetes clusters.'

t.test('a namespace has an account and the authorities, whatever clients do', async t => {
  const { world, send, ...asked } = bound(begin(t, { authorities: { rootAuthority } }))
  await asked.namespace()
  const account = await asked.core('serviceaccounts', 'x/default')
  t.match(account?.metadata, { name: 'default', namespace: 'x' })
  const authorities = await asked.core('configmaps', 'x/kube-root-ca.crt')
  t.match(authorities, {
    metadata: { annotations: { 'kubernetes.io/description': description } },
    data: { 'ca.crt': rootAuthority },
  })
  t.match(authorities?.metadata.managedFields, [{ manager: 'kube-controller-manager' }])
  await send('DELETE', '/api/v1/namespaces/x/serviceaccounts/default')
  await world.pass()
  const again = await asked.core('serviceaccounts', 'x/default')
  t.not(again?.metadata.uid, account?.metadata.uid)
  await send('PATCH', `${maps}/kube-root-ca.crt`, { data: { 'ca.crt': 'no', more: 'x' } })
  await world.pass()
  const right = await asked.core('configmaps', 'x/kube-root-ca.crt')
  t.strictSame(right?.['data'], { 'ca.crt': rootAuthority })
  await send('PATCH', `${maps}/kube-root-ca.crt`, { data: { more: 'x' } })
  await world.pass()
  t.strictSame((await asked.core('configmaps', 'x/kube-root-ca.crt'))?.['data'], {
    'ca.crt': rootAuthority,
  })
  await send('PATCH', `${maps}/kube-root-ca.crt`, { metadata: { labels: { l: 'm' } } })
  await world.pass()
  const labelled = await asked.core('configmaps', 'x/kube-root-ca.crt')
  t.strictSame(labelled?.metadata.labels, { l: 'm' })
  await world.pass(60_000)
  const later = await asked.core('configmaps', 'x/kube-root-ca.crt')
  t.equal(later?.metadata.resourceVersion, labelled?.metadata.resourceVersion)
  await send('DELETE', `${maps}/kube-root-ca.crt`)
  await world.pass()
  t.ok(await asked.core('configmaps', 'x/kube-root-ca.crt'))
  t.strictSame(world.logged, [])
})

t.test('made-up authorities are left, as long as they are some', async t => {
  const options = { authorities: { rootAuthority, isMadeUp: true } }
  const { world, send, ...asked } = bound(begin(t, options))
  await asked.namespace()
  const other = rootAuthority.replace('\nA', '\nB')
  for (const [value, expected] of [
    [other, other],
    ['none', rootAuthority],
  ] as const) {
    await send('PATCH', `${maps}/kube-root-ca.crt`, { data: { 'ca.crt': value } })
    await world.pass()
    t.strictSame((await asked.core('configmaps', 'x/kube-root-ca.crt'))?.['data'], {
      'ca.crt': expected,
    })
  }
})

t.test('a namespace says what holds it, and goes when nothing does', async t => {
  const { world, send, ...asked } = bound(begin(t))
  await asked.namespace()
  await asked.namespace('y')
  await send('POST', maps, { metadata: { name: 'a' } })
  await send('POST', '/api/v1/namespaces/y/configmaps', { metadata: { name: 'a' } })
  await send('POST', maps, { metadata: { name: 'held', finalizers: ['example.com/f'] } })
  await send('POST', '/apis/apps/v1/namespaces/x/deployments', deployment)
  await send('DELETE', '/api/v1/namespaces/x')
  await world.pass()
  t.equal(await asked.core('configmaps', 'x/a'), undefined)
  t.equal(await world.stored('apps', 'v1', 'deployments', 'x/d'), undefined)
  t.ok(await asked.core('configmaps', 'y/a'))
  const namespace = await asked.core('namespaces', 'x')
  const { phase, conditions } = namespace!['status'] as {
    readonly phase: string
    readonly conditions: readonly Readonly<Record<string, string>>[]
  }
  t.equal(phase, 'Terminating')
  t.strictSame(
    conditions.map(({ type, status, reason, message }) => [type, status, reason, message]),
    [
      [
        'NamespaceDeletionDiscoveryFailure',
        'False',
        'ResourcesDiscovered',
        'All resources successfully discovered',
      ],
      [
        'NamespaceDeletionGroupVersionParsingFailure',
        'False',
        'ParsedGroupVersions',
        'All legacy kube types successfully parsed',
      ],
      [
        'NamespaceDeletionContentFailure',
        'False',
        'ContentDeleted',
        'All content successfully deleted, may be waiting on finalization',
      ],
      [
        'NamespaceContentRemaining',
        'True',
        'SomeResourcesRemain',
        'Some resources are remaining: configmaps. has 1 resource instances',
      ],
      [
        'NamespaceFinalizersRemaining',
        'True',
        'SomeFinalizersRemain',
        'Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances',
      ],
    ],
  )
  await send('PATCH', `${maps}/held`, { metadata: { finalizers: null } })
  await world.pass(60_000)
  t.equal(await asked.core('namespaces', 'x'), undefined)
  t.ok(await asked.core('namespaces', 'y'))
})

const template = {
  metadata: { labels: { app: 'd' } },
  spec: { containers: [{ name: 'c', image: 'i' }] },
}
const deployment = {
  metadata: { name: 'd' },
  spec: { selector: { matchLabels: { app: 'd' } }, template },
}

function ownedBy(owner: Shown, kind: string, more: object = {}): object {
  const { name, uid } = owner.metadata
  return { ownerReferences: [{ apiVersion: 'v1', kind, name, uid, ...more }] }
}

t.test('dependents go after their owners, or before, or stay', async t => {
  for (const [policy, more, left] of [
    ['Background', {}, []],
    [undefined, {}, []],
    ['Foreground', { blockOwnerDeletion: true }, []],
    ['Orphan', {}, ['dependent']],
  ] as const) {
    const { world, send, ...asked } = bound(begin(t))
    await asked.namespace()
    const owner = await send('POST', maps, { metadata: { name: 'owner' } })
    const metadata = { name: 'dependent', ...ownedBy(owner, 'ConfigMap', more) }
    const dependent = await send('POST', maps, { metadata })
    const inner = { name: 'inner', ...ownedBy(dependent, 'ConfigMap') }
    await send('POST', maps, { metadata: inner })
    await world.pass()
    const options = policy === undefined ? undefined : { propagationPolicy: policy }
    await send('DELETE', `${maps}/owner`, options)
    await world.pass(60_000)
    t.equal(await asked.core('configmaps', 'x/owner'), undefined, `${policy}`)
    const kept = (await asked.core('configmaps', 'x/dependent')) === undefined ? [] : ['dependent']
    t.strictSame(kept, left, `${policy}`)
    t.equal(
      await asked.core('configmaps', 'x/inner').then(one => one !== undefined),
      left.length > 0,
    )
    if (left.length > 0) {
      t.notMatch((await asked.core('configmaps', 'x/dependent'))?.metadata, {
        ownerReferences: [{}],
      })
    }
    t.strictSame(world.logged, [])
  }
})

t.test('an object with another owner that is there stays', async t => {
  const { world, send, ...asked } = bound(begin(t))
  await asked.namespace()
  const a = await send('POST', maps, { metadata: { name: 'a' } })
  const b = await send('POST', maps, { metadata: { name: 'b' } })
  const references = [a, b].map(
    one => (ownedBy(one, 'ConfigMap') as { ownerReferences: object[] }).ownerReferences[0],
  )
  const metadata = { name: 'both', ownerReferences: references }
  await send('POST', maps, { metadata })
  await world.pass()
  await send('DELETE', `${maps}/a`)
  await world.pass()
  t.match(await asked.core('configmaps', 'x/both'), {
    metadata: { ownerReferences: [{ name: 'b' }] },
  })
  await send('DELETE', `${maps}/b`)
  await world.pass()
  t.equal(await asked.core('configmaps', 'x/both'), undefined)
  const lost = { name: 'lost', uid: '00000000-0000-4000-8000-00000000ffff' }
  await send('POST', maps, {
    metadata: { name: 'c', ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', ...lost }] },
  })
  await world.pass()
  t.ok(await asked.core('configmaps', 'x/c'), 'nobody has seen its owner go')
})

const pods = '/api/v1/namespaces/x/pods'

t.test('a pod goes when its grace period is over', async t => {
  const { world, send, ...asked } = bound(begin(t, { authorities: { rootAuthority } }))
  await asked.namespace()
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
  await send('POST', pods, { metadata: { name: 'a' }, spec })
  await send('DELETE', `${pods}/a`)
  await world.pass(29_000)
  t.ok(await asked.core('pods', 'x/a'))
  await world.pass(2_000)
  t.equal(await asked.core('pods', 'x/a'), undefined)
  await send('POST', pods, { metadata: { name: 'b', finalizers: ['example.com/f'] }, spec })
  await send('DELETE', `${pods}/b?gracePeriodSeconds=5`)
  await world.pass(6_000)
  t.match(await asked.core('pods', 'x/b'), { metadata: { deletionGracePeriodSeconds: 0 } })
  await send('PATCH', `${pods}/b`, { metadata: { finalizers: null } })
  await world.pass()
  t.equal(await asked.core('pods', 'x/b'), undefined)
  t.strictSame(world.logged, [])
})

t.test('a pod that was deleted before goes, too', async t => {
  const options = { authorities: { rootAuthority }, isStarted: false }
  const { world, send, ...asked } = bound(begin(t, options))
  await asked.namespace()
  await send('POST', '/api/v1/namespaces/x/serviceaccounts', { metadata: { name: 'default' } })
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
  await send('POST', pods, { metadata: { name: 'a' }, spec })
  await send('DELETE', `${pods}/a`)
  world.start()
  await world.pass(20_000)
  t.ok(await asked.core('pods', 'x/a'))
  await world.pass(11_000)
  t.equal(await asked.core('pods', 'x/a'), undefined)
})

const claims = '/api/v1/namespaces/x/persistentvolumeclaims'
const volumes = '/api/v1/persistentvolumes'
const resources = { requests: { storage: '1Gi' } }

t.test('claims and volumes go when nobody uses them', async t => {
  for (const isStarted of [true, false]) {
    const { world, send, ...asked } = bound(begin(t, { authorities: { rootAuthority }, isStarted }))
    await asked.namespace()
    if (!isStarted) {
      await send('POST', '/api/v1/namespaces/x/serviceaccounts', { metadata: { name: 'default' } })
    }
    const claim = { metadata: { name: 'c' }, spec: { accessModes: ['ReadWriteOnce'], resources } }
    const made = await send('POST', claims, claim)
    t.strictSame(made.metadata.finalizers, ['kubernetes.io/pvc-protection'])
    const { uid } = made.metadata
    await send('POST', volumes, {
      metadata: { name: 'v', finalizers: ['example.com/f'] },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        hostPath: { path: '/x' },
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'x', name: 'c', uid },
      },
    })
    await send('PATCH', `${volumes}/v/status`, { status: { phase: 'Bound' } })
    await send('POST', pods, {
      metadata: { name: 'p' },
      spec: {
        nodeName: 'n',
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }],
      },
    })
    await world.pass()
    await send('DELETE', `${claims}/c`)
    await send('DELETE', `${volumes}/v`)
    if (!isStarted) world.start()
    await world.pass()
    t.ok(await asked.core('persistentvolumeclaims', 'x/c'), 'a pod uses it')
    t.match((await asked.core('persistentvolumes', 'v'))?.metadata.finalizers, [
      'example.com/f',
      'kubernetes.io/pv-protection',
    ])
    await send('DELETE', `${pods}/p?gracePeriodSeconds=0`)
    await world.pass()
    t.equal(await asked.core('persistentvolumeclaims', 'x/c'), undefined)
    t.strictSame((await asked.core('persistentvolumes', 'v'))?.metadata.finalizers, [
      'example.com/f',
    ])
    await send('PATCH', `${volumes}/v`, { metadata: { finalizers: null } })
    t.equal(await asked.core('persistentvolumes', 'v'), undefined)
    t.strictSame(world.logged, [])
  }
})

const quotas = '/api/v1/namespaces/x/resourcequotas'

t.test('quotas count what is there', async t => {
  const { world, send, ...asked } = bound(begin(t, { authorities: { rootAuthority } }))
  await asked.namespace()
  const used = async (): Promise<unknown> =>
    ((await asked.core('resourcequotas', 'x/q'))?.['status'] as { used?: unknown })?.used
  const hard = { configmaps: '5', 'count/secrets': '2', pods: '3', 'requests.cpu': '2' }
  await send('POST', maps, { metadata: { name: 'a' } })
  await send('POST', quotas, { metadata: { name: 'q' }, spec: { hard } })
  await world.pass()
  const none = { 'count/secrets': '0', pods: '0', 'requests.cpu': '0' }
  t.strictSame(await used(), { configmaps: '2', ...none })
  t.match((await asked.core('resourcequotas', 'x/q'))?.['status'], { hard })
  await send('POST', maps, { metadata: { name: 'b' } })
  t.match(await used(), { configmaps: '3' }, 'admission has noted it')
  await send('DELETE', `${maps}/a`)
  await world.pass()
  t.match(await used(), { configmaps: '3' }, 'it is counted when it is quiet')
  await world.pass(500)
  t.match(await used(), { configmaps: '2' })
  const limits = { requests: { cpu: '500m' }, limits: { cpu: '1' } }
  const spec = { containers: [{ name: 'c', image: 'i', resources: limits }] }
  await send('POST', pods, { metadata: { name: 'p' }, spec })
  await world.pass(500)
  t.match(await used(), { pods: '1', 'requests.cpu': '500m' })
  await send('PATCH', `${pods}/p/status`, { status: { phase: 'Succeeded' } })
  await world.pass(500)
  t.match(await used(), { pods: '0', 'requests.cpu': '0' }, 'a pod that has ended is not counted')
  await send('PATCH', `${quotas}/q`, { spec: { hard: { pods: null } } })
  await world.pass(500)
  const status = (await asked.core('resourcequotas', 'x/q'))?.['status']
  t.strictSame(status, {
    hard: { configmaps: '5', 'count/secrets': '2', 'requests.cpu': '2' },
    used: { configmaps: '2', 'count/secrets': '0', 'requests.cpu': '0' },
  })
  const { resourceVersion } = (await asked.core('resourcequotas', 'x/q'))!.metadata
  await send('PATCH', `${maps}/b`, { data: { a: 'b' } })
  await world.pass(10_000)
  const again = await asked.core('resourcequotas', 'x/q')
  t.equal(again?.metadata.resourceVersion, resourceVersion, 'nothing is another number')
  for (let i = 0; i < 30; i++) {
    await send('PATCH', `${maps}/b`, { data: { a: `${i}` } })
    await world.pass(400)
  }
  await send('DELETE', `${quotas}/q`)
  await send('DELETE', `${maps}/b`)
  await world.pass(20_000)
  t.strictSame(world.logged, [])
})

t.test('the types of policies are checked', async t => {
  const { world, send } = bound(begin(t))
  const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const resourceRules = [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
  ]
  const spec = {
    matchConstraints: { resourceRules },
    validations: [{ expression: 'object.data.a == 1' }, { expression: 'object.nothing == 1' }],
  }
  const status = async (): Promise<unknown> => {
    const args = ['admissionregistration.k8s.io', 'v1', 'validatingadmissionpolicies'] as const
    const shown = (await world.stored(...args, 'p')) as Shown
    return shown['status']
  }
  await send('POST', path, { metadata: { name: 'p' }, spec })
  await world.pass()
  const found = (await status()) as {
    readonly observedGeneration: number
    readonly typeChecking: { readonly expressionWarnings: readonly { readonly fieldRef: string }[] }
  }
  t.equal(found.observedGeneration, 1)
  t.strictSame(
    found.typeChecking.expressionWarnings.map(({ fieldRef }) => fieldRef),
    ['spec.validations[0].expression', 'spec.validations[1].expression'],
  )
  await send('PATCH', `${path}/p`, { spec: { validations: [{ expression: 'true' }] } })
  await world.pass()
  t.strictSame(await status(), { observedGeneration: 2 })
  await send('PATCH', `${path}/p`, { metadata: { labels: { a: 'b' } } })
  await world.pass()
  t.strictSame(await status(), { observedGeneration: 2 })
  t.strictSame(world.logged, [])
})

t.test('roles are aggregated, also those of before', async t => {
  for (const isStarted of [true, false]) {
    const { world, send } = bound(begin(t, { isStarted }))
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
    const rules = async (): Promise<unknown> => {
      const shown = await world.stored('rbac.authorization.k8s.io', 'v1', 'clusterroles', 'all')
      return (shown as Shown)['rules']
    }
    const rule = (resource: string): object => ({
      apiGroups: [''],
      resources: [resource],
      verbs: ['get'],
    })
    const clusterRoleSelectors = [{ matchLabels: { into: 'all' } }]
    await send('POST', path, {
      metadata: { name: 'all' },
      aggregationRule: { clusterRoleSelectors },
      rules: null,
    })
    for (const [name, label] of [
      ['a', 'all'],
      ['b', 'all'],
      ['c', 'other'],
    ] as const) {
      await send('POST', path, { metadata: { name, labels: { into: label } }, rules: [rule(name)] })
    }
    if (!isStarted) world.start()
    await world.pass()
    t.strictSame(await rules(), [rule('a'), rule('b')])
    await send('PATCH', `${path}/a`, { metadata: { labels: null } })
    await world.pass()
    t.strictSame(await rules(), [rule('b')])
    await send('DELETE', `${path}/b`)
    await world.pass()
    t.strictSame(await rules(), null)
    t.strictSame(world.logged, [])
  }
})

/** The methods of it as functions. */
function bound(asked: Asked): Pick<Asked, 'world' | 'send' | 'namespace' | 'core'> {
  return {
    world: asked.world,
    send: (...args) => asked.send(...args),
    namespace: name => asked.namespace(name),
    core: (...args) => asked.core(...args),
  }
}
