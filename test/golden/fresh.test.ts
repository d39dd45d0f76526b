/** The contents of a fresh cluster are those of a kube-apiserver just after its first start. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { ask, startServed } from '../support/http/served.ts'
import type { Exchange } from './load.ts'

const packed = readFileSync('test/golden/data/bootstrap/exchanges.jsonl.gz')
const exchanges = gunzipSync(packed)
  .toString()
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Exchange)

interface Listed {
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

interface Answer {
  readonly kind?: string
  readonly metadata?: object
  readonly items?: readonly Listed[] | null
  readonly rows?: readonly { readonly object: Listed; readonly cells: readonly unknown[] }[]
}

/** Names of objects by the path of their list: those that only one of the two has, or that
 *  differ. */
const exceptions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/apis/rbac.authorization.k8s.io/v1/clusterroles': {
    'system:openshift:public-info-viewer': 'only OpenShift has it',
    'system:controller:service-ca-cert-publisher': 'only OpenShift has it',
  },
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings': {
    'system:openshift:public-info-viewer': 'only OpenShift has it',
    'system:controller:service-ca-cert-publisher': 'only OpenShift has it',
  },
  '/api/v1/services': {
    kubernetes: 'our range of Services is that of kubeadm, and the port is the one listened at',
  },
  '/api/v1/endpoints': { kubernetes: 'the recorded server was told not to make it' },
  '/apis/discovery.k8s.io/v1/endpointslices': {
    kubernetes: 'the recorded server was told not to make it',
  },
  '/apis/coordination.k8s.io/v1/leases': {
    'apiserver-au6a4cvqboooqnwthcefwdvhj4': 'it is named for the host of the server',
    'apiserver-watchglass2222222222222222': 'it is named for the host of the server',
  },
  '/api/v1/events': {
    'openshift-kube-apiserver.18eaa2accfa72670': 'only OpenShift makes it',
  },
  '/api/v1/serviceaccounts': {
    default: 'kube-controller-manager makes it, which did not run with the recorded server',
  },
  '/apis/networking.k8s.io/v1/ipaddresses': {
    '10.0.0.1': 'our range of Services is that of kubeadm',
    '10.96.0.1': 'our range of Services is that of kubeadm',
  },
}

/** Paths of the recorded server that this one does not have, and the other way round. */
const paths = {
  // The documents of an issuer are there with --auth rbac.
  lacking: [
    '/.well-known/openid-configuration',
    '/flagz',
    '/metrics/slis',
    '/openapi/v3/',
    '/openid/v1/jwks',
    '/statusz',
  ],
  more: [],
}

const served = await startServed(t, {
  isWritable: true,
  basics: { rootAuthority: 'a certificate\n' },
})
await served.service.ready

/** The members that differ rightly, beside ages and times in Tables: ids, times, revisions and who
 *  wrote. */
const differing = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'lastTransitionTime',
])

function bare(object: unknown): unknown {
  return JSON.parse(
    JSON.stringify(object, (name, value: unknown) => (differing.has(name) ? undefined : value)),
  )
}

function byName(list: readonly Listed[] | null | undefined): Map<string, unknown> {
  return new Map(
    (list ?? []).map(item => [
      `${item.metadata.namespace ?? ''}/${item.metadata.name}`,
      bare(item),
    ]),
  )
}

for (const { id, request, response, description } of exchanges) {
  const recorded = parsed(response.body ?? '')
  const isList = recorded?.items !== undefined && recorded.kind?.endsWith('DiscoveryList') === false
  if (recorded === undefined || !(isList || recorded.rows !== undefined)) continue
  t.test(`${id}: ${description}`, async t => {
    const answer = await ask(served.service.port, {
      path: request.path,
      headers: { accept: String(request.headers['Accept'] ?? request.headers['accept']) },
    })
    t.equal(answer.status, response.status)
    const ours = parsed(answer.body.toString()) ?? {}
    const excepted = exceptions[request.path] ?? {}
    const [known, made] = [recorded, ours].map(({ items, rows }) =>
      rows === undefined
        ? byName(items)
        : new Map(
            rows.map(({ object, cells }): [string, unknown] => [
              `${object.metadata.namespace ?? ''}/${object.metadata.name}`,
              cells.filter(cell => !/^(?:\d+s|[\d-]+T[\d:]+Z)$/.test(String(cell))),
            ]),
          ),
    ) as [Map<string, unknown>, Map<string, unknown>]
    for (const list of [known, made]) {
      for (const name of list.keys()) {
        if (Object.hasOwn(excepted, name.slice(name.indexOf('/') + 1))) list.delete(name)
      }
    }
    t.strictSame([...made.keys()], [...known.keys()], 'the same names')
    for (const [name, object] of known) t.strictSame(made.get(name), object, name)
  })
}

for (const { id, request, response } of exchanges.filter(({ request }) =>
  /\/clusterroles\/./.test(request.path),
)) {
  t.test(`${id}: one object`, async t => {
    const answer = await ask(served.service.port, { path: request.path })
    t.strictSame(bare(parsed(answer.body.toString())), bare(parsed(response.body ?? '')))
  })
}

for (const { id, request, response } of exchanges.filter(({ request }) =>
  /^\/(?:healthz|livez|readyz|apis$|$)/.test(request.path),
)) {
  t.test(`${id}: ${request.path} as it was sent`, async t => {
    const { Accept: accept } = request.headers as Record<string, string>
    const answer = await ask(served.service.port, {
      path: request.path,
      headers: accept === undefined ? {} : { accept },
    })
    const body = answer.body.toString()
    t.strictSame(answer.headers['content-type'], response.headers['content-type'])
    if (request.path === '/') {
      const ours = (JSON.parse(body) as { paths: string[] }).paths
      const theirs = (JSON.parse(response.body!) as { paths: string[] }).paths
      t.strictSame(
        theirs.filter(path => !ours.includes(path)),
        paths.lacking,
      )
      t.strictSame(
        ours.filter(path => !theirs.includes(path)),
        paths.more,
      )
    } else {
      t.equal(body, response.body)
    }
  })
}

/** Undefined for what is not JSON. */
function parsed(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer
  } catch {
    return undefined
  }
}
