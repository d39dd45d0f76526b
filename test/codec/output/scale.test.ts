import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { scaleJson, scaleOf as readScale } from '../../../lib/codec/output/scale.ts'

const metadata = { name: 'a<b', namespace: 'n', uid: 'u', resourceVersion: '7', labels: { x: 'y' } }
const head =
  '{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a\\u003cb","namespace":"n","uid":"u","resourceVersion":"7"}'

function scaleOf(object: object, paths?: Parameters<typeof readScale>[1]): string {
  const scale = readScale(Buffer.from(JSON.stringify({ metadata, ...object })), paths)
  return scale instanceof NotExact ? scale.reason : `${scaleJson(scale)}\n`
}

t.test('the scale of a built-in object has its numbers and its selector as a text', async t => {
  const selector = {
    matchLabels: { b: '2', a: '1' },
    matchExpressions: [
      { key: 'c', operator: 'NotIn', values: ['z', 'y'] },
      { key: 'aa', operator: 'DoesNotExist' },
    ],
  }
  t.equal(
    scaleOf({ spec: { replicas: 0, selector }, status: { replicas: 2 } }),
    `${head},"spec":{},"status":{"replicas":2,"selector":"a=1,!aa,b=2,c notin (y,z)"}}\n`,
  )
  t.equal(
    scaleOf({ spec: { replicas: 3, selector: { b: '2', a: '1' } } }),
    `${head},"spec":{"replicas":3},"status":{"replicas":0,"selector":"a=1,b=2"}}\n`,
  )
  for (const [one, shown] of [
    [{ matchLabels: { a: '1' } }, 'a=1'],
    [{ matchExpressions: [{ key: 'c', operator: 'Exists' }] }, 'c'],
  ] as const) {
    t.equal(
      scaleOf({ spec: { replicas: 3, selector: one } }),
      `${head},"spec":{"replicas":3},"status":{"replicas":0,"selector":"${shown}"}}\n`,
    )
  }
})

t.test('a custom resource says where its numbers are', async t => {
  const paths = {
    specReplicas: '.spec.size',
    statusReplicas: '.status.have',
    labelSelector: '.status.labels',
  }
  t.equal(
    scaleOf({ spec: { size: 4 }, status: { have: 1, labels: 'a in (b)' } }, paths),
    `${head},"spec":{"replicas":4},"status":{"replicas":1,"selector":"a in (b)"}}\n`,
  )
  t.equal(scaleOf({ spec: {} }, paths), 'the object has no number of replicas')
  for (const size of [2 ** 31, 1.5, '4', null]) {
    t.match(scaleOf({ spec: { size } }, paths), /no integer of 32 bits/, String(size))
  }
  t.match(scaleOf({ spec: { size: 4 }, status: { have: '1' } }, paths), /no integer of 32 bits/)
  t.match(scaleOf({ spec: { size: 4 }, status: 'good' }, paths), /no integer of 32 bits/)
  t.match(scaleOf({ spec: { size: 4 }, status: { labels: 5 } }, paths), /is no text/)
  t.equal(
    scaleOf({ spec: { size: 4 } }, { ...paths, labelSelector: '' }),
    `${head},"spec":{"replicas":4},"status":{"replicas":0}}\n`,
  )
})

t.test(
  'a Scale knows the name and the time of its object, and repeats five of its names',
  async t => {
    const object = {
      metadata: { ...metadata, creationTimestamp: '2026-01-01T00:00:00Z', generation: 3 },
      spec: { replicas: 1, selector: null },
    }
    const scale = readScale(Buffer.from(JSON.stringify(object)), undefined)
    t.match(scale, { name: 'a<b', createdAt: '2026-01-01T00:00:00Z', wanted: 1, selector: '' })
    t.equal(
      (scale as { metadata: string }).metadata,
      `${/"metadata":(.*)\}$/.exec(head)?.[1] ?? ''},"creationTimestamp":"2026-01-01T00:00:00Z"}`,
    )
    t.match(scaleOf({ spec: { replicas: 1, selector: 'text' } }), '"status":{"replicas":0}')
  },
)
