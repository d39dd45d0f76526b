/** The manifests of deploy/kubernetes and the chart, applied to our own server as `kubectl apply
 *  --server-side --kustomize` does: strictly, so that a field that the API does not have is
 *  refused. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { renderChart } from '../support/release/chart.ts'
import { type HttpAnswer, ask, startServed } from '../support/http/served.ts'

interface Kustomization {
  readonly namespace?: string
  readonly resources: readonly string[]
  readonly patches?: readonly { readonly path: string }[]
}

interface Named {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** The plural of each kind, and whether it has namespaces. */
const places: Readonly<Record<string, readonly [plural: string, isNamespaced: boolean]>> = {
  Namespace: ['namespaces', false],
  ServiceAccount: ['serviceaccounts', true],
  Service: ['services', true],
  Deployment: ['deployments', true],
  NetworkPolicy: ['networkpolicies', true],
  ClusterRole: ['clusterroles', false],
  ClusterRoleBinding: ['clusterrolebindings', false],
  Role: ['roles', true],
  RoleBinding: ['rolebindings', true],
  PodDisruptionBudget: ['poddisruptionbudgets', true],
  HorizontalPodAutoscaler: ['horizontalpodautoscalers', true],
  APIService: ['apiservices', false],
}

const writable = { isWritable: true, hasControllers: true }
const { service } = await startServed(t, writable)
await service.ready

function send(method: string, path: string, type: string, body: string): Promise<HttpAnswer> {
  return sendTo(service.port, { method, path, type, body })
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly type: string
  readonly body: string
}

function sendTo(port: number, { method, path, type, body }: Sent): Promise<HttpAnswer> {
  const headers = { 'content-type': `application/${type}` }
  const query = 'fieldManager=test&fieldValidation=Strict'
  return ask(port, { method, path: `${path}?${query}`, headers, body })
}

function pathOf({ apiVersion, kind, metadata }: Named, defaultNamespace: string): string {
  const [plural, isNamespaced] = places[kind] ?? []
  if (plural === undefined) throw new Error(`this test does not know where a ${kind} belongs`)
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const inside = isNamespaced ? `/namespaces/${metadata.namespace ?? defaultNamespace}` : ''
  return `${root}${inside}/${plural}/${metadata.name}`
}

interface Resource {
  readonly file: string
  readonly text: string
  readonly path: string
}

function kustomizationOf(folder: string): Kustomization {
  return parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization
}

/** The objects of a kustomization, as they stand in the files: what their YAML means is for the
 *  server to say. */
function resourcesIn(folder: string): Resource[] {
  const { namespace = 'default', resources } = kustomizationOf(folder)
  return resources.flatMap(name => {
    const file = join(folder, name)
    const texts = readFileSync(file, 'utf8').split(/^---\n/m)
    return texts.map(text => ({ file, text, path: pathOf(parse(text) as Named, namespace) }))
  })
}

function statusAndWarning({ status, headers, body }: HttpAnswer): readonly unknown[] {
  return [status, headers['warning'], ...(status < 300 ? [] : [body.toString()])]
}

// The namespace of the aggregated server, and one that every cluster has.
for (const name of ['extension', 'kube-system']) {
  const namespace = JSON.stringify({ metadata: { name } })
  await send('POST', '/api/v1/namespaces', 'json', namespace)
}

for (const use of ['proxy', 'sidecar', 'without-etcd', 'sample-apiserver']) {
  t.test(
    `the manifests of deploy/kubernetes/${use} are applied without warnings, and again`,
    async t => {
      const resources = resourcesIn(`deploy/kubernetes/${use}`)
      // Their objects have the names of those of others.
      const isAlone = use === 'without-etcd' || use === 'sample-apiserver'
      const server = isAlone ? (await startServed(t, writable)).service : service
      await server.ready
      for (const expected of [201, 200]) {
        for (const { file, text, path } of resources) {
          const answer = await sendTo(server.port, {
            method: 'PATCH',
            path,
            type: 'apply-patch+yaml',
            body: text,
          })
          t.strictSame(statusAndWarning(answer), [expected, undefined], `${file}: ${path}`)
        }
      }
    },
  )
}

t.test('the container of the sidecar is patched into the Deployment of a server', async t => {
  const folder = 'deploy/kubernetes/sidecar'
  const [{ path: file } = { path: '' }] = kustomizationOf(folder).patches ?? []
  const patch = parse(readFileSync(join(folder, file), 'utf8')) as Named
  const labels = { app: 'extension-apiserver' }
  const deployment = {
    metadata: { name: patch.metadata.name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'server', image: 'server' }] },
      },
    },
  }
  const path = pathOf(patch, 'extension')
  const folderPath = path.slice(0, path.lastIndexOf('/'))
  const created = await send('POST', folderPath, 'json', JSON.stringify(deployment))
  t.strictSame(statusAndWarning(created), [201, undefined])
  const type = 'strategic-merge-patch+json'
  const patched = await send('PATCH', path, type, JSON.stringify(patch))
  t.strictSame(statusAndWarning(patched), [200, undefined])
  const { spec } = JSON.parse(patched.body.toString()) as {
    spec: { template: { spec: { containers: { name: string }[] } } }
  }
  const names = spec.template.spec.containers.map(({ name }) => name)
  t.strictSame(names.toSorted(), ['server', 'watchglass'])
})

t.test('a field that the API does not have is refused', async t => {
  const [first] = resourcesIn('deploy/kubernetes/proxy').filter(({ path }) =>
    path.endsWith('/deployments/watchglass'),
  )
  const { path = '', text = '' } = first ?? {}
  const wrong = text.replace('readinessProbe:', 'redinessProbe:')
  const answer = await send('PATCH', path, 'apply-patch+yaml', wrong)
  t.not(answer.status, 200)
  t.match(answer.body.toString(), /redinessProbe/)
})

t.test('what the chart makes is applied without a warning, in each mode', async t => {
  for (const mode of ['proxy', 'without-etcd', 'replica', 'sidecar']) {
    const set = { mode, 'autoscaling.enabled': true }
    const release = { name: `chart-${mode}`, namespace: 'extension', set }
    for (const object of renderChart('deploy/helm/watchglass', release)) {
      const path = pathOf(object as unknown as Named, release.namespace)
      const answer = await send('PATCH', path, 'apply-patch+yaml', JSON.stringify(object))
      t.strictSame(statusAndWarning(answer), [201, undefined], path)
    }
  }
})
