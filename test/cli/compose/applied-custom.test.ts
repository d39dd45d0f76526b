/** Writes of custom resources and of what is stored in another version through a whole server,
 *  where objects lose all that is in them, or gain what is empty. */

import t from 'tap'
import { ask, startServed } from '../../support/http/served.ts'

const { service, clock } = await startServed(t, { isWritable: true })
await service.ready

interface Answer {
  readonly code: number
  readonly message?: string
  readonly metadata?: { readonly generation?: number; readonly managedFields?: unknown }
}

async function send(method: string, path: string, type: string, body: object): Promise<Answer> {
  const headers = { 'content-type': `application/${type}` }
  const answer = await ask(service.port, { method, path, headers, body: JSON.stringify(body) })
  return { code: answer.status, ...(JSON.parse(answer.body.toString()) as object) }
}

const things = '/apis/example.com/v1/namespaces/default/things'
const dict = {
  type: 'object',
  additionalProperties: { type: 'object', properties: { v: { type: 'integer' } } },
}
await send('POST', '/api/v1/namespaces', 'json', { metadata: { name: 'default' } })
await send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'json', {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
    scope: 'Namespaced',
    versions: ['v1', 'v2'].map((name, at) => ({
      name,
      served: true,
      storage: at === 0,
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: { type: 'object', properties: { dict, replicas: { type: 'integer' } } },
            status: { type: 'object', properties: { replicas: { type: 'integer' } } },
          },
        },
      },
      subresources: {
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
    })),
  },
})
while ((await ask(service.port, { path: things })).status !== 200) {
  await new Promise<void>(resolve => clock.setTimer(10, resolve))
}

const thing = (spec: object): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name: 'a' },
  spec,
})
const apply = (manager: string, spec: object): Promise<Answer> =>
  send('PATCH', `${things}/a?fieldManager=${manager}&force=true`, 'apply-patch+yaml', thing(spec))

t.test('what an apply has emptied is refused where it must not be null', async t => {
  t.equal((await apply('one', { dict: { x: { v: 1 } } })).code, 201)
  t.equal((await apply('two', { dict: { x: {} } })).code, 200)
  // The member stays, as another owns it, without anything in it.
  t.match(await apply('one', { dict: {} }), {
    code: 422,
    message:
      'Thing.example.com "a" is invalid: spec.dict.x: Invalid value: "null": spec.dict.x in body must be of type object: "null"',
  })
})

t.test('a member that is added counts as a change, even an empty one', async t => {
  const path = `${things}/b`
  await send('POST', things, 'json', { ...thing({}), metadata: { name: 'b' } })
  const patched = await send('PATCH', path, 'merge-patch+json', { spec: { dict: {} } })
  t.equal(patched.metadata?.generation, 2)
  const same = await send('PATCH', path, 'merge-patch+json', { spec: { dict: {} } })
  t.equal(same.metadata?.generation, 2)
})

t.test('an apply in one version prunes what was applied in another', async t => {
  const path = '/apis/example.com/v2/namespaces/default/things/c?fieldManager=one&force=true'
  const inVersion = (version: string, spec: object): object => ({
    ...thing(spec),
    apiVersion: `example.com/${version}`,
    metadata: { name: 'c' },
  })
  const put = (version: string, spec: object): Promise<Answer> =>
    send('PATCH', path.replace('v2', version), 'apply-patch+yaml', inVersion(version, spec))
  t.equal((await put('v1', { dict: { x: { v: 1 }, y: { v: 2 } } })).code, 201)
  t.match(await put('v2', { dict: { x: { v: 1 } } }), {
    code: 200,
    apiVersion: 'example.com/v2',
    spec: { dict: { x: { v: 1 }, y: undefined } },
    metadata: { managedFields: [{ manager: 'one', apiVersion: 'example.com/v2' }] },
  })
})

t.test('without replicas there is no scale', async t => {
  await send('POST', things, 'json', { ...thing({}), metadata: { name: 'd' } })
  const { status, body } = await ask(service.port, { path: `${things}/d/scale` })
  t.equal(status, 500)
  t.equal(
    (JSON.parse(body.toString()) as Answer).message,
    'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
  )
})

t.test('an autoscaler of v1 without a target has one of 80 percent', async t => {
  const group = '/apis/autoscaling'
  const path = 'namespaces/default/horizontalpodautoscalers'
  const apply = (version: string, spec: object): Promise<Answer> =>
    send('PATCH', `${group}/${version}/${path}/h?fieldManager=one`, 'apply-patch+yaml', {
      apiVersion: `autoscaling/${version}`,
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'h' },
      spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, ...spec },
    })
  const made = await send('POST', `${group}/v1/${path}`, 'json', {
    metadata: { name: 'g' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
      maxReplicas: 2,
    },
  })
  t.match(made, { code: 201, spec: { targetCPUUtilizationPercentage: 80 } })
  // Pruned in v1, it comes back with the conversion: the list of metrics is there before and after,
  // and stays as it was.
  await apply('v1', { maxReplicas: 3, targetCPUUtilizationPercentage: 50 })
  const again = await apply('v2', { maxReplicas: 3 })
  const metric = { resource: { target: { averageUtilization: 50 } } }
  t.match(again, { code: 200, spec: { metrics: [metric] } })
})

t.test(
  'what is wrong with a body is told by what has failed: its text, its kind, its version',
  async t => {
    const refusalOf = async (body: string): Promise<string> => {
      const headers = { 'content-type': 'application/json' }
      const answer = await ask(service.port, { method: 'POST', path: things, headers, body })
      return (JSON.parse(answer.body.toString()) as { message: string }).message
    }
    const unrecognized = 'the object provided is unrecognized (must be of type Thing): '
    for (const [body, problem] of [
      ['{]', "couldn't get version/kind; json parse error: invalid character ']'"],
      ['[1]', "couldn't get version/kind; json parse error: json: cannot unmarshal array"],
      ['{"apiVersion":"a/b/c","kind":"Thing"}', 'unexpected GroupVersion string: a/b/c ('],
    ] as const) {
      t.match(await refusalOf(body), unrecognized + problem)
    }
  },
)
