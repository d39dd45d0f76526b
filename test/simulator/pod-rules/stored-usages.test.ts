/** Rules of figures that clients have stored: read anew when something changes, and never from a
 *  file. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { type Stored, StoredUsages } from '../../../lib/simulator/pod-rules/stored-usages.ts'
import { usageBy } from '../../../lib/simulator/pod-rules/usages.ts'
import { KeyValue } from '../../../lib/store/event.ts'

const apiVersion = 'kwok.x-k8s.io/v1alpha1'

function storedOf(...objects: readonly (object | string)[]): Stored {
  const at = revision(2)
  const entries = objects.map(object => {
    const bytes = Buffer.from(typeof object === 'string' ? object : JSON.stringify(object))
    const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
    return new KeyValue(keyFromText('/x'), { bytes, start: 0, end: bytes.length }, meta)
  })
  return { iterate: () => entries }
}

const usage = (cpu: object, metadata: object = { name: 'all' }): object => ({
  apiVersion,
  kind: 'ClusterResourceUsage',
  metadata,
  spec: { usages: [{ usage: { cpu } }] },
})

const pod = (name: string) => ({
  metadata: { name, namespace: 'n', uid: name },
  spec: { containers: [{ name: 'a' }] },
})

t.test('the rules are those that are stored now', async t => {
  let contents: (Stored | undefined)[] = [undefined, undefined]
  const problems: string[] = []
  const stored = new StoredUsages({
    contents: () => contents,
    onProblem: reason => problems.push(reason),
  })
  const usageOf = usageBy(() => [stored.rules])
  const cpuOf = (name: string): number => usageOf(pod(name), { name: 'a' }, 0).cpu
  const usual = cpuOf('p')
  t.ok(usual > 0 && usual < 0.02, 'ours, where nothing is stored')
  contents = [undefined, storedOf(usage({ value: '3' }))]
  t.equal(cpuOf('p'), 3)
  const { rules } = stored
  t.equal(stored.rules, rules, 'they are read once')
  const own = { ...usage({ value: '4' }, { name: 'p', namespace: 'n' }), kind: 'ResourceUsage' }
  contents = [storedOf(own), contents[1]]
  t.equal(cpuOf('p'), 4)
  t.equal(cpuOf('q'), 3)
  contents = [undefined, storedOf('no JSON', '[]', { kind: 'ClusterResourceUsage' })]
  t.equal(cpuOf('p'), usual)
  t.strictSame(problems, [])
})

t.test('rules that cannot be used are told once, and name no file', async t => {
  const problems: string[] = []
  let bad = storedOf()
  const stored = new StoredUsages({
    contents: () => [undefined, bad],
    onProblem: reason => problems.push(reason),
  })
  const logs = {
    apiVersion,
    kind: 'Logs',
    metadata: { name: 'x' },
    spec: { logs: [{ logsFile: '/etc/passwd' }] },
  }
  for (let i = 0; i < 2; i++) {
    bad = storedOf(usage({ expression: 'Usage()' }), logs, usage({ value: '1' }, { name: 'good' }))
    t.match(stored.rules.find({ name: 'p' }, 'a'), { names: [] })
  }
  t.equal(problems.length, 2)
  t.match(problems[0], /^ClusterResourceUsage all: expression "Usage\(\)": ERROR/)
  t.match(
    problems[1],
    /^Logs x: \/etc\/passwd cannot be used as a log: an object that clients write/,
  )
})

t.test('no more than a thousand objects count', async t => {
  const many = Array.from({ length: 1_001 }, (_, i) => ({
    ...usage({ value: '1' }, { name: `p${i}`, namespace: 'n' }),
    kind: 'ResourceUsage',
  }))
  const contents = [storedOf(...many), undefined]
  const stored = new StoredUsages({ contents: () => contents, onProblem: () => {} })
  t.match(stored.rules.find({ name: 'p999', namespace: 'n' }, 'a'), { names: [] })
  t.equal(stored.rules.find({ name: 'p1000', namespace: 'n' }, 'a'), undefined)
})
