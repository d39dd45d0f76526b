import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { GeneratedCluster } from '../../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { ask, caughtUp, startServed } from '../../support/http/served.ts'

t.test('whatever is generated is served in every form', async t => {
  const served = await startServed(t)
  const plan = parsePlan('pods=60,nodes=3,services=3,events=5,secrets=2')
  const nowMs = 1_750_000_000_000
  const cluster = new GeneratedCluster({
    plan,
    random: createRandom(1),
    nowMs,
    prefix: '/registry',
  })
  let last = 0
  for (const change of cluster.objects()) {
    if (change.type !== 'put') continue
    const { key, value } = change
    const success = [{ type: 'put' as const, key, value }]
    const { header } = await served.client.txn({ compares: [], success, failure: [] })
    last = header.revision
  }
  await caughtUp(served, last)
  const { registry } = served.service.registry.state
  const held = served.service.entries()
  const paths = registry
    .keyspaces()
    .filter(({ prefix }) => (held.get(prefix) ?? 0) > 0)
    .flatMap(({ resources }) => resources)
    .map(({ group, version, resource }) =>
      group === '' ? `/api/v1/${resource}` : `/apis/${group}/${version}/${resource}`,
    )
  t.ok(paths.length > 10)
  for (const path of paths) {
    for (const accept of [
      'application/json',
      'application/vnd.kubernetes.protobuf',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    ]) {
      const { status, body } = await ask(served.service.port, { path, headers: { accept } })
      t.equal(status, 200, `${path} ${accept} ${status === 200 ? '' : body.toString()}`)
    }
  }
})
