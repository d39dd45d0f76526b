import t, { type Test } from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ask, startServed } from '../../support/http/served.ts'

interface Answer {
  readonly status: number
  readonly message: string | undefined
  readonly causes: readonly object[] | undefined
}

/** Tries resizes of pods on the nodes `linux`, `windows` and `gone`. */
async function startResizes(
  test: Test,
  minor: string,
): Promise<(node: string, requests: object) => Promise<Answer>> {
  const served = await startServed(test, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    schema: schemaOf(minor),
  })
  await served.service.ready
  async function send(method: string, path: string, body: object): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json'
    const headers = { 'content-type': type }
    const { port } = served.service
    const answer = await ask(port, { method, path, headers, body: JSON.stringify(body) })
    const { message, details } = JSON.parse(answer.body.toString()) as {
      message?: string
      details?: { causes?: object[] }
    }
    return { status: answer.status, message, causes: details?.causes }
  }
  const pods = '/api/v1/namespaces/default/pods'
  for (const name of ['linux', 'windows']) {
    const metadata = { name, labels: { 'kubernetes.io/os': name } }
    const allocatable = { cpu: '1500m', memory: '1Gi' }
    await send('POST', '/api/v1/nodes', { metadata })
    const status = { status: { allocatable } }
    test.equal((await send('PATCH', `/api/v1/nodes/${name}/status`, status)).status, 200)
  }
  for (const nodeName of ['linux', 'windows', 'gone']) {
    const containers = [
      { name: 'a', image: 'x', resources: { requests: { cpu: '1', memory: '64Mi' } } },
      { name: 'b', image: 'x', resources: { requests: { cpu: '100m' } } },
    ]
    const pod = { metadata: { name: nodeName }, spec: { nodeName, containers } }
    test.equal((await send('POST', pods, pod)).status, 201)
  }
  return (node, requests) =>
    send('PATCH', `${pods}/${node}/resize`, {
      spec: { containers: [{ name: 'a', resources: { requests } }] },
    })
}

const prefix = (name: string): string => `pods "${name}" is forbidden: `

t.test('a pod asks for no more than its node has', async t => {
  const resize = await startResizes(t, '1.36')
  t.match(await resize('linux', { cpu: '1400m' }), { status: 200 })
  t.strictSame(await resize('linux', { cpu: '1401m', memory: '2Gi' }), {
    status: 403,
    message: `${prefix('linux')}node didn't have enough allocatable resources: cpu, requested: 1501, allocatable: 1500; memory, requested: 2147483648, allocatable: 1073741824`,
    causes: [{ reason: 'NodeCapacity' }],
  })
  t.strictSame(await resize('windows', { cpu: '500m' }), {
    status: 403,
    message: `${prefix('windows')}pod resize is only supported on linux nodes, node "windows" is "windows"`,
    causes: [{ reason: 'UnsupportedPlatform' }],
  })
  t.strictSame(await resize('gone', { cpu: '500m' }), {
    status: 403,
    message: `${prefix('gone')}node "gone" not found`,
    causes: undefined,
  })
  t.match(await resize('gone', { cpu: '1' }), { status: 200 }, 'nothing changes')
})

t.test('servers before 1.36 leave that to the node', async t => {
  const resize = await startResizes(t, '1.35')
  t.match(await resize('linux', { cpu: '2' }), { status: 200 })
  t.match(await resize('gone', { cpu: '2' }), { status: 200 })
})
