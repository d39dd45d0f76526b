import t from 'tap'
import { ask } from '../../support/http/served.ts'
import type { Before, DirectAnswer } from '../../support/upstream/answers.ts'
import { moment } from '../../support/http/moment.ts'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
}
const objects: (readonly [string, unknown])[] = [
  ['/apis/apps/v1/namespaces/default/deployments', deployment],
  ['/api/v1/namespaces/default/configmaps', configMap('a', 'b')],
]

const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const

/** The discovery of a server that stores Deployments in another version. */
const otherHash: Before = ({ url }): DirectAnswer | undefined => {
  if (url !== '/apis/apps/v1') return undefined
  const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']
  const resource = { singularName: 'deployment', namespaced: true, kind: 'Deployment', verbs }
  const resources = [{ name: 'deployments', ...resource, storageVersionHash: 'another' }]
  const body = { kind: 'APIResourceList', groupVersion: 'apps/v1', resources }
  return {
    code: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
}

t.test('a resource that the upstream stores in another version passes, and is said to', async t => {
  const proxied = await startProxied(t, {
    upstream: { before: otherHash },
    service: { adminListen },
    objects,
  })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const configMaps = await proxied.get('/api/v1/namespaces/default/configmaps')
  t.equal(originOf(configMaps), 'mirror; revision=N')
  const deployments = await proxied.get('/apis/apps/v1/deployments')
  t.equal(deployments.status, 200)
  t.match(originOf(deployments), /reason=stored-version/)
  const { body } = await ask(proxied.service.adminPort, { path: '/resources' })
  const { resources } = JSON.parse(body.toString()) as { resources: Record<string, unknown>[] }
  t.match(
    resources.find(one => one['resource'] === 'deployments'),
    { isAnsweredHere: false, reason: 'stored-version', why: /storageVersionHash/ },
  )
})

t.test('one that is stored as servers of the minor store it is answered here', async t => {
  const proxied = await startProxied(t, { objects })
  await answeredHere(proxied, 'apps', 'v1', 'deployments')
  const deployments = await proxied.get('/apis/apps/v1/deployments')
  t.equal(originOf(deployments), 'mirror; revision=N')
  t.ok(proxied.upstream.seen.some(({ url }) => url === '/apis/apps/v1'))
})

t.test('a resource that our account may not list is said to be refused, not unproven', async t => {
  const proxied = await startProxied(t, {
    upstream: {
      before: ({ url }) =>
        url.startsWith('/api/v1/secrets?')
          ? { code: 403, headers: { 'content-type': 'application/json' }, body: '{}' }
          : undefined,
    },
    service: { adminListen },
    objects,
  })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const secrets = async (): Promise<Record<string, unknown> | undefined> => {
    const { body } = await ask(proxied.service.adminPort, { path: '/resources' })
    const { resources } = JSON.parse(body.toString()) as { resources: Record<string, unknown>[] }
    return resources.find(one => one['resource'] === 'secrets')
  }
  let said = await secrets()
  while (!String(said?.['why']).includes('403')) {
    await moment()
    said = await secrets()
  }
  t.match(said, {
    isAnsweredHere: false,
    reason: 'unproven',
    why: 'the upstream answers 403 when our own account lists it',
    whatWouldChangeThat: /rbac\.yaml/,
  })
})
