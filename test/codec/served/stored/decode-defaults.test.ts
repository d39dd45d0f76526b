/** Defaults of what comes in a request, where those of what is read from etcd are another
 *  matter. */

import t from 'tap'
import { parseTree, textInOrder, type JsonObject } from '../../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { applyDecodeDefaults } from '../../../../lib/codec/served/stored/defaults.ts'

function completed(apiVersion: string, kind: string, object: object): JsonObject {
  const bytes = Buffer.from(JSON.stringify(object))
  const tree = parseTree(bytes, 0, bytes.length) as JsonObject
  const { type } = schemaOf().findKind(apiVersion, kind)!
  applyDecodeDefaults(tree, type, `${apiVersion} ${kind}`)
  return tree
}

const plain = (tree: JsonObject): { spec: Record<string, object> } =>
  JSON.parse(textInOrder(tree)) as { spec: Record<string, object> }

t.test('amounts of resources are rounded up to thousandths', async t => {
  const limits = { cpu: '1u', memory: '1500u', x: '0.0001Ki', y: '-1n', z: '2', e: '1e-6' }
  const claim = completed('v1', 'PersistentVolumeClaim', { spec: { resources: { limits } } })
  t.strictSame(plain(claim).spec['resources'], {
    limits: { cpu: '1m', memory: '2m', x: '103m', y: '-1m', z: '2', e: '1e-3' },
  })
})

t.test('an empty list of token requests is none', async t => {
  const driver = completed('storage.k8s.io/v1', 'CSIDriver', { spec: { tokenRequests: [] } })
  t.notOk('tokenRequests' in plain(driver).spec)
})

t.test('a pod with limits of its own asks for what its containers ask for', async t => {
  const asking = (cpu: string, more: object = {}): object => ({
    name: 'c',
    resources: { requests: { cpu, memory: '1Gi', 'example.com/x': '1' } },
    ...more,
  })
  const requestsOf = (spec: object): unknown => {
    const resources = { limits: { cpu: '4', 'hugepages-2Mi': '4Mi' } }
    const pod = completed('v1', 'Pod', { spec: { resources, ...spec } })
    return (plain(pod).spec['resources'] as { requests: unknown }).requests
  }
  const huge = { 'hugepages-2Mi': '4Mi' }
  t.strictSame(requestsOf({ containers: [{ name: 'c' }] }), { cpu: '4', ...huge })
  t.strictSame(requestsOf({ containers: [asking('500m'), asking('1')] }), {
    cpu: '1500m',
    memory: '2Gi',
    ...huge,
  })
  const sidecar = asking('1', { restartPolicy: 'Always' })
  t.strictSame(
    requestsOf({ initContainers: [sidecar, asking('3')], containers: [asking('1')] }),
    { cpu: '4', memory: '2Gi', ...huge },
    'an init container runs beside the sidecars before it',
  )
})

t.test('a pod with amounts of its own is limited to the huge pages of its containers', async t => {
  const resourcesOf = (resources: object, limits: object): unknown => {
    const containers = [{ name: 'c', resources: { limits } }]
    const pod = completed('v1', 'Pod', { spec: { resources, containers } })
    return plain(pod).spec['resources']
  }
  const limits = { 'hugepages-2Mi': '4Mi' }
  const cpu = { cpu: '1' }
  t.strictSame(resourcesOf({ requests: cpu }, limits), { limits, requests: { ...cpu, ...limits } })
  t.strictSame(resourcesOf({}, limits), {})
  t.strictSame(resourcesOf({ requests: limits }, { 'hugepages-2Mi': '8Mi' }), { requests: limits })
  t.strictSame(resourcesOf({ limits: cpu }, limits), {
    limits: { ...cpu, ...limits },
    requests: { ...cpu, ...limits },
  })
})
