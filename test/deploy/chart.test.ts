/** The chart in its five modes: two of them are the proxies of deploy/kubernetes. What the chart
 *  makes is applied in test/deploy/applied.test.ts. */

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { load } from '../../lib/cli/commands/command-line.ts'
import { renderChart } from '../support/release/chart.ts'

const folder = 'deploy/helm/watchglass'
const place = { name: 'watchglass', namespace: 'watchglass' }

interface Shown {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: unknown }
  readonly spec: {
    readonly replicas?: number
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly args: readonly string[] }[]
        readonly volumes: readonly unknown[]
      }
    }
  }
  readonly rules?: unknown
}

function shown(set: Readonly<Record<string, unknown>> = {}): readonly Shown[] {
  return renderChart(folder, { ...place, set }) as unknown as readonly Shown[]
}

function names(set: Readonly<Record<string, unknown>>): string[] {
  return shown(set).map(({ kind }) => kind)
}

const ofKind = (objects: readonly Shown[], kind: string): Shown =>
  objects.find(object => object.kind === kind)!

/** Options of a container by their names. */
function optionsOf(args: readonly string[]): Readonly<Record<string, string>> {
  const invocation = load(args, {})
  if (invocation.kind !== 'run' || invocation.command !== 'serve') throw new Error('not serve')
  return Object.fromEntries(
    args.slice(1).map(arg => {
      const at = arg.indexOf('=')
      return [arg.slice(0, at), arg.slice(at + 1)] as const
    }),
  )
}

for (const mode of ['proxy', 'without-etcd']) {
  t.test(`mode ${mode} has the options and rights of deploy/kubernetes/${mode}`, async t => {
    const objects = shown({ mode })
    const read = (file: string): readonly Shown[] =>
      parseAllDocuments(readFileSync(`deploy/kubernetes/${mode}/${file}`, 'utf8')).map(
        document => document.toJS() as Shown,
      )
    const [expected] = read('deployment.yaml')[0]!.spec.template.spec.containers
    const [container] = ofKind(objects, 'Deployment').spec.template.spec.containers
    t.strictSame(optionsOf(container!.args), {
      ...optionsOf(expected!.args),
      ...(mode === 'proxy' ? { '--prefix': '/registry' } : {}),
    })
    const { rules } = ofKind(objects, 'ClusterRole')
    t.strictSame(rules, ofKind(read('rbac.yaml'), 'ClusterRole').rules)
    t.match(ofKind(objects, 'NetworkPolicy').spec, {
      policyTypes: ['Ingress', 'Egress'],
      egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }, {}, {}] }, {}],
    })
  })
}

t.test('many clusters come from one secret, and the pod has no rights of its own', async t => {
  const objects = shown({ mode: 'clusters', 'clusters.domain': 'clusters.example.com' })
  const { containers, volumes } = ofKind(objects, 'Deployment').spec.template.spec
  t.match(optionsOf(containers[0]!.args), {
    '--clusters': '/etc/watchglass/clusters',
    '--auth': 'delegate',
    '--idle-after': '600',
    '--memory-budget': '3GiB',
    '--cluster-domain': 'clusters.example.com',
  })
  t.match(volumes, [{ secret: { secretName: 'watchglass-clusters' } }, { name: 'watchglass-tls' }])
  t.notMatch(names({ mode: 'clusters' }), 'ClusterRole')
  t.notMatch(JSON.stringify(ofKind(objects, 'NetworkPolicy')), '2379')
})

t.test('without etcd there are neither its credentials nor a way to it', async t => {
  const objects = shown({ mode: 'without-etcd' })
  const { containers, volumes } = ofKind(objects, 'Deployment').spec.template.spec
  t.notMatch(JSON.stringify({ containers, volumes }), /etcd/)
  t.notMatch(JSON.stringify(ofKind(objects, 'NetworkPolicy')), '2379')
})

t.test('Secrets and custom resources are read where values say so', async t => {
  const set = {
    mode: 'without-etcd',
    'rbac.secrets': true,
    'rbac.customGroups': ['example.com', 'argoproj.io'],
  }
  const rulesOf = (values: Readonly<Record<string, unknown>>): string =>
    JSON.stringify(ofKind(shown(values), 'ClusterRole').rules)
  t.match(rulesOf(set), /"resourcequotas","secrets",/)
  t.match(rulesOf(set), /"storage.k8s.io","example.com","argoproj.io"\]/)
  t.notMatch(rulesOf({ mode: 'without-etcd' }), 'secrets')
})

t.test(
  'for some namespaces the account has the Roles of deploy/kubernetes/some-namespaces',
  async t => {
    const set = { mode: 'without-etcd', namespaces: ['team-a', 'team-b'] }
    const objects = shown(set)
    t.notOk(names(set).some(kind => kind.startsWith('ClusterRole')))
    const rolesOf = (from: readonly Shown[]): unknown =>
      from.flatMap(({ kind, metadata, rules }) =>
        kind === 'Role' ? [[(metadata as { namespace?: string }).namespace, rules]] : [],
      )
    const text = readFileSync('deploy/kubernetes/some-namespaces/roles.yaml', 'utf8')
    const expected = parseAllDocuments(text).map(document => document.toJS() as Shown)
    t.strictSame(rolesOf(objects), rolesOf(expected))
    t.equal(objects.filter(({ kind }) => kind === 'RoleBinding').length, 2)
    const [container] = ofKind(objects, 'Deployment').spec.template.spec.containers
    const given = container!.args.filter(arg => arg.startsWith('--namespaces'))
    t.strictSame(given, ['--namespaces=team-a', '--namespaces=team-b'])
  },
)

t.test('each mode makes the objects that make sense for it', async t => {
  const all = { 'serviceMonitor.enabled': true, 'autoscaling.enabled': true }
  const around = ['NetworkPolicy', 'PodDisruptionBudget']
  t.strictSame(names({}), [
    'Deployment',
    ...around,
    'ServiceAccount',
    'ClusterRole',
    'ClusterRoleBinding',
    'Service',
  ])
  t.strictSame(names({ mode: 'without-etcd' }), names({}))
  t.strictSame(names({ mode: 'replica' }), ['Deployment', ...around, 'ServiceAccount', 'Service'])
  t.strictSame(names({ ...all, mode: 'sidecar' }), [
    'NetworkPolicy',
    'ClusterRoleBinding',
    'RoleBinding',
    'ClusterRole',
    'ClusterRoleBinding',
  ])
  t.strictSame(names({ ...all, mode: 'replica', 'networkPolicy.enabled': false }), [
    'HorizontalPodAutoscaler',
    'Deployment',
    'PodDisruptionBudget',
    'ServiceAccount',
    'ServiceMonitor',
    'Service',
  ])
})

t.test('a replica serves etcd, and an autoscaler alone counts replicas', async t => {
  const objects = shown({ mode: 'replica', 'autoscaling.enabled': true })
  const { spec } = ofKind(objects, 'Deployment')
  t.equal(spec.replicas, undefined)
  const options = optionsOf(spec.template.spec.containers[0]!.args)
  t.match(options, { '--listen': 'none', '--etcd-listen': '0.0.0.0:8443' })
  t.notOk('--upstream' in options)
  t.match(ofKind(objects, 'Service').spec, { ports: [{ port: 2379 }, { port: 8444 }] })
})

t.test('an option more is passed on as one word, whatever is in it', async t => {
  const extraArgs = ['--exclude=secrets,events', '--cors-origin=a: "b"']
  const { spec } = ofKind(shown({ extraArgs }), 'Deployment')
  t.strictSame(spec.template.spec.containers[0]!.args.slice(-2), extraArgs)
})

t.test(
  "a sidecar may read its secrets in a server's pod, which has a context of its own",
  async t => {
    const chart = join(t.testdir({}), 'chart')
    cpSync(folder, chart, { recursive: true })
    const included =
      'kind: Volumes\nvolumes:\n  {{- include "watchglass.volumes" . | nindent 2 }}\n'
    writeFileSync(join(chart, 'templates', 'server.yaml'), included)
    const modes = (mode: string): unknown => {
      const objects = renderChart(chart, { ...place, set: { mode } })
      const { volumes } = objects.find(({ kind }) => kind === 'Volumes') as unknown as {
        volumes: { secret: { defaultMode: number } }[]
      }
      return volumes.map(({ secret }) => secret.defaultMode)
    }
    // Octal in the YAML that helm reads, not in the one that is read here.
    t.strictSame(modes('sidecar'), [444, 444])
    t.strictSame(modes('proxy'), [440, 440], 'a group that the pod has')
  },
)

t.test('an upgrade keeps selectors, which nothing may change', async t => {
  const selector = (set: Readonly<Record<string, unknown>>): unknown =>
    (ofKind(shown(set), 'Deployment').spec as unknown as { selector: unknown }).selector
  const labels = {
    'app.kubernetes.io/name': 'watchglass',
    'app.kubernetes.io/instance': 'watchglass',
  }
  t.strictSame(selector({}), { matchLabels: labels })
  t.strictSame(selector({ 'image.tag': '9.9.9', replicas: 5 }), { matchLabels: labels })
})

t.test('every value is explained, and the chart has the version of the package', async t => {
  const readme = readFileSync(`${folder}/README.md`, 'utf8')
  const walk = (at: unknown, path: string): void => {
    if (typeof at === 'object' && at !== null && !Array.isArray(at) && path !== 'resources') {
      for (const [name, value] of Object.entries(at)) {
        walk(value, path === '' ? name : `${path}.${name}`)
      }
    } else t.ok(readme.includes(`\`${path}\``), path)
  }
  const values = parse(readFileSync(`${folder}/values.yaml`, 'utf8')) as { image: { tag: string } }
  walk(values, '')
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  t.match(parse(readFileSync(`${folder}/Chart.yaml`, 'utf8')), { version, appVersion: version })
  t.equal(values.image.tag, version)
})
