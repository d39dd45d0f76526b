/** Answers to requests that clients seldom send, as a kube-apiserver 1.36 gave them on 2026-11-24
 *  to the same requests, one after the other. */

import t from 'tap'
import { rbacOf } from '../../support/http/rbac.ts'
import { ask, startServed } from '../../support/http/served.ts'
import { settled, tokens } from '../../golden/asked.ts'

interface Row {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly type?: string
  readonly accept?: string
  readonly user?: string
  readonly status: number
  /** A part of the answer, or of its warnings. */
  readonly says: string
}

const account = '/api/v1/namespaces/default/serviceaccounts/robot/token'
const pod = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const asTable = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const apply = 'application/apply-patch+yaml'
const map = '/api/v1/namespaces/default/configmaps'
const sar = (resourceAttributes: object): object => ({ spec: { user: 'x', resourceAttributes } })
const bound = (boundObjectRef: object): object => ({ spec: { boundObjectRef } })

const rows: readonly Row[] = [
  {
    path: '/api/v1/namespaces/default/serviceaccounts',
    body: { metadata: { name: 'robot' } },
    status: 201,
    says: 'robot',
  },
  { path: '/api/v1/nodes', body: { metadata: { name: 'n1' } }, status: 201, says: 'n1' },
  {
    path: '/api/v1/namespaces/default/pods',
    body: {
      metadata: { name: 'p' },
      spec: { serviceAccountName: 'robot', containers: [{ name: 'a', image: 'x' }] },
    },
    status: 201,
    says: '"p"',
  },
  {
    path: account,
    body: { metadata: { name: 'x' } },
    status: 422,
    says: 'TokenRequest.authentication.k8s.io \\"robot\\" is invalid: metadata.name: Invalid value: \\"x\\": must match the service account name if specified',
  },
  {
    path: account,
    body: { metadata: { labels: { a: 'b' } } },
    status: 201,
    says: '"labels":{"a":"b"}',
  },
  {
    path: account,
    body: bound({ kind: 'Node', apiVersion: 'v1', name: 'n1' }),
    status: 201,
    says: '"token"',
  },
  {
    path: account,
    body: bound({ kind: 'Node', apiVersion: 'v1', name: 'n9' }),
    status: 404,
    says: 'nodes \\"n9\\" not found',
  },
  {
    path: account,
    body: bound({ kind: 'Node', apiVersion: 'v1', name: 'n1', uid: 'x' }),
    status: 409,
    says: 'Operation cannot be fulfilled on Node \\"n1\\": the UID in the bound object reference (x) does not match',
  },
  {
    path: account,
    body: bound({ kind: 'ConfigMap', apiVersion: 'v1', name: 'a' }),
    status: 400,
    says: 'cannot bind token to object of type /v1, Kind=ConfigMap',
  },
  { path: account, body: bound({ ...pod, apiVersion: 'v2' }), status: 201, says: '"token"' },
  {
    path: account,
    body: bound({ ...pod, name: '' }),
    status: 400,
    says: 'Name parameter required.',
  },
  {
    path: account.replace('default', 'none'),
    body: {},
    status: 404,
    says: 'namespaces \\"none\\" not found',
  },
  {
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: { spec: { token: 'golden-alice-token ' } },
    status: 201,
    says: '"authenticated":true',
  },
  {
    path: reviews,
    body: sar({ verb: 'list', labelSelector: { rawSelector: 'a in (b' } }),
    status: 201,
    says: '"evaluationError":"spec.resourceAttributes.labelSelector ignored due to parse error"',
  },
  {
    path: reviews,
    body: sar({
      fieldSelector: {
        requirements: [
          { key: 'a', operator: 'In', values: ['b'] },
          { key: 'a', operator: 'Exists' },
        ],
      },
    }),
    status: 201,
    says: 'spec.resourceAttributes.fieldSelector partially ignored due to parse error',
  },
  {
    path: reviews,
    accept: asTable,
    body: sar({}),
    status: 406,
    says: 'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  },
  {
    path: `${map}?dryRun=All`,
    accept: asTable,
    body: { metadata: { name: 'x' } },
    status: 201,
    says: '"metadata":{},"columnDefinitions"',
  },
  {
    path: `${map}?dryRun=All`,
    body: { metadata: { name: 'x', resourceVersion: '5' } },
    status: 201,
    says: '"resourceVersion":"5"',
  },
  {
    method: 'DELETE',
    path: `${map}/none`,
    body: { apiVersion: 'v1', kind: 'Pod' },
    status: 400,
    says: 'no kind \\"Pod\\" is registered for version \\"v1\\" in scheme',
  },
  {
    method: 'DELETE',
    path: `${map}/none`,
    body: { kind: 'Pod' },
    status: 400,
    says: 'for version \\"meta.k8s.io/v1\\"',
  },
  {
    method: 'DELETE',
    path: `${map}/none`,
    body: { apiVersion: 'apps/v1', kind: 'DeleteOptions' },
    status: 404,
    says: 'not found',
  },
  {
    method: 'DELETE',
    path: `${map}/none`,
    body: 3,
    status: 400,
    says: "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct",
  },
  {
    method: 'PATCH',
    path: '/api/v1/namespaces/none/status?fieldManager=q',
    type: apply,
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'none' } },
    status: 404,
    says: 'namespaces \\"none\\" not found',
  },
  {
    method: 'DELETE',
    path: '/apis/batch/v1/namespaces/default/jobs',
    status: 200,
    says: 'child pods are preserved by default when jobs are deleted',
  },
  {
    path: '/api/v1/namespaces/default/limitranges?dryRun=All',
    body: {},
    status: 201,
    says: '"kind":"LimitRange"',
  },
  {
    path: '/api/v1/namespaces/default/services?dryRun=All',
    body: { metadata: { name: 's' }, spec: { externalIPs: ['1.2.3.4'], ports: [{ port: 80 }] } },
    status: 201,
    says: 'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
  },
  {
    method: 'GET',
    path: '/healthz/ping',
    user: 'alice',
    status: 403,
    says: 'forbidden: User \\"alice\\" cannot get path \\"/healthz/ping\\"',
  },
  { method: 'GET', path: '/healthz', user: 'alice', status: 200, says: 'ok' },
]

t.test('answers are those of a kube-apiserver', async t => {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    admission: { enabled: [], disabled: ['ServiceAccount'] },
  })
  await served.service.ready
  for (const { method = 'POST', path, body, type, accept, user = 'admin', status, says } of rows) {
    await settled(served)
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const answer = await ask(served.service.port, {
      method,
      path,
      headers: {
        authorization: `Bearer golden-${user}-token`,
        ...(body === undefined
          ? {}
          : { 'content-type': type ?? 'application/json', 'content-length': sent?.length ?? 0 }),
        ...(accept === undefined ? {} : { accept }),
      },
      body: sent,
    })
    const text = `${answer.body.toString()} ${answer.headers['warning'] ?? ''}`
    t.equal(answer.status, status, `${method} ${path}: ${text.slice(0, 300)}`)
    t.ok(text.includes(says), `${says} in ${text.slice(0, 600)}`)
  }
})
