import { setFlagsFromString } from 'node:v8'
import { runInThisContext } from 'node:vm'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { podFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Pod } from '../../../lib/simulator/runtime/objects.ts'

function podOf(name: string, labels: Record<string, string>): Pod {
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'set' }
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid of ${name}`,
      creationTimestamp: '2026-01-02T03:04:05Z',
      labels,
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: { containers: [{ name: 'web', image: 'nginx:1' }], nodeName: 'node-1' },
    status: { phase: 'Running', podIP: '10.0.0.1' },
  }
}

function factsOf(pods: readonly Pod[]): ReturnType<typeof podFact>[] {
  return pods.map((pod, i) => podFact(keyFromText(`/pods/default/${pod.metadata.name}`), i, pod))
}

t.test('facts of many pods have what is the same once: a hundred thousand are held', async t => {
  const names = Array.from({ length: 100 }, (_, i) => `web-1-${i}`)
  const [first, ...others] = factsOf(names.map(name => podOf(name, { app: 'web' })))
  for (const { labels, owner, claims, ports } of others) {
    t.equal(labels, first?.labels)
    t.equal(owner, first?.owner)
    t.equal(claims, first?.claims)
    t.equal(ports, first?.ports)
  }
  t.strictSame(first?.owner, { kind: 'ReplicaSet', name: 'web-1', uid: 'set' })
  t.equal(others.at(-1)?.name, 'web-1-99')
})

t.test('facts share their hidden class, which takes more memory than a fact', async t => {
  setFlagsFromString('--allow-natives-syntax')
  const isOneClass = runInThisContext('(a, b) => %HaveSameMap(a, b)') as (
    ...of: readonly [object, object]
  ) => boolean
  const facts = factsOf(['a-0', 'a-1', 'a-2', 'a-3'].map(name => podOf(name, { app: 'a' })))
  const last = facts.at(-1) as object
  t.ok(isOneClass(facts[2] as object, last))
  t.notOk(isOneClass({}, last))
  setFlagsFromString('--no-allow-natives-syntax')
})
