/** Writes of custom resources through a whole server, where objects lose all that is in them, or gain what is empty. */

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
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { dict } } },
          },
        },
      },
    ],
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
