/** Writes as client-go's dynamic client sends them where CBOR is on: each verb and subresource with
 *  a body, of built-in and custom kinds, asked for in CBOR, and the same question in JSON. */

import { encode } from 'cborg'
import t from 'tap'
import { decodedCbor } from '../../support/kube/outputs.ts'
import { serveHere } from '../../support/program/serve-here.ts'

interface Sent {
  readonly method: string
  readonly path: string
  readonly body: object
}

const [core, apps, toys] = [
  '/api/v1/namespaces/default',
  '/apis/apps/v1/namespaces/default',
  '/apis/example.com/v1/namespaces/default/toys',
]
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', labels: { of: 'x' } } }
const toy = { apiVersion: 'example.com/v1', kind: 'Toy', metadata: { name: 'a' } }
const template = {
  metadata: { labels: { a: 'b' } },
  spec: { containers: [{ name: 'a', image: 'a' }] },
}
const set = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'a' },
  spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
}
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a' },
  spec: { ...template.spec, automountServiceAccountToken: false },
}
const scale = { metadata: { name: 'a', namespace: 'default' }, spec: { replicas: 1 } }
const options = { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] }
const apply = '?fieldManager=me&force=true'
const review = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
}
const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' } }
const binding = {
  apiVersion: 'v1',
  kind: 'Binding',
  metadata: { name: 'a' },
  target: { kind: 'Node', name: 'n' },
}

/** Each is sent in JSON first, as a dry run, and then in CBOR. */
const walk: readonly Sent[] = [
  { method: 'POST', path: `${core}/configmaps`, body: map },
  { method: 'PUT', path: `${core}/configmaps/a`, body: { ...map, data: { n: '1' } } },
  { method: 'PATCH', path: `${core}/configmaps/a${apply}`, body: { ...map, data: { n: '2' } } },
  { method: 'POST', path: toys, body: { ...toy, spec: { size: 1, far: -5000000000, half: 0.5 } } },
  { method: 'PATCH', path: `${toys}/a${apply}`, body: { ...toy, spec: { size: 2 } } },
  { method: 'PATCH', path: `${toys}/a/status${apply}`, body: { ...toy, status: { ok: true } } },
  { method: 'POST', path: `${apps}/replicasets`, body: set },
  {
    method: 'PUT',
    path: `${apps}/replicasets/a/status`,
    body: { ...set, status: { replicas: 3 } },
  },
  {
    method: 'PUT',
    path: `${apps}/replicasets/a/scale`,
    body: { apiVersion: 'autoscaling/v1', kind: 'Scale', ...scale },
  },
  {
    method: 'PATCH',
    path: `${apps}/replicasets/a/scale${apply}`,
    body: { apiVersion: 'autoscaling/v1', kind: 'Scale', ...scale },
  },
  { method: 'POST', path: `${core}/pods`, body: pod },
  { method: 'PUT', path: `${core}/pods/a/status`, body: { ...pod, status: { phase: 'Running' } } },
  { method: 'POST', path: `${core}/pods/a/binding`, body: binding },
  { method: 'POST', path: `${core}/pods/a/eviction`, body: eviction },
  { method: 'POST', path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', body: review },
  { method: 'DELETE', path: `${toys}/a`, body: options },
  { method: 'DELETE', path: `${core}/configmaps?labelSelector=of%3Dx`, body: options },
]

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'toys.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'toys', singular: 'toy', kind: 'Toy', listKind: 'ToyList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}

t.test('with --cbor, each verb and subresource takes its body in CBOR', async t => {
  const { address } = await serveHere(t, ['--etcd', 'embedded', '--cbor'])
  const send = async (
    { method, path, body }: Sent,
    form: 'json' | 'cbor',
  ): Promise<{ readonly code: number; readonly object: Record<string, unknown> }> => {
    const patch = form === 'json' ? 'application/apply-patch+yaml' : 'application/apply-patch+cbor'
    const dry = form === 'json' ? `${path.includes('?') ? '&' : '?'}dryRun=All` : ''
    const answer = await fetch(address + path + dry, {
      method,
      headers: {
        accept: `application/${form}`,
        'content-type': method === 'PATCH' ? patch : `application/${form}`,
      },
      body: form === 'json' ? JSON.stringify(body) : new Uint8Array(encode(body)),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const { status: code, headers } = answer
    t.equal(headers.get('content-type'), `application/${form}`, `${method} ${path}`)
    if (form === 'json') return { code, object: JSON.parse(bytes.toString()) as never }
    t.equal(bytes.subarray(0, 3).toString('hex'), 'd9d9f7', 'it describes itself')
    return { code, object: decodedCbor(bytes) as never }
  }
  await send(
    {
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: definition,
    },
    'cbor',
  )
  while ((await fetch(address + toys)).status === 404);
  while ((await fetch(`${address}${core}/serviceaccounts/default`)).status === 404);
  for (const sent of walk) {
    const inJson = await send(sent, 'json')
    const inCbor = await send(sent, 'cbor')
    const name = `${sent.method} ${sent.path}`
    t.ok(inJson.code < 300, `${name}: ${JSON.stringify(inJson.object)}`)
    t.equal(inCbor.code, inJson.code, `${name}: ${JSON.stringify(inCbor.object)}`)
    t.strictSame(shapeOf(inCbor.object), shapeOf(inJson.object), name)
  }
})

t.test('without it, CBOR is a form that is not known', async t => {
  const { address } = await serveHere(t, ['--etcd', 'embedded'])
  for (const [method, path, type] of [
    ['POST', `${core}/configmaps`, 'application/cbor'],
    ['PATCH', `${core}/configmaps/a${apply}`, 'application/apply-patch+cbor'],
  ] as const) {
    const headers = { 'content-type': type }
    const body = new Uint8Array(encode(map))
    t.equal((await fetch(address + path, { method, headers, body })).status, 415, type)
  }
})

/** An answer without what differs each time. */
function shapeOf(object: Record<string, unknown>): unknown {
  const text = JSON.stringify(object, (name, value: unknown) =>
    ['uid', 'resourceVersion', 'token', 'managedFields', 'generation'].includes(name)
      ? undefined
      : typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
        ? 'a time'
        : value,
  )
  return JSON.parse(text)
}
