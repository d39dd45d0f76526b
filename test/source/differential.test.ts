/** One cluster, mirrored from its etcd and from its API: every form of every read is the same to
 *  the byte. */

import t, { type Test } from 'tap'
import type { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { Clock } from '../../lib/base/clock.ts'
import { ask, type HttpAnswer, startServed } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import { answeredHere, created, startFront } from '../support/upstream/proxied.ts'

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer', default: 3 }, text: { type: 'string' } },
              },
            },
          },
        },
      },
    ],
  },
}

const container = { name: 'c', image: 'nginx' }
const accepts = [
  'application/json',
  'application/vnd.kubernetes.protobuf',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
]
const listAccepts = [
  ...accepts,
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
]
const watchAccepts = [
  ...accepts,
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
]
const lists = [
  '/api/v1/namespaces/default/pods',
  '/apis/apps/v1/namespaces/default/deployments',
  '/api/v1/configmaps',
  '/apis/example.com/v1/namespaces/default/widgets',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
]
const followed: readonly (readonly [group: string, version: string, resource: string])[] = [
  ['', 'v1', 'pods'],
  ['apps', 'v1', 'deployments'],
  ['', 'v1', 'configmaps'],
  ['example.com', 'v1', 'widgets'],
  ['apiextensions.k8s.io', 'v1', 'customresourcedefinitions'],
]

/** Ages stand still. */
const clock: Clock = { ...systemClock, wallMs: () => Date.UTC(2030, 0, 1) }

t.test('every read is the same, whichever is the source', async t => {
  const cluster = await startServed(t, { isWritable: true })
  await cluster.service.ready
  const { port } = cluster.service
  await created(port, '/api/v1/namespaces', { metadata: { name: 'default' } })
  await created(port, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
  for (let i = 0; i < 8; i++) {
    const metadata = { name: `o${i}`, labels: { even: String(i % 2 === 0) } }
    const template = { metadata, spec: { containers: [container] } }
    const selector = { matchLabels: metadata.labels }
    await created(port, '/api/v1/namespaces/default/pods', { ...template })
    await created(port, '/apis/apps/v1/namespaces/default/deployments', {
      metadata,
      spec: { selector, template },
    })
    await created(port, '/api/v1/namespaces/default/configmaps', { metadata, data: { i: '"ü\n' } })
    await createdWidget(port, { metadata, spec: { text: `<${i}>` } })
  }
  const upstream = { url: `http://127.0.0.1:${port}` }
  const service = { isKept: undefined, clock }
  const source = { isWantedAtStart: () => true }
  const ofEtcd = await startFront(cluster.client, upstream, { service })
  const ofApi = await startFront(undefined, upstream, { service: { ...service, source } })
  t.teardown(() => Promise.all([ofEtcd.stop(), ofApi.stop()]))
  for (const one of [ofEtcd, ofApi]) await answers(one)
  let before = await levelWith(ofApi, port)
  for (let round = 0; round < 2; round++) {
    await change(port, round)
    const revision = await levelWith(ofApi, port)
    await levelWith(ofEtcd, port)
    for (const path of pathsAt(revision)) {
      for (const accept of listAccepts) await compare(t, path, accept, [ofEtcd, ofApi])
    }
    // Each takes a second.
    await Promise.all(
      watchesFrom(before).flatMap(path =>
        watchAccepts.map(accept => compare(t, path, accept, [ofEtcd, ofApi])),
      ),
    )
    before = revision
  }
})

async function createdWidget(port: number, widget: object): Promise<void> {
  const path = '/apis/example.com/v1/namespaces/default/widgets'
  for (;;) {
    const body = JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Widget', ...widget })
    const headers = { 'content-type': 'application/json' }
    const { status } = await ask(port, { method: 'POST', path, headers, body })
    if (status === 201) return
    // The definition is served a moment after it was written.
    await moment()
  }
}

async function answers(service: KubeService): Promise<void> {
  for (const [group, version, resource] of followed) {
    await answeredHere({ service }, group, version, resource)
  }
}

async function change(port: number, round: number): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = JSON.stringify({ metadata: { annotations: { round: String(round) } } })
  for (const list of lists.slice(0, 4)) {
    const path = list === '/api/v1/configmaps' ? '/api/v1/namespaces/default/configmaps' : list
    await ask(port, { method: 'PATCH', path: `${path}/o${round}`, headers, body })
    await ask(port, { method: 'DELETE', path: `${path}/o${7 - round}` })
  }
}

/** The revision of the last write, once the mirror has it. */
async function levelWith(service: KubeService, port: number): Promise<number> {
  const { body } = await ask(port, { path: lists[0] ?? '' })
  const { metadata } = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }
  const revision = Number(metadata.resourceVersion)
  await Promise.all(
    lists.map(async path => {
      for (;;) {
        const { status } = await ask(service.port, { path: `${path}?resourceVersion=${revision}` })
        if (status === 200) break
        await moment()
      }
    }),
  )
  return revision
}

/** Watches that end in a moment. */
function watchesFrom(revision: number): string[] {
  return lists.map(list => `${list}?watch=1&resourceVersion=${revision}&timeoutSeconds=1`)
}

function pathsAt(revision: number): string[] {
  const exact = `resourceVersion=${revision}&resourceVersionMatch=Exact`
  return lists.flatMap(list => [
    `${list}?${exact}`,
    `${list}?${exact}&limit=3`,
    `${list}?${exact}&labelSelector=even%3Dtrue`,
    `${list}?${exact}&fieldSelector=metadata.name%3Do3`,
    `${list}?resourceVersion=0&labelSelector=even%3Dfalse`,
  ])
}

async function compare(
  t: Test,
  path: string,
  accept: string,
  [ofEtcd, ofApi]: readonly [KubeService, KubeService],
): Promise<void> {
  const [left, right] = await Promise.all([
    mirrored(ofEtcd, path, accept),
    mirrored(ofApi, path, accept),
  ])
  const name = `${path} ${accept}`
  t.equal(right.status, left.status, name)
  t.equal(right.body.toString('latin1'), left.body.toString('latin1'), name)
  t.match(String(right.headers['x-watchglass']), /^mirror/, name)
}

/** The answer of the mirror, once the form was compared with the upstream. */
async function mirrored(service: KubeService, path: string, accept: string): Promise<HttpAnswer> {
  for (;;) {
    const answer = await ask(service.port, { path, headers: { accept } })
    if (answer.headers['x-watchglass'] !== 'pass; reason=unproven') return answer
    await moment()
  }
}
