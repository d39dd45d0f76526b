/** Later features before an upstream that obeys them, and before one that ignores them: answers are
 *  its own bytes, from the mirror. */

import t, { type Test } from 'tap'
import { type Schema, schemaOf } from '../../../lib/codec/schema/schema.ts'
import { moment } from '../../support/http/moment.ts'
import { ask } from '../../support/http/served.ts'
import {
  answeredHere,
  configMap,
  created,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'
import { openWatch } from '../../support/watch/watch-client.ts'
import { streaming } from '../../support/watch/watch-served.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const secrets = '/api/v1/namespaces/default/secrets'
const half = encodeURIComponent(
  "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
)
const drop = 'drop=metadata.managedFields'
const forms = [
  `application/json;${drop}`,
  `application/vnd.kubernetes.protobuf;${drop}`,
  `application/json;as=Table;v=v1;g=meta.k8s.io;${drop}`,
  `application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io;${drop}, application/json;${drop}`,
]

const managedFields = [
  {
    manager: 'kubectl',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-11-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:metadata': {} },
  },
]
const namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'default', managedFields },
}
const objects = [
  ['/api/v1/namespaces', namespace],
  // Nothing can be dropped of the first one.
  [maps, configMap('first', '1')],
  ...Array.from({ length: 12 }, (_, i) => {
    const metadata = { name: `m${i}`, managedFields }
    return [maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: {} }] as const
  }),
] as const

for (const isObeyed of [false, true]) {
  const does = isObeyed ? 'obeys' : 'ignores'

  t.test(`an upstream that ${does} shards and drop is answered for as it answers`, async t => {
    const service = { hasShards: isObeyed, hasDrop: isObeyed }
    const proxied = await startProxied(t, { upstream: { service }, objects })
    await answeredHere(proxied, '', 'v1', 'configmaps')
    for (const accept of ['application/json', 'application/vnd.kubernetes.protobuf']) {
      const path = `${maps}?shardSelector=${half}`
      const body = await sameBytes(t, proxied, path, accept)
      const whole = await ask(proxied.port, { path: maps, headers: { accept } })
      t.equal(body.length < whole.body.length, isObeyed, accept)
    }
    for (const accept of forms) {
      const body = await sameBytes(t, proxied, maps, accept)
      t.equal(body.includes('kubectl'), !isObeyed, accept)
    }
    await sameBytes(t, proxied, `${maps}/m1`, forms[0]!)
    await sameBytes(t, proxied, `${maps}?shardSelector=${half}`, forms[0]!)
    const bad = await sameBytes(t, proxied, `${maps}?shardSelector=x`, 'application/json')
    t.equal(bad.includes('invalid shard selector'), isObeyed)
  })
}

t.test('what asks for another drop is not known to be ignored before it was seen', async t => {
  const proxied = await startProxied(t, { objects })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const accept = 'application/json;drop=spec'
  const first = await proxied.get(maps, { accept })
  t.equal(originOf(first), 'pass; reason=unproven')
  await sameBytes(t, proxied, maps, accept)
})

t.test('a resource without objects is answered as the server treats others', async t => {
  const proxied = await startProxied(t, { objects })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  for (let i = 0; originOf(await proxied.get(secrets)) !== 'mirror; revision=N'; i++) {
    await created(proxied.upstream.port, maps, configMap(`rises-${i}`, '1'))
  }
  await sameBytes(t, proxied, secrets, forms[0]!)
})

for (const isZipped of [true, false]) {
  const does = isZipped ? 'compresses' : 'does not compress'

  t.test(`streaming lists are answered as an upstream of 1.37 that ${does} them`, async t => {
    // Its feature gate is switched off where the minor is only its name.
    const upstream = isZipped ? { service: minor('1.37') } : { service: minor('1.36'), minor: '37' }
    const proxied = await startProxied(t, { upstream, service: minor('1.37'), objects })
    await answeredHere(proxied, '', 'v1', 'configmaps')
    const path = `${maps}?watch=true&${streaming}`
    const encodingOf = async (): Promise<string> => {
      const stream = await openWatch(proxied.port, { path, headers: { 'accept-encoding': 'gzip' } })
      t.ok(await stream.next())
      stream.close()
      return stream.encoding
    }
    // As the version does, until the upstream has been asked.
    t.equal(await encodingOf(), 'gzip')
    while ((await encodingOf()) !== (isZipped ? 'gzip' : '')) await moment()
    const questions = (): number =>
      proxied.upstream.seen.filter(({ url }) => /configmaps.*asked-for-no-object/.test(url)).length
    while (questions() === 0) await moment()
    if (isZipped) return
    const asked = questions()
    for (let i = 0; i < 3; i++) t.equal(await encodingOf(), '')
    t.equal(questions(), asked, 'what was answered is not asked again')
  })
}

function minor(name: string): { schema: Schema } {
  return { schema: schemaOf(name) }
}

/** An answer of the mirror, which must be what the upstream answers before and after it: the
 *  ages in a Table are others in each second. */
async function sameBytes(
  t: Test,
  { port, upstream }: Proxied,
  path: string,
  accept: string,
): Promise<Buffer> {
  for (;;) {
    const before = await ask(upstream.port, { path, headers: { accept } })
    const ours = await ask(port, { path, headers: { accept } })
    if (!originOf(ours).startsWith('mirror') && ours.status < 400) continue
    const theirs = await ask(upstream.port, { path, headers: { accept } })
    if (!before.body.equals(theirs.body)) continue
    t.equal(ours.body.toString('latin1'), theirs.body.toString('latin1'), `${path} ${accept}`)
    t.equal(ours.status, theirs.status)
    return ours.body
  }
}
