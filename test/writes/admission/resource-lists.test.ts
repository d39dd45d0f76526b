import t from 'tap'
import { podResources } from '../../../lib/writes/admission/resource-lists.ts'
import type { JsonObject } from '../../../lib/go/json/tree.ts'
import { parseTree } from '../../../lib/go/json/tree.ts'

function pod(spec: object): JsonObject {
  const bytes = Buffer.from(JSON.stringify({ spec }))
  return parseTree(bytes, 0, bytes.length) as JsonObject
}

const asking = (requests: object, more: object = {}): object => ({
  name: 'c',
  resources: { requests },
  ...more,
})

t.test('a pod asks for its containers together, or for what starting it takes', async t => {
  const sidecar = { restartPolicy: 'Always' }
  const requests = podResources(
    pod({
      containers: [asking({ cpu: '100m', memory: '1Gi' }), asking({ cpu: '200m' })],
      initContainers: [
        asking({ cpu: '1' }),
        asking({ cpu: '50m', 'example.com/x': '1' }, sidecar),
        asking({ cpu: '2', memory: '1Mi' }),
      ],
    }),
    'requests',
  )
  t.strictSame(Object.fromEntries(requests), {
    cpu: '2050m',
    memory: '1Gi',
    'example.com/x': '1',
  })
})

t.test('what is said of the whole pod counts instead', async t => {
  const resources = { requests: { cpu: '5', 'example.com/x': '1' } }
  const requests = podResources(pod({ containers: [asking({ cpu: '1' })], resources }), 'requests')
  t.strictSame(Object.fromEntries(requests), { cpu: '5' })
})

t.test(
  'thousands of containers with resources of their own are no more work than they are',
  async t => {
    const containers = Array.from({ length: 20_000 }, (_, i) => asking({ [`a.com/r${i}`]: '1' }))
    const requests = podResources(pod({ containers, initContainers: containers }), 'requests')
    t.equal(requests.size, 20_000)
  },
)
