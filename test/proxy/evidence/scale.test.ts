/** Scales leave the mirror only when they were compared, like every other form. */

import t from 'tap'
import { ask } from '../../support/http/served.ts'
import { type Lying, startLying, until } from '../../support/upstream/lying.ts'
import { answeredHere, created, originOf } from '../../support/upstream/proxied.ts'
import { moment } from '../../support/http/moment.ts'

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [] } }

function deployment(name: string, spec: object): unknown {
  const selector = { matchLabels: { app: 'a' } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas: 3, selector, template, ...spec },
    status: { replicas: 2 },
  }
}

/** Requests of the scale of that object. */
function asksOf({ upstream }: Lying, path: string): number {
  return upstream.seen.filter(({ url }) => url.startsWith(`${path}/scale`)).length
}

t.test('scales are compared when they are asked for, each form for itself', async t => {
  const objects = [[deployments, deployment('a', {})]] as const
  const lying = await startLying(t, objects, body => body)
  const path = `${deployments}/a`
  await answeredHere(lying, 'apps', 'v1', 'deployments')
  t.equal(asksOf(lying, path), 0)
  t.equal(originOf(await lying.get(`${path}/scale`)), 'pass; reason=unproven')
  for (const accept of [
    'application/json',
    'application/yaml',
    'application/vnd.kubernetes.protobuf',
    'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    'application/json;as=Table;g=meta.k8s.io;v=v1',
  ]) {
    const ours = await until(lying, `${path}/scale`, 'mirror', { accept })
    const headers = { accept }
    const theirs = await ask(lying.upstream.port, { path: `${path}/scale`, headers })
    t.equal(ours.status, 200, accept)
    t.equal(ours.headers['content-type'], theirs.headers['content-type'])
    const ageless = (body: Buffer): string => body.toString().replace(/"(?:\d+[dhms])+"/, '')
    t.equal(ageless(ours.body), ageless(theirs.body))
  }
  const b = deployment('b', { selector: { matchExpressions: [{ key: 'x', operator: 'Exists' }] } })
  await created(lying.upstream.port, deployments, b)
  // It is compared before any client asks for it.
  while (asksOf(lying, `${deployments}/b`) === 0) await moment()
  const { body } = await until(lying, `${deployments}/b/scale`, 'mirror')
  t.match(body.toString(), /"selector":"x"/)
})

t.test('a lie about a scale closes that form, and no other', async t => {
  const objects = [[deployments, deployment('a', {})]] as const
  const lying = await startLying(t, objects, body =>
    body.includes('"kind":"Scale"') ? body.replace('app=a', 'app==a') : body,
  )
  await answeredHere(lying, 'apps', 'v1', 'deployments')
  const path = `${deployments}/a/scale`
  const headers = { accept: 'application/json' }
  while (lying.logged.length === 0) {
    t.match(originOf(await lying.get(path, headers)), /^pass/)
    await moment()
  }
  t.equal(originOf(await lying.get(path, headers)), 'pass; reason=differs')
  t.match(lying.logged.join(), /"form":"scale json","at":".status.selector"/)
  t.match(originOf(await lying.get(deployments)), /^mirror/)
  const protobuf = { accept: 'application/vnd.kubernetes.protobuf' }
  t.match(originOf(await until(lying, path, 'mirror', protobuf)), /^mirror/)
})

t.test('a lie about a scale that has something new is noticed before it is answered', async t => {
  const objects = [[deployments, deployment('a', {})]] as const
  const lying = await startLying(t, objects, body =>
    body.replace('"selector":"!x"', '"selector":""'),
  )
  await until(lying, `${deployments}/a/scale`, 'mirror')
  const b = deployment('b', {
    selector: { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] },
  })
  await created(lying.upstream.port, deployments, b)
  let answer = await lying.get(`${deployments}/b/scale`)
  while (originOf(answer) !== 'pass; reason=differs') {
    t.match(originOf(answer), /^pass/)
    await moment()
    answer = await lying.get(`${deployments}/b/scale`)
  }
})

t.test('refusals of the subresource are those of the upstream', async t => {
  const objects = [[deployments, deployment('a', {})]] as const
  const lying = await startLying(t, objects, body => body)
  await until(lying, `${deployments}/a/scale`, 'mirror')
  const pass = 'pass; reason=refusal'
  t.equal(originOf(await lying.get(`${deployments}/none/scale`)), pass)
  t.equal(originOf(await lying.get(`${deployments}/a/scale?resourceVersion=x`)), pass)
  const list = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' }
  t.equal(originOf(await lying.get(`${deployments}/a/scale`, list)), pass)
})

t.test('custom resources are scaled where their definition says', async t => {
  const things = '/apis/example.com/v1/namespaces/default/things'
  const definition = {
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
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
          subresources: {
            scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.have' },
          },
        },
      ],
    },
    status: {
      acceptedNames: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      conditions: [
        { type: 'NamesAccepted', status: 'True' },
        { type: 'Established', status: 'True' },
      ],
      storedVersions: ['v1'],
    },
  }
  const lying = await startLying(
    t,
    [['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition]],
    body => body,
  )
  const { port } = lying.upstream
  while ((await ask(port, { path: things })).status !== 200) await moment()
  const thing = (name: string, spec: object): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name },
    spec,
  })
  await created(port, things, thing('a', { size: 4 }))
  await created(port, things, thing('b', {}))
  const { body } = await until(lying, `${things}/a/scale`, 'mirror')
  t.match(body.toString(), /"spec":\{"replicas":4\},"status":\{"replicas":0\}\}\n$/)
  const none = await until(lying, `${things}/b/scale`, 'pass; reason=refusal')
  t.equal(none.status, 500)
})
