/** The two kinds of objects that sizes are measured with: pods as `watchglass generate` makes them,
 *  and custom resources of about a kilobyte. A few of each are changed later. */

import { createRandom } from '../../lib/base/random.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { toyDefinition, toyDefinitionKey } from '../../test/support/toys.ts'
import type { Stored } from '../million/contents.ts'
import { stampedPods } from '../watch/pods.ts'

export interface Kind {
  readonly name: string
  /** The path of all of them. */
  readonly path: string
  /** Objects that are there before, and are not counted. */
  readonly before: readonly Stored[]
  objects(count: number): Generator<Stored>
  /** One of the objects as its `change`th change leaves it. */
  changed(change: number): Stored
}

/** So many objects are changed, in turn. */
const changedObjects = 1_000

class Pods implements Kind {
  readonly name = 'pods'
  readonly path = '/api/v1/pods'
  readonly before: readonly Stored[] = []
  readonly #changed = stampedPods(changedObjects);

  *objects(count: number): Generator<Stored> {
    for (let i = 0; i < changedObjects; i++) yield this.changed(i)
    const plan = parsePlan(`pods=${count - changedObjects},events=0,configmaps=0,secrets=0`)
    const settings = { plan, random: createRandom(1), nowMs: 1.7e12, prefix: '/registry' }
    for (const change of new GeneratedCluster(settings).objects()) {
      if (change.type === 'put' && change.key.startsWith('/registry/pods/')) yield change
    }
  }

  changed(change: number): Stored {
    const pod = this.#changed[change % changedObjects]!
    return { key: keyFromText(pod.key), value: pod.value(change) }
  }
}

class CustomResources implements Kind {
  readonly name = 'custom resources'
  readonly path = '/apis/example.com/v1/toys'
  readonly before: readonly Stored[] = [
    { key: keyFromText(toyDefinitionKey), value: toyDefinition([]) },
  ];

  *objects(count: number): Generator<Stored> {
    for (let i = 0; i < count; i++) yield toy(i, 0)
  }

  changed(change: number): Stored {
    return toy(change % changedObjects, change)
  }
}

export const kinds: readonly Kind[] = [new Pods(), new CustomResources()]

/** As kube-apiserver stores it: what somebody applied, with its managed fields. */
function toy(number: number, change: number): Stored {
  const name = `toy-${String(number).padStart(7, '0')}`
  const namespace = `team-${String(number % 400).padStart(3, '0')}`
  const suffix = String(number).padStart(12, '0')
  const labels = { app: `app-${number % 500}`, 'app.kubernetes.io/managed-by': 'bench' }
  const owned =
    '{"f:metadata":{"f:labels":{"f:app":{},"f:app.kubernetes.io/managed-by":{}}},"f:spec":{"f:color":{},"f:size":{}}}'
  const applied = JSON.stringify({
    apiVersion: 'example.com/v1',
    kind: 'Toy',
    metadata: { labels, name, namespace },
    spec: { color: 'blue', size: 0 },
  })
  const object = {
    apiVersion: 'example.com/v1',
    kind: 'Toy',
    metadata: {
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': `${applied}\n` },
      creationTimestamp: '2026-01-01T00:00:00Z',
      generation: 1 + change,
      labels,
      managedFields: [
        {
          apiVersion: 'example.com/v1',
          fieldsType: 'FieldsV1',
          fieldsV1: JSON.parse(owned) as object,
          manager: 'kubectl-client-side-apply',
          operation: 'Update',
          time: '2026-01-01T00:00:00Z',
        },
      ],
      name,
      namespace,
      uid: `00000000-0000-4000-8000-${suffix}`,
    },
    spec: { color: 'blue', size: change },
  }
  const key = keyFromText(`/registry/example.com/toys/${namespace}/${name}`)
  return { key, value: Buffer.from(`${JSON.stringify(object)}\n`) }
}
