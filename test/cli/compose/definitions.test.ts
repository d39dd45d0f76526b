/** The life of a definition of custom resources: from its create to the end of its last object. */

import t from 'tap'
import { ask, startServed } from '../../support/http/served.ts'

const { service, clock } = await startServed(t, { isWritable: true })
await service.ready

interface Answer {
  readonly code: number
  readonly warnings: readonly string[]
  readonly message?: string
  readonly spec?: unknown
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
  readonly metadata?: { readonly finalizers?: readonly string[]; readonly generation?: number }
}

async function send(method: string, path: string, body?: object): Promise<Answer> {
  const type = method === 'PATCH' ? 'merge-patch+json' : 'json'
  const headers = { 'content-type': `application/${type}` }
  const text = body === undefined ? '' : JSON.stringify(body)
  const answer = await ask(service.port, { method, path, headers, body: text })
  const content = answer.body.toString()
  const { warning = '' } = answer.headers
  const parsed = content.startsWith('{') ? (JSON.parse(content) as object) : {}
  const warnings = typeof warning === 'string' ? [warning].filter(one => one !== '') : warning
  return { ...parsed, code: answer.status, warnings: warnings as string[] }
}

async function until(path: string, code: number): Promise<void> {
  while ((await send('GET', path)).code !== code) {
    await new Promise<void>(resolve => clock.setTimer(5, resolve))
  }
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = `${definitions}/things.example.com`
const things = '/apis/example.com/v1/namespaces/default/things'
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1 },
        colour: { type: 'string', default: 'red', enum: ['red', 'blue'] },
      },
      'x-kubernetes-validations': [{ rule: 'self.size < 9' }],
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}
const version = (more: object): object => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  ...more,
})
const things1 = (versions: readonly object[]): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'things', kind: 'Thing' },
    scope: 'Namespaced',
    versions,
  },
})
const thing = (name: string, spec: object, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name, ...more },
  spec,
})

function conditionsOf({ status }: Answer): string[] {
  return (status?.conditions ?? []).map(({ type, status: value }) => `${type}=${value}`)
}

t.test('a definition is checked, accepted, served and taken away', async t => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'default' } })
  t.match(await send('POST', definitions, things1([version({ storage: false })])), {
    code: 422,
    message: /spec.versions: Invalid value: .*must have exactly one version marked as storage/,
  })
  const made = await send('POST', definitions, things1([version({ subresources: { status: {} } })]))
  t.equal(made.code, 201)
  t.equal(made.warnings.join(), '')
  await until(things, 200)
  t.strictSame(conditionsOf(await send('GET', definition)), [
    'NamesAccepted=True',
    'Established=True',
  ])

  const first = await send('POST', things, thing('a', { size: 1, other: 2 }))
  t.strictSame(first.spec, { colour: 'red', size: 1 })
  t.match(first.warnings, ['299 - "unknown field \\"spec.other\\""'])
  t.match(
    await send('POST', `${things}?fieldValidation=Strict`, thing('b', { size: 1, other: 2 })),
    {
      code: 400,
      message: /strict decoding error: unknown field "spec.other"$/,
    },
  )
  t.match(await send('POST', things, thing('b', { size: 0, colour: 'green' })), {
    code: 422,
    message:
      /^Thing.example.com "b" is invalid: \[spec.colour: Unsupported value: "green": supported values: "red", "blue", spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1, /,
  })
  const told = await send('PATCH', `${things}/a/status`, {
    status: { done: true },
    spec: { size: 5 },
  })
  t.match(told, { code: 200, spec: { size: 1 }, metadata: { generation: 1 } })

  t.equal(
    (await send('POST', things, thing('kept', { size: 2 }, { finalizers: ['x.io/y'] }))).code,
    201,
  )
  t.equal((await send('DELETE', definition)).code, 200)
  await until(`${things}/a`, 404)
  t.match(await send('GET', `${things}/kept`), { code: 200, metadata: { finalizers: ['x.io/y'] } })
  t.match(conditionsOf(await send('GET', definition)).join(), /Terminating=True/)
  await send('PATCH', `${things}/kept`, { metadata: { finalizers: null } })
  await until(definition, 404)
  await until(things, 404)
})
