/** kwok's objects about pods: which rule counts, what expressions give, and what is refused. */

import t from 'tap'
import { PodRules } from '../../../lib/simulator/pod-rules/pod-rules.ts'
import { usageBy } from '../../../lib/simulator/pod-rules/usages.ts'
import type { UsingPod } from '../../../lib/simulator/usage/usage.ts'

const apiVersion = 'kwok.x-k8s.io/v1alpha1'

function rulesOf(...objects: readonly object[]): PodRules {
  const rules = new PodRules(path => {
    if (path === 'missing') throw new Error('ENOENT')
    return path === 'long' ? 'x\n'.repeat(100_001) : `of ${path}\n`
  })
  for (const object of objects) {
    t.equal(rules.take({ apiVersion, metadata: { name: 'web' }, ...object }), true)
  }
  return rules
}

t.test('the rule that counts', async t => {
  const file = (logsFile: string, ...containers: readonly string[]) => ({ containers, logsFile })
  const rules = rulesOf(
    { kind: 'Logs', metadata: { name: 'own' }, spec: { logs: [file('own', 'a')] } },
    { kind: 'Logs', metadata: { name: 'own' }, spec: { logs: [file('second', 'a', 'b')] } },
    {
      kind: 'ClusterLogs',
      spec: { selector: { matchNamespaces: ['n'] }, logs: [file('n')] },
    },
    {
      kind: 'ClusterLogs',
      spec: { selector: { matchNames: ['p'] }, logs: [file('p', 'a')] },
    },
    { kind: 'ClusterLogs', spec: { logs: [file('rest'), file('more'), file('b', 'b')] } },
  )
  const rows = [
    ['default', 'own', 'a', 'own'],
    ['default', 'own', 'b', 'none of its own'],
    ['other', 'own', 'a', 'rest'],
    ['n', 'x', 'a', 'n'],
    ['default', 'p', 'a', 'p'],
    ['default', 'p', 'c', 'rest'],
    ['default', 'x', 'b', 'b'],
  ] as const
  for (const [namespace, name, container, expected] of rows) {
    const found = rules.logs.find({ namespace, name }, container)
    const text = typeof found === 'string' ? found : found?.log?.[0]?.text.slice(3)
    t.equal(text, expected, `${namespace}/${name} ${container}`)
  }
  t.equal(rules.execs.find({ name: 'x' }, 'a'), undefined)
})

const startedMs = Date.parse('2026-01-01T00:00:00Z')
const pod: UsingPod = {
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    labels: { app: 'web' },
    annotations: { 'kwok.x-k8s.io/usage-cpu': '30m' },
    creationTimestamp: '2026-01-01T00:00:00Z',
  } as UsingPod['metadata'],
  spec: { containers: [{ name: 'a', resources: { requests: { cpu: '200m' } } }] },
  status: { phase: 'Running' },
}

function used(expression: string, of = pod): number {
  const rules = rulesOf({
    kind: 'ClusterResourceUsage',
    spec: { usages: [{ usage: { cpu: { expression } } }] },
  })
  return usageBy(() => [rules.usages])(of, of.spec.containers[0]!, startedMs + 90_000).cpu
}

const kwokExample = `
  "kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations
  ? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"])
  : Quantity("1m")`

const expressions: readonly (readonly [expression: string, cores: number])[] = [
  [kwokExample, 0.03],
  ['Quantity("1") * (pod.SinceSecond() / 60.0)', 1.5],
  ['SinceSecond(pod)', 90],
  ['Quantity("10m") + Quantity("1m") * 3', 0.013],
  ['Quantity("1m") / 3', 0],
  ['Quantity("1") / 3', 0.333],
  ['Quantity("10m") - Quantity("1m")', 0.009],
  ['-Quantity("10m") + Quantity("30m")', 0.02],
  ['Quantity("1Mi") > Quantity("1k") ? 1 : 2', 1],
  ['Quantity("1Mi") <= Quantity("1k") ? 1 : 2', 2],
  ['1 < 2 && 1 <= 2 && 2 > 1 && 2 >= 1 ? 1 : 2', 1],
  ['container.resources.requests["cpu"] * 0.5', 0.1],
  ['pod.spec.containers[0].resources.requests["memory"]', 0],
  ['"memory" in container.resources.requests ? 1 : 2', 2],
  ['"cpu" in container.resources.requests ? 1 : 2', 1],
  ['Now().UnixSecond() - pod.metadata.creationTimestamp.UnixSecond()', 90],
  ['UnixSecond(Now()) > 0.0', 1],
  ['1 + 2 * 3', 7],
  ['7u', 7],
  ['pod.metadata.labels["app"] == "web" && container.image == "" ? 0.5 : 0.0', 0.5],
  ['has(pod.metadata.labels.node) ? 1 : 2', 2],
  ['pod.metadata.nothing', 0],
  ['pod.metadata.name', 0],
  ['1 / 0', 0],
  ['Quantity("1") / 0', 0],
  ['Quantity("1") * (0.0 / 0.0)', 0],
  ['Quantity("much")', 0],
  ['-5', 0],
]

t.test('expressions give figures', async t => {
  for (const [expression, cores] of expressions) t.equal(used(expression), cores, expression)
})

t.test('chance follows from the pod and the moment', async t => {
  const drawn = used('Rand()')
  t.ok(drawn > 0 && drawn < 1)
  t.equal(used('Rand()'), drawn)
  t.not(used('Rand()', { ...pod, metadata: { ...pod.metadata, uid: 'v' } }), drawn)
  t.equal(used('Rand() == Rand()'), 0, 'each call draws')
})

t.test('a value is a figure, and a resource that no rule gives is not used', async t => {
  const rules = rulesOf({
    kind: 'ResourceUsage',
    spec: { usages: [{ containers: ['a'], usage: { memory: { value: '10Mi' } } }] },
  })
  const usageOf = usageBy(() => [rules.usages])
  const [a] = pod.spec.containers
  t.strictSame(usageOf(pod, a!, startedMs), { cpu: 0, memory: 10 * 2 ** 20 })
  t.strictSame(usageOf(pod, { name: 'b' }, startedMs), { cpu: 0, memory: 0 })
  const other = { ...pod, metadata: { ...pod.metadata, name: 'other' } }
  t.equal(usageOf(other, a!, startedMs).cpu, 0.03, 'ours, where there is no rule')
})

t.test('the environment of exec', async t => {
  const rules = rulesOf({
    kind: 'ClusterExec',
    spec: { execs: [{ local: { workDir: '/tmp', envs: [{ name: 'TEST', value: 'test' }] } }] },
  })
  t.match(rules.execs.find({ name: 'x' }, 'a'), { env: { TEST: 'test' }, folder: '/tmp' })
  t.match(rules.warnings, [/^ClusterExec web: no program of this machine is run for a pod/])
})

t.test('ports lead to addresses', async t => {
  const target = (port: number) => ({ address: '127.0.0.1', port })
  const { forwards } = rulesOf({
    kind: 'ClusterPortForward',
    spec: {
      selector: { matchNames: ['p'] },
      forwards: [{ ports: [80, 81], target: target(8080) }, { target: target(9090) }],
    },
  })
  t.match(forwards.find({ name: 'p' }, '81'), target(8080))
  t.match(forwards.find({ name: 'p' }, '82'), target(9090))
  t.equal(forwards.find({ name: 'q' }, '80'), undefined)
  t.equal(forwards.concerns({ name: 'p' }), true)
  t.equal(forwards.concerns({ name: 'q' }), false)
})

t.test('kinds that nothing can be done with are left out in words', async t => {
  const { warnings } = rulesOf({ kind: 'Metric', spec: { path: '/metrics', metrics: [] } })
  t.match(warnings, [/^Metric web is left out: /])
  const rules = new PodRules(() => '')
  t.equal(rules.take({ apiVersion, kind: 'Stage' }), false)
  t.equal(rules.take({ apiVersion: 'v1', kind: 'Logs' }), false)
})

const usage = (cpu: object): object => ({
  kind: 'ResourceUsage',
  spec: { usages: [{ usage: { cpu } }] },
})

const refused: readonly (readonly [object: object, message: RegExp])[] = [
  [
    { kind: 'Logs', spec: { logs: [{ logsFile: 'missing' }] } },
    /^Logs web: missing cannot be used as a log: ENOENT$/,
  ],
  [{ kind: 'Logs', spec: { logs: [{ logsFile: 'long' }] } }, /more than 100000 lines/],
  [{ kind: 'Attach', spec: { attaches: [{ logsFile: 1 }] } }, /name of a file is no text/],
  [{ kind: 'Logs', spec: { logs: ['x'] } }, /spec\.logs\[0\] is no object/],
  [
    {
      kind: 'PortForward',
      spec: { forwards: [{ command: ['sh'], target: { address: 'a', port: 1 } }] },
    },
    /forwards\[0\]\.command names a program, and none is run/,
  ],
  [
    { kind: 'PortForward', spec: { forwards: [{ target: { port: 1 } }] } },
    /target needs an address/,
  ],
  [
    { kind: 'PortForward', spec: { forwards: [{ target: { address: 'a', port: 65536 } }] } },
    /target needs an address and a port/,
  ],
  [usage({}), /usage\.cpu has neither a value nor an expression/],
  [usage({ expression: 'pod.Usage("cpu")' }), /undeclared reference to 'Usage'/],
  [usage({ expression: 'node.SinceSecond()' }), /"node" is not known here/],
  [usage({ expression: '"a"' }), /gives a string, and no number or Quantity/],
  [usage({ expression: '1 +' }), /Syntax error/],
]

t.test('rules that cannot be used are refused', async t => {
  for (const [object, message] of refused) t.throws(() => rulesOf(object), { message })
})
