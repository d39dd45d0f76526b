/** Failures that controllers are written for: what a user does, and what kubectl shows then, in the
 *  words of a real cluster (those of kubelet, scheduler and controllers of 1.36). */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'
import { ask } from '../../support/http/served.ts'

interface Table {
  readonly rows?: readonly { readonly cells: readonly unknown[] }[]
}

const { port, send, until } = await startSimulatedCluster<object>(t, {
  speed: 10,
  countsRequests: true,
})
const core = '/api/v1/namespaces/default'
const apps = '/apis/apps/v1/namespaces/default'
const batch = '/apis/batch/v1/namespaces/default'
await until('/api/v1/nodes', nodes => JSON.stringify(nodes).split('KubeletReady').length === 4)

/** The lines that `kubectl get` prints of a list, or of one object. */
async function printed(path: string): Promise<string> {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
  const { body } = await ask(port, { path, headers: { accept } })
  const { rows = [] } = JSON.parse(body.toString()) as Table
  return rows.map(({ cells }) => cells.join('  ')).join('\n')
}

type Doing = readonly [method: string, path: string, body: object]

interface Failure {
  readonly does: string
  readonly with: readonly Doing[]
  /** Lines of `kubectl get PATH`, in the end. */
  readonly prints?: readonly (readonly [path: string, says: RegExp])[]
  /** Objects, as JSON. */
  readonly has?: readonly (readonly [path: string, says: RegExp])[]
  /** Events about the object of that name: type, reason and message. */
  readonly tells?: readonly (readonly [name: string, says: RegExp])[]
  /** The lines that are printed before the last request. */
  readonly waitsFor?: readonly (readonly [path: string, says: RegExp])[]
  /** The answer to the last request. */
  readonly answers?: RegExp
}

function pod(name: string, container: object, rest: object = {}, annotations = {}): Doing {
  const containers = [{ name: 'c', image: 'busybox', ...container }]
  return [
    'POST',
    `${core}/pods`,
    { metadata: { name, annotations }, spec: { containers, ...rest } },
  ]
}

function sh(script: string): object {
  return { command: ['sh', '-c', script] }
}

function workload(name: string, spec: object, rest: object = {}): object {
  const labels = { app: name }
  const template = { metadata: { labels }, spec }
  return { metadata: { name }, spec: { selector: { matchLabels: labels }, template, ...rest } }
}

const plain = { containers: [{ name: 'c', image: 'nginx' }] }
const probe = { httpGet: { port: 80 }, periodSeconds: 1, failureThreshold: 2 }
const pods = `${core}/pods`

const failures: readonly Failure[] = [
  {
    does: 'runs a container whose command fails',
    with: [pod('fails', sh('echo no luck; exit 1'))],
    prints: [[`${pods}/fails`, /^fails {2}0\/1 {2}CrashLoopBackOff {2}[1-9]/]],
    tells: [
      ['fails', /Warning BackOff Back-off restarting failed container c in pod fails_default/],
    ],
  },
  {
    does: 'runs a container whose command ends, and is to run for ever',
    with: [pod('ends', sh('echo done'))],
    prints: [[`${pods}/ends`, /^ends {2}0\/1 {2}CrashLoopBackOff/]],
    has: [[`${pods}/ends`, /"lastState":\{"terminated":\{"exitCode":0,"reason":"Completed"/]],
  },
  {
    does: 'runs a pod once that fails',
    with: [pod('once', sh('exit 3'), { restartPolicy: 'Never' })],
    prints: [[`${pods}/once`, /^once {2}0\/1 {2}Error {2}0/]],
    has: [[`${pods}/once`, /"phase":"Failed".*"exitCode":3|"exitCode":3.*"phase":"Failed"/]],
  },
  {
    does: 'runs a script that names a program that is not there',
    with: [pod('nothere', {}, {}, { 'watchglass.local/script': './migrate' })],
    prints: [[`${pods}/nothere`, /^nothere {2}0\/1 {2}CrashLoopBackOff/]],
    has: [[`${pods}/nothere`, /"exitCode":127/]],
  },
  {
    does: 'names an image that is not there',
    with: [
      pod(
        'noimage',
        { image: 'nginx:nope' },
        {},
        { 'watchglass.local/missing-images': 'nginx:nope' },
      ),
    ],
    prints: [[`${pods}/noimage`, /^noimage {2}0\/1 {2}ImagePullBackOff {2}0/]],
    tells: [
      ['noimage', /Warning Failed Failed to pull image "nginx:nope": rpc error: code = NotFound/],
      ['noimage', /Normal BackOff Back-off pulling image "nginx:nope"/],
      ['noimage', /Warning Failed Error: ErrImagePull/],
    ],
  },
  {
    does: 'names an image in capitals',
    with: [pod('badname', { image: 'Nginx' })],
    prints: [[`${pods}/badname`, /^badname {2}0\/1 {2}InvalidImageName/]],
    tells: [
      [
        'badname',
        /Warning InspectFailed Failed to apply default image tag "Nginx": couldn't parse/,
      ],
    ],
  },
  {
    does: 'reads a variable from a ConfigMap that is not there',
    with: [
      pod('noconfig', {
        env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }],
      }),
    ],
    prints: [[`${pods}/noconfig`, /^noconfig {2}0\/1 {2}CreateContainerConfigError/]],
    tells: [['noconfig', /Warning Failed Error: configmap "settings" not found/]],
  },
  {
    does: 'reads a variable from a key that its Secret lacks',
    with: [
      ['POST', `${core}/secrets`, { metadata: { name: 'half' }, stringData: { user: 'u' } }],
      pod('nokey', {
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'half', key: 'password' } } }],
      }),
    ],
    prints: [[`${pods}/nokey`, /^nokey {2}0\/1 {2}CreateContainerConfigError/]],
    tells: [['nokey', /Warning Failed Error: couldn't find key password in Secret default\/half/]],
  },
  {
    does: 'reads all variables from a Secret that is not there',
    with: [pod('nosecret', { envFrom: [{ secretRef: { name: 'none' } }] })],
    prints: [[`${pods}/nosecret`, /^nosecret {2}0\/1 {2}CreateContainerConfigError/]],
    tells: [['nosecret', /Warning Failed Error: secret "none" not found/]],
  },
  {
    does: 'mounts a ConfigMap that is not there',
    with: [pod('nomount', {}, { volumes: [{ name: 'etc', configMap: { name: 'none' } }] })],
    prints: [[`${pods}/nomount`, /^nomount {2}0\/1 {2}ContainerCreating/]],
    tells: [
      [
        'nomount',
        /Warning FailedMount MountVolume.SetUp failed for volume "etc" : configmap "none" not found/,
      ],
    ],
  },
  {
    does: 'mounts a key that its Secret lacks',
    with: [
      pod(
        'nofile',
        {},
        {
          volumes: [
            { name: 'tls', secret: { secretName: 'half', items: [{ key: 'k', path: 'k' }] } },
          ],
        },
      ),
    ],
    prints: [[`${pods}/nofile`, /^nofile {2}0\/1 {2}ContainerCreating/]],
    tells: [['nofile', /FailedMount .* "tls" : references non-existent secret key: k/]],
  },
  {
    does: 'has an init container that fails',
    with: [pod('init', {}, { initContainers: [{ name: 'i', image: 'b', ...sh('exit 1') }] })],
    prints: [[`${pods}/init`, /^init {2}0\/1 {2}Init:CrashLoopBackOff/]],
    has: [[`${pods}/init`, /"message":"containers with incomplete status: \[i\]"/]],
  },
  {
    does: 'has an init container that fails for good',
    with: [
      pod(
        'initonce',
        {},
        {
          restartPolicy: 'Never',
          initContainers: [{ name: 'i', image: 'b', ...sh('exit 1') }],
        },
      ),
    ],
    prints: [[`${pods}/initonce`, /^initonce {2}0\/1 {2}Init:Error/]],
  },
  {
    does: 'is not ready by its probe',
    with: [
      pod('unready', { readinessProbe: probe }, {}, { 'watchglass.local/readiness-probe': 'fail' }),
    ],
    prints: [[`${pods}/unready`, /^unready {2}0\/1 {2}Running {2}0/]],
    tells: [
      [
        'unready',
        /Warning Unhealthy Readiness probe failed: HTTP probe failed with statuscode: 500/,
      ],
    ],
  },
  {
    does: 'is killed by its liveness probe',
    with: [
      pod('killed', { livenessProbe: probe }, {}, { 'watchglass.local/liveness-probe': 'fail' }),
    ],
    prints: [
      [`${pods}/killed`, /^killed {2}[01]\/1 {2}(?:Running|CrashLoopBackOff|Error) {2}[1-9]/],
    ],
    tells: [['killed', /Normal Killing Container c failed liveness probe, will be restarted/]],
  },
  {
    does: 'never starts by its startup probe',
    with: [
      pod(
        'slow',
        { startupProbe: { ...probe, httpGet: undefined, tcpSocket: { port: 80 } } },
        {},
        {
          'watchglass.local/startup-probe': 'fail',
        },
      ),
    ],
    tells: [
      [
        'slow',
        /Warning Unhealthy Startup probe failed: dial tcp .*:80: connect: connection refused/,
      ],
      ['slow', /Normal Killing Container c failed startup probe, will be restarted/],
    ],
  },
  {
    does: 'waits for a condition that nobody sets',
    with: [pod('gated', {}, { readinessGates: [{ conditionType: 'www.example.com/lb' }] })],
    prints: [[`${pods}/gated`, /^gated {2}1\/1 {2}Running/]],
    has: [
      [
        `${pods}/gated`,
        /corresponding condition of pod readiness gate \\"www.example.com\/lb\\" does not exist/,
      ],
    ],
  },
  {
    does: 'asks for more than any node has',
    with: [pod('big', { resources: { requests: { cpu: '100' } } })],
    prints: [[`${pods}/big`, /^big {2}0\/1 {2}Pending/]],
    tells: [
      [
        'big',
        /Warning FailedScheduling 0\/3 nodes are available: 3 Insufficient cpu\. no new claims to deallocate, preemption: 0\/3 nodes are available: 3 Preemption is not helpful for scheduling\./,
      ],
    ],
  },
  {
    does: 'asks for a device that no node has',
    with: [pod('gpu', { resources: { limits: { 'example.com/gpu': '1' } } })],
    tells: [
      [
        'gpu',
        /Warning FailedScheduling 0\/3 nodes are available: 3 Insufficient example.com\/gpu\./,
      ],
    ],
  },
  {
    does: 'asks for a node with a label that none has',
    with: [pod('picky', {}, { nodeSelector: { disk: 'fast' } })],
    prints: [[`${pods}/picky`, /^picky {2}0\/1 {2}Pending/]],
    tells: [
      [
        'picky',
        /FailedScheduling 0\/3 nodes are available: 3 node\(s\) didn't match Pod's node affinity\/selector\./,
      ],
    ],
  },
  {
    does: 'is active for longer than it may be',
    with: [pod('late', {}, { activeDeadlineSeconds: 5, restartPolicy: 'Never' })],
    prints: [[`${pods}/late`, /^late {2}0\/1 {2}(?:DeadlineExceeded|Error)/]],
    has: [[`${pods}/late`, /Pod was active on the node longer than the specified deadline/]],
  },
  {
    does: 'rolls out an image that is not there',
    with: [
      [
        'POST',
        `${apps}/deployments`,
        workload(
          'rollout',
          { containers: [{ name: 'c', image: 'Nope' }] },
          {
            progressDeadlineSeconds: 20,
          },
        ),
      ],
    ],
    has: [[`${apps}/deployments/rollout`, /"reason":"ProgressDeadlineExceeded"/]],
  },
  {
    does: 'runs pods as an account that is not there',
    with: [
      [
        'POST',
        `${apps}/deployments`,
        workload('noaccount', { ...plain, serviceAccountName: 'nobody' }),
      ],
    ],
    has: [
      [
        `${apps}/deployments/noaccount`,
        /"type":"ReplicaFailure"|error looking up service account default\/nobody/,
      ],
    ],
    tells: [
      [
        'noaccount-',
        /Warning FailedCreate Error creating: pods .* error looking up service account default\/nobody: serviceaccount "nobody" not found/,
      ],
    ],
  },
  {
    does: 'runs a job that fails too often',
    with: [
      [
        'POST',
        `${batch}/jobs`,
        {
          metadata: { name: 'job' },
          spec: {
            backoffLimit: 1,
            template: {
              spec: {
                restartPolicy: 'Never',
                containers: [{ name: 'c', image: 'b', ...sh('exit 1') }],
              },
            },
          },
        },
      ],
    ],
    prints: [[`${batch}/jobs/job`, /^job {2}Failed {2}0\/1/]],
    has: [[`${batch}/jobs/job`, /"reason":"BackoffLimitExceeded"/]],
    tells: [['job', /Warning BackoffLimitExceeded Job has reached the specified backoff limit/]],
  },
  {
    does: 'runs a job that takes too long',
    with: [
      [
        'POST',
        `${batch}/jobs`,
        {
          metadata: { name: 'longjob' },
          spec: {
            activeDeadlineSeconds: 10,
            template: {
              spec: {
                restartPolicy: 'Never',
                containers: [{ name: 'c', image: 'b', ...sh('sleep 999') }],
              },
            },
          },
        },
      ],
    ],
    has: [
      [`${batch}/jobs/longjob`, /"reason":"DeadlineExceeded"/],
      [`${batch}/jobs/longjob`, /Job was active longer than specified deadline/],
    ],
  },
  {
    does: 'runs a job of which a pod policy makes one exit code final',
    with: [
      [
        'POST',
        `${batch}/jobs`,
        {
          metadata: { name: 'finaljob' },
          spec: {
            podFailurePolicy: {
              rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }],
            },
            template: {
              spec: {
                restartPolicy: 'Never',
                containers: [{ name: 'c', image: 'b', ...sh('exit 42') }],
              },
            },
          },
        },
      ],
    ],
    has: [
      [
        `${batch}/jobs/finaljob`,
        /"reason":"PodFailurePolicy","message":"Container c for pod default\/finaljob-\w+ failed with exit code 42 matching FailJob rule at index 0"|failed with exit code 42 matching FailJob rule at index 0/,
      ],
    ],
  },
  {
    does: 'asks for a port of nodes that no Service may have',
    with: [
      [
        'POST',
        `${core}/services`,
        {
          metadata: { name: 'web' },
          spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] },
        },
      ],
    ],
    answers:
      /spec\.ports\[0\]\.nodePort: Invalid value: 80: provided port is not in the valid range\. The range of valid ports is 30000-32767/,
  },
  {
    does: 'asks for an address that no Service may have',
    with: [
      [
        'POST',
        `${core}/services`,
        { metadata: { name: 'web' }, spec: { clusterIP: '192.168.0.1', ports: [{ port: 80 }] } },
      ],
    ],
    answers:
      /failed to allocate IP 192\.168\.0\.1: the provided network does not match the current range/,
  },
  {
    does: 'evicts a pod that a budget keeps',
    with: [
      [
        'POST',
        '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
        {
          metadata: { name: 'all' },
          spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
        },
      ],
      ['POST', pods, { metadata: { name: 'kept', labels: { app: 'kept' } }, spec: plain }],
      [
        'POST',
        `${pods}/kept/eviction`,
        { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'kept' } },
      ],
    ],
    waitsFor: [
      [`${pods}/kept`, /^kept {2}1\/1 {2}Running/],
      ['/apis/policy/v1/namespaces/default/poddisruptionbudgets/all', /^all {2}1 {2}N\/A {2}0/],
    ],
    answers: /Cannot evict pod as it would violate the pod's disruption budget/,
  },
  {
    does: 'makes an object in a namespace that is not there',
    with: [['POST', '/api/v1/namespaces/none/configmaps', { metadata: { name: 'a' } }]],
    answers: /namespaces \\"none\\" not found/,
  },
  {
    does: 'asks for more than a quota leaves',
    with: [
      ['POST', '/api/v1/namespaces', { metadata: { name: 'tight' } }],
      [
        'POST',
        '/api/v1/namespaces/tight/resourcequotas',
        { metadata: { name: 'q' }, spec: { hard: { pods: '0' } } },
      ],
      ['POST', '/apis/apps/v1/namespaces/tight/deployments', workload('over', plain)],
    ],
    has: [
      [
        '/apis/apps/v1/namespaces/tight/deployments/over',
        /"type":"ReplicaFailure".*exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0|exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0/,
      ],
    ],
  },
]

t.test('there are thirty of them', async t => {
  t.ok(failures.length >= 30, String(failures.length))
})

/** All Events about objects whose names begin so. */
async function eventsOf(name: string): Promise<string> {
  const { items = [] } = (await send('GET', `${core}/events`)) as {
    items?: readonly Readonly<Record<string, string>>[]
  }
  return items
    .filter(event => (event['involvedObject'] as unknown as { name: string }).name.startsWith(name))
    .map(({ type, reason, message }) => `${type} ${reason} ${message}`)
    .join('\n')
}

/** Asks until the text is as it should be; the test's own limit ends it. */
async function says(asked: () => Promise<string>, expected: RegExp): Promise<string> {
  for (;;) {
    const text = await asked()
    if (expected.test(text)) return text
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

for (const failure of failures) {
  t.test(`who ${failure.does} is told so`, async t => {
    let answer = ''
    for (const [i, [method, path, body]] of failure.with.entries()) {
      const waited = i === failure.with.length - 1 ? (failure.waitsFor ?? []) : []
      for (const [shown, expected] of waited) await says(() => printed(shown), expected)
      answer = JSON.stringify(await send(method, path, body))
    }
    if (failure.answers !== undefined) t.match(answer, failure.answers)
    for (const [path, expected] of failure.prints ?? []) {
      t.match(await says(() => printed(path), expected), expected)
    }
    for (const [path, expected] of failure.has ?? []) {
      t.match(await says(async () => JSON.stringify(await send('GET', path)), expected), expected)
    }
    for (const [name, expected] of failure.tells ?? []) {
      t.match(await says(() => eventsOf(name), expected), expected)
    }
  })
}
