/** The case of upstream's test/e2e/apimachinery/flowcontrol.go, and more. */

import t from 'tap'
import { rbacOf } from '../../support/http/rbac.ts'
import { type HttpAnswer, ask, startServed } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'

const group = 'flowcontrol.apiserver.k8s.io/v1'
const root = `/apis/${group}`

interface FlowObject {
  readonly metadata: { readonly uid: string }
  readonly status: { readonly conditions?: readonly { readonly type: string }[] }
}

const limited = { limitResponse: { type: 'Reject' }, nominalConcurrencyShares: 1 }

function schemaOf(name: string, level: string, user: string): object {
  return {
    metadata: { name },
    spec: {
      matchingPrecedence: 1000,
      priorityLevelConfiguration: { name: level },
      rules: [
        {
          subjects: [{ kind: 'User', user: { name: user } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  }
}

t.test('answers name the schema and the level of a request, and schemas their level', async t => {
  const served = await startServed(t, {
    isWritable: true,
    hasControllers: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf('admin,root,,system:masters\nt,noxu,u,'),
  })
  const { port, ready } = served.service
  await ready
  const send = (
    method: string,
    path: string,
    { token = 'admin', body }: { readonly token?: string; readonly body?: object } = {},
  ): Promise<HttpAnswer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return ask(port, { method, path, headers, body: body && JSON.stringify(body) })
  }
  const read = async (path: string): Promise<FlowObject> =>
    JSON.parse((await send('GET', path)).body.toString()) as FlowObject
  const condition = async (name: string): Promise<object | undefined> => {
    const { conditions = [] } = (await read(`${root}/flowschemas/${name}`)).status
    return conditions.find(({ type }) => type === 'Dangling')
  }
  const flowOf = async (path: string, token = 'admin'): Promise<readonly unknown[]> => {
    const { headers } = await send('GET', path, { token })
    return ['flowschema', 'prioritylevel'].map(name => headers[`x-kubernetes-pf-${name}-uid`])
  }
  const uidsOf = async (schema: string, level: string): Promise<readonly string[]> => {
    const objects = [`flowschemas/${schema}`, `prioritylevelconfigurations/${level}`]
    return Promise.all(objects.map(async one => (await read(`${root}/${one}`)).metadata.uid))
  }
  const usual = await uidsOf('exempt', 'exempt')
  t.strictSame(await flowOf('/api/v1/pods'), usual)
  t.strictSame(await flowOf('/version'), usual)
  t.strictSame(await flowOf('/api/v1/namespaces/a/pods/b/log'), [undefined, undefined])
  const others = await uidsOf('global-default', 'global-default')
  t.strictSame(await flowOf('/api/v1/pods', 't'), others, 'a refusal is classified, too')
  t.strictSame(await flowOf('/version', 'nobody'), [undefined, undefined], '401 is not')

  const schemas = `${root}/flowschemas`
  const levels = `${root}/prioritylevelconfigurations`
  await send('POST', schemas, { body: schemaOf('own', 'own', 'noxu') })
  while ((await condition('own')) === undefined) await moment()
  const words = 'This FlowSchema references the PriorityLevelConfiguration object named "own"'
  t.match(await condition('own'), {
    status: 'True',
    reason: 'NotFound',
    message: `${words} but there is no such object`,
  })
  t.strictSame(await flowOf('/version', 't'), others, 'a schema without its level does not count')
  const level = { metadata: { name: 'own' }, spec: { type: 'Limited', limited } }
  await send('POST', levels, { body: level })
  const isFound = async (): Promise<boolean> =>
    JSON.stringify(await condition('own')).includes('"False"')
  while (!(await isFound())) await moment()
  t.match(await condition('own'), { reason: 'Found', message: `${words} and it exists` })
  t.strictSame(await flowOf('/version', 't'), await uidsOf('own', 'own'))
  t.strictSame(await flowOf('/api/v1/pods', 't'), others, 'it has rules for paths only')
  t.strictSame(await flowOf('/version'), usual, 'another user is not concerned')
  const metrics = (await send('GET', '/metrics')).body.toString()
  // One of 246 shares, of 600 seats.
  t.match(metrics, /apiserver_flowcontrol_nominal_limit_seats\{priority_level="own"\} 3$/m)
  t.match(metrics, /apiserver_flowcontrol_nominal_limit_seats\{priority_level="exempt"\} 0$/m)
  const { headers } = await ask(port, {
    path: '/version',
    headers: { authorization: 'Bearer admin', 'impersonate-user': 'noxu' },
  })
  t.equal(headers['x-kubernetes-pf-flowschema-uid'], (await uidsOf('own', 'own'))[0])
  await send('DELETE', `${levels}/own`)
  while (await isFound()) await moment()
  t.strictSame(await flowOf('/version', 't'), others)
})
