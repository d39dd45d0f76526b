/** Definitions beside others and with objects: names that are taken, and what goes when one is
 *  deleted (apiextensions-apiserver: pkg/controller/status, pkg/controller/finalizer). */

import t from 'tap'
import { ControlledWorld } from '../../support/kube/writes/controlled-world.ts'

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

class World {
  readonly world: ControlledWorld = new ControlledWorld({ isStarted: false })

  async send(method: string, at: string, body?: object): Promise<[number, unknown]> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const sent = body === undefined ? {} : { type, body: JSON.stringify(body) }
    const { status, body: answer } = await this.world.ask({ method, path: at, ...sent })
    return [status, answer]
  }

  async define(plural: string, names: object = {}, more: object = {}): Promise<void> {
    const [status, answer] = await this.send('POST', path, {
      metadata: { name: `${plural}.example.com` },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural, singular: `${plural}-one`, kind: plural.toUpperCase(), ...names },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object' } },
          },
        ],
        ...more,
      },
    })
    if (status !== 201) throw new Error(JSON.stringify(answer))
  }

  /** The conditions as `TYPE STATUS REASON: MESSAGE`. */
  async conditions(plural: string): Promise<readonly string[]> {
    const definition = (await this.definition(plural)) as {
      readonly status: { readonly conditions: readonly Readonly<Record<string, string>>[] }
    }
    return definition.status.conditions.map(
      ({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`,
    )
  }

  async definition(plural: string): Promise<unknown> {
    const args = ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'] as const
    return this.world.stored(...args, `${plural}.example.com`)
  }
}

const settled = [
  'NamesAccepted True NoConflicts: no conflicts found',
  'Established True InitialNamesAccepted: the initial names have been accepted',
]

const namespace = { metadata: { name: 'x' } }

t.test('names that another definition of the group has are refused', async t => {
  const world = new World()
  await world.define('as', { shortNames: ['sa'] })
  t.strictSame(await world.conditions('as'), settled)
  await world.define('bs', { kind: 'AS', listKind: 'Others' })
  t.strictSame(await world.conditions('bs'), [
    'NamesAccepted False KindConflict: "AS" is already in use',
    'Established False NotAccepted: not all names are accepted',
  ])
  await world.define('cs', { shortNames: ['sa'] })
  t.strictSame(await world.conditions('cs'), [
    'NamesAccepted False ShortNamesConflict: "sa" is already in use',
    'Established False NotAccepted: not all names are accepted',
  ])
  await world.define('ds', { singular: 'as' })
  t.strictSame(await world.conditions('ds'), [
    'NamesAccepted False SingularConflict: "as" is already in use',
    'Established False NotAccepted: not all names are accepted',
  ])
  await world.send('DELETE', `${path}/bs.example.com`)
  t.equal(await world.definition('bs'), undefined, 'it was never established, and goes at once')
})

t.test('a definition that is deleted waits for its objects', async t => {
  const world = new World()
  await world.send('POST', '/api/v1/namespaces', namespace)
  await world.define('as')
  await world.define('bs')
  const objects = '/apis/example.com/v1/namespaces/x/as'
  const object = { apiVersion: 'example.com/v1', kind: 'AS' }
  for (let i = 0; i < 3; i++) {
    await world.send('POST', objects, { ...object, metadata: { name: `a${i}` } })
  }
  const held = { name: 'held', finalizers: ['example.com/f'] }
  await world.send('POST', objects, { ...object, metadata: held })
  const other = { apiVersion: 'example.com/v1', kind: 'BS', metadata: { name: 'a' } }
  await world.send('POST', '/apis/example.com/v1/namespaces/x/bs', other)
  const [code, answer] = await world.send('DELETE', `${path}/as.example.com`)
  t.equal(code, 200)
  const pending = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message:
      'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  t.match(answer, {
    metadata: {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['customresourcecleanup.apiextensions.k8s.io'],
    },
    status: { conditions: [{}, {}, pending] },
  })
  t.strictSame(await world.conditions('as'), [
    ...settled,
    'Terminating True InstanceDeletionInProgress: CustomResource deletion is in progress',
  ])
  const ofGroup = (plural: string): string[] =>
    [...world.world.store.entries.keys()].filter(key =>
      key.startsWith(`/registry/example.com/${plural}/`),
    )
  t.strictSame(ofGroup('as'), ['/registry/example.com/as/x/held'])
  t.equal(ofGroup('bs').length, 1)
  await world.send('PATCH', `${objects}/held`, { metadata: { finalizers: null } })
  t.strictSame(ofGroup('as'), [])
  t.equal(await world.definition('as'), undefined)
  t.strictSame(await world.conditions('bs'), settled)
})

t.test('preconditions of a delete are looked at, and a dry run changes nothing', async t => {
  const world = new World()
  await world.define('as')
  const { metadata } = (await world.definition('as')) as {
    readonly metadata: { readonly uid: string; readonly resourceVersion: string }
  }
  const at = `${path}/as.example.com`
  const told =
    'Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "as.example.com": Precondition failed: '
  for (const [preconditions, problem] of [
    [{ uid: 'x' }, `UID in precondition: x, UID in object meta: ${metadata.uid}`],
    [
      { resourceVersion: '1' },
      `ResourceVersion in precondition: 1, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    ],
  ] as const) {
    const [code, answer] = await world.send('DELETE', at, { preconditions })
    t.equal(code, 409)
    t.equal((answer as { readonly message: string }).message, told + problem)
  }
  const [code, answer] = await world.send('DELETE', `${at}?dryRun=All`)
  t.equal(code, 200)
  t.match(answer, { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
  t.strictSame(await world.conditions('as'), settled)
  const { uid, resourceVersion } = metadata
  await world.send('DELETE', at, { preconditions: { uid, resourceVersion } })
  t.equal(await world.definition('as'), undefined)
})

t.test('a finalizer of somebody else holds a definition, whose objects are gone', async t => {
  const world = new World()
  await world.define('as')
  await world.send('PATCH', `${path}/as.example.com`, {
    metadata: { finalizers: ['example.com/f'] },
  })
  await world.send('DELETE', `${path}/as.example.com`)
  t.match(await world.definition('as'), { metadata: { finalizers: ['example.com/f'] } })
  t.strictSame(await world.conditions('as'), [
    ...settled,
    'Terminating False InstanceDeletionCompleted: removed all instances',
  ])
  const [code] = await world.send('DELETE', `${path}/as.example.com`)
  t.equal(code, 200)
  await world.send('PATCH', `${path}/as.example.com`, { metadata: { finalizers: null } })
  t.equal(await world.definition('as'), undefined)
})
