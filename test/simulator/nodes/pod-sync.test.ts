/** The statuses that a kubelet shows of pods whose containers end, fail or wait, look after
 *  look. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { textFromMilliseconds } from '../../../lib/go/time.ts'
import { ImagePulls } from '../../../lib/simulator/containers/image-pulls.ts'
import { syncPod } from '../../../lib/simulator/nodes/pod-sync.ts'
import { isScripted } from '../../../lib/simulator/containers/scripted-pods.ts'
import { syncPartsOf } from '../../../lib/simulator/nodes/pod-sync-parts.ts'
import type { ContainerStatus, Pod } from '../../../lib/simulator/runtime/objects.ts'

const startMs = Date.UTC(2026, 0, 1)
const key = keyFromText('/registry/pods/shop/web')

interface Spec {
  readonly containers?: readonly object[]
  readonly [name: string]: unknown
}

/** A pod on a node, and the clock of its kubelet. */
class FakeKubelet {
  readonly notes: string[] = []
  readonly objects = new Map<string, object>()
  crashesAfterMs: number | undefined
  pod: Pod
  #nowMs = startMs
  #againMs: number | undefined
  readonly #pulls = new ImagePulls()

  constructor(spec: Spec, annotations: Record<string, string> = {}) {
    const containers = [{ name: 'c', image: 'busybox', command: ['sh', '-c', 'exit 1'] }]
    this.pod = {
      metadata: { name: 'web', namespace: 'shop', uid: 'u', annotations },
      spec: { containers, nodeName: 'n', ...spec },
    } as Pod
  }

  async look(): Promise<void> {
    const parts = await syncPartsOf(this.pod, {
      key,
      nowMs: this.#nowMs,
      addresses: { podAddress: '10.1.0.7', nodeAddress: '10.0.0.1' },
      pulls: this.#pulls,
      read: async (kind, name) => this.objects.get(`${kind}/${name}`),
      pullFault: () => undefined,
      crashesAfterMs: this.crashesAfterMs,
    })
    const { status, notes, againMs } = syncPod(this.pod, parts, this.#nowMs)
    for (const { type = 'Normal', reason, message } of notes) {
      this.notes.push(`${type} ${reason} ${message}`)
    }
    this.pod = { ...this.pod, status: { ...this.pod.status, ...status } as Pod['status'] & object }
    this.#againMs = againMs
  }

  /** Looks for so many seconds, as often as there is something to do. */
  async run(seconds: number): Promise<void> {
    const untilMs = this.#nowMs + seconds * 1_000
    await this.look()
    while (this.#againMs !== undefined && this.#nowMs + this.#againMs <= untilMs) {
      this.#nowMs += this.#againMs
      await this.look()
    }
    this.#nowMs = untilMs
  }

  get now(): string {
    return textFromMilliseconds(this.#nowMs)
  }

  /** The container, as `kubectl get pod` would say it. */
  shown(name = 'c'): string {
    const { containerStatuses = [], initContainerStatuses = [] } = this.pod.status ?? {}
    const all: readonly ContainerStatus[] = [...initContainerStatuses, ...containerStatuses]
    const status = all.find(one => one.name === name)
    const { waiting, running, terminated } = status?.state ?? {}
    const what =
      waiting?.reason ?? (running && 'Running') ?? `${terminated?.reason} ${terminated?.exitCode}`
    const ready = status?.ready === true ? 'ready' : 'unready'
    return `${what}, ${ready}, ${status?.restartCount} restarts`
  }

  condition(type: string): string {
    const found = this.pod.status?.conditions?.find(one => one.type === type)
    return [found?.status, found?.reason, found?.message].filter(one => one !== undefined).join(' ')
  }

  get phase(): string | undefined {
    return this.pod.status?.phase
  }
}

const script = (text: string, name = 'c'): object => ({
  name,
  image: 'busybox',
  command: ['sh', '-c', text],
})

t.test('a container that fails is restarted at once, and then after 10, 20 and 40 s', async t => {
  const kubelet = new FakeKubelet({})
  await kubelet.look()
  t.equal(kubelet.shown(), 'Running, ready, 0 restarts')
  t.equal(kubelet.phase, 'Running')
  await kubelet.run(0.2)
  t.equal(kubelet.shown(), 'Error 1, unready, 0 restarts')
  await kubelet.run(4)
  t.equal(kubelet.shown(), 'CrashLoopBackOff, unready, 1 restarts')
  t.match(kubelet.pod.status?.containerStatuses?.[0]?.state?.waiting?.message, /^back-off 10s /)
  t.equal(kubelet.phase, 'Running')
  t.equal(
    kubelet.condition('Ready'),
    'False ContainersNotReady containers with unready status: [c]',
  )
  await kubelet.run(10)
  t.equal(kubelet.shown(), 'CrashLoopBackOff, unready, 2 restarts')
  t.equal(
    kubelet.pod.status?.containerStatuses?.[0]?.state?.waiting?.message,
    'back-off 20s restarting failed container=c pod=web_shop(u)',
  )
  await kubelet.run(70)
  t.equal(kubelet.shown(), 'CrashLoopBackOff, unready, 4 restarts')
  await kubelet.run(3_000)
  t.match(kubelet.pod.status?.containerStatuses?.[0]?.state?.waiting?.message, /^back-off 5m0s /)
  t.ok(
    kubelet.notes.includes(
      'Warning BackOff Back-off restarting failed container c in pod web_shop(u)',
    ),
  )
})

const ends: readonly (readonly [policy: string, text: string, phase: string, shown: string])[] = [
  ['Never', 'exit 3', 'Failed', 'Error 3, unready, 0 restarts'],
  ['Never', 'echo done', 'Succeeded', 'Completed 0, unready, 0 restarts'],
  ['OnFailure', 'true', 'Succeeded', 'Completed 0, unready, 0 restarts'],
  ['OnFailure', 'false', 'Running', 'CrashLoopBackOff, unready, 1 restarts'],
  ['Always', 'true', 'Running', 'CrashLoopBackOff, unready, 1 restarts'],
  ['Always', 'sleep 3600', 'Running', 'Running, ready, 0 restarts'],
  ['Always', 'sleep 2; exit 1', 'Running', 'Running, ready, 1 restarts'],
]

t.test('containers end as their commands say, and restart as their pods say', async t => {
  for (const [restartPolicy, text, phase, shown] of ends) {
    const kubelet = new FakeKubelet({ restartPolicy, containers: [script(text)] })
    await kubelet.run(4)
    t.strictSame([kubelet.phase, kubelet.shown()], [phase, shown], `${restartPolicy} ${text}`)
  }
})

t.test('init containers run one after the other, and one that fails holds the pod', async t => {
  const initContainers = [script('sleep 2', 'first'), script('exit 1', 'second')]
  const kubelet = new FakeKubelet({ initContainers, containers: [script('sleep 9')] })
  await kubelet.look()
  t.equal(kubelet.shown('first'), 'Running, ready, 0 restarts')
  t.equal(kubelet.shown('second'), 'PodInitializing, unready, 0 restarts')
  t.equal(kubelet.phase, 'Pending')
  t.match(kubelet.condition('Initialized'), /False ContainersNotInitialized .*\[first second\]$/)
  await kubelet.run(20)
  t.equal(kubelet.shown('first'), 'Completed 0, ready, 0 restarts')
  t.match(kubelet.shown('second'), /^CrashLoopBackOff/)
  t.equal(kubelet.shown(), 'PodInitializing, unready, 0 restarts')
  const never = new FakeKubelet({
    restartPolicy: 'Never',
    initContainers: [script('exit 2', 'first')],
    containers: [script('sleep 9')],
  })
  await never.run(5)
  t.strictSame([never.phase, never.shown('first')], ['Failed', 'Error 2, unready, 0 restarts'])
  const good = new FakeKubelet({
    initContainers: [
      script('true', 'first'),
      { ...script('sleep 99', 'side'), restartPolicy: 'Always' },
    ],
    containers: [script('sleep 99')],
  })
  await good.run(2)
  t.strictSame(
    [good.phase, good.shown('side'), good.shown(), good.condition('Ready')],
    ['Running', 'Running, ready, 0 restarts', 'Running, ready, 0 restarts', 'True'],
  )
})

t.test(
  'a missing ConfigMap or Secret holds its container or the whole pod until it is there',
  async t => {
    const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'a' } } }]
    const kubelet = new FakeKubelet({ containers: [{ name: 'c', image: 'nginx', env }] })
    await kubelet.look()
    t.equal(kubelet.shown(), 'CreateContainerConfigError, unready, 0 restarts')
    t.equal(kubelet.phase, 'Pending')
    t.ok(kubelet.notes.includes('Warning Failed Error: configmap "settings" not found'))
    kubelet.objects.set('ConfigMap/settings', { data: { b: '1' } })
    await kubelet.run(6)
    t.equal(
      kubelet.pod.status?.containerStatuses?.[0]?.state?.waiting?.message,
      "couldn't find key a in ConfigMap shop/settings",
    )
    kubelet.objects.set('ConfigMap/settings', { data: { a: '1' } })
    await kubelet.run(6)
    t.equal(kubelet.shown(), 'Running, ready, 0 restarts')
    const volumes = [
      { name: 'tls', secret: { secretName: 'cert', items: [{ key: 'tls.key', path: 'k' }] } },
      { name: 'other', configMap: { name: 'none', optional: true } },
      { name: 'access', projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } },
    ]
    const mounted = new FakeKubelet({ volumes, containers: [{ name: 'c', image: 'nginx' }] })
    await mounted.look()
    t.equal(mounted.shown(), 'ContainerCreating, unready, 0 restarts')
    t.strictSame(mounted.notes, [
      'Warning FailedMount MountVolume.SetUp failed for volume "tls" : secret "cert" not found',
    ])
    mounted.objects.set('Secret/cert', { data: {} })
    await mounted.run(6)
    t.match(mounted.notes.at(-1), /: references non-existent secret key: tls.key$/)
    mounted.objects.set('Secret/cert', { data: { 'tls.key': '' } })
    await mounted.run(6)
    t.equal(mounted.shown(), 'Running, ready, 0 restarts')
  },
)

t.test('images that are not there are asked for again and again, later each time', async t => {
  const missing = { 'watchglass.local/missing-images': 'nginx:nope other*' }
  const containers = [{ name: 'c', image: 'nginx:nope' }]
  const kubelet = new FakeKubelet({ containers }, missing)
  await kubelet.look()
  t.equal(kubelet.shown(), 'ErrImagePull, unready, 0 restarts')
  const place = 'docker.io/library/nginx:nope'
  t.strictSame(kubelet.notes, [
    'Normal Pulling Pulling image "nginx:nope"',
    `Warning Failed Failed to pull image "nginx:nope": rpc error: code = NotFound desc = failed to pull and unpack image "${place}": failed to resolve reference "${place}": ${place}: not found`,
    'Warning Failed Error: ErrImagePull',
  ])
  await kubelet.run(5)
  t.equal(kubelet.shown(), 'ImagePullBackOff, unready, 0 restarts')
  t.ok(kubelet.notes.includes('Normal BackOff Back-off pulling image "nginx:nope"'))
  kubelet.pod = { ...kubelet.pod, metadata: { ...kubelet.pod.metadata, annotations: {} } }
  await kubelet.run(20)
  t.equal(kubelet.shown(), 'Running, ready, 0 restarts')
  const wrong = new FakeKubelet({ containers: [{ name: 'c', image: 'Nginx' }] })
  await wrong.look()
  t.equal(wrong.shown(), 'InvalidImageName, unready, 0 restarts')
  t.match(wrong.notes[0], /couldn't parse image name "Nginx": invalid reference format: repository/)
})

t.test('probes fail as an annotation says', async t => {
  const probe = { httpGet: { port: 80 }, periodSeconds: 5, failureThreshold: 2 }
  const containers = [{ name: 'c', image: 'nginx', readinessProbe: probe, livenessProbe: probe }]
  const unready = new FakeKubelet({ containers }, { 'watchglass.local/readiness-probe': 'fail' })
  await unready.run(6)
  t.equal(unready.shown(), 'Running, unready, 0 restarts')
  const said = 'Warning Unhealthy Readiness probe failed: HTTP probe failed with statuscode: 500'
  t.ok(unready.notes.includes(said))
  const { metadata } = unready.pod
  const annotations = { 'watchglass.local/readiness-probe': 'succeed' }
  unready.pod = { ...unready.pod, metadata: { ...metadata, annotations } }
  await unready.run(6)
  t.equal(unready.shown(), 'Running, ready, 0 restarts')
  const killed = new FakeKubelet(
    { containers },
    { 'watchglass.local/liveness-probe.c': 'no answer' },
  )
  await killed.run(9)
  t.equal(killed.shown(), 'Running, ready, 0 restarts')
  await killed.run(3)
  t.equal(killed.shown(), 'Running, ready, 1 restarts')
  t.ok(killed.notes.includes('Warning Unhealthy Liveness probe failed: no answer'))
  t.ok(killed.notes.includes('Normal Killing Container c failed liveness probe, will be restarted'))
  const exec = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 3 }
  const slow = new FakeKubelet({ containers: [{ name: 'c', image: 'nginx', startupProbe: exec }] })
  await slow.run(2)
  t.equal(slow.shown(), 'Running, unready, 0 restarts')
  await slow.run(2)
  t.ok(slow.notes.includes('Normal Killing Container c failed startup probe, will be restarted'))
})

t.test(
  'readiness gates and deadlines of pods count, and so does a fault that ends them',
  async t => {
    const containers = [{ name: 'c', image: 'nginx' }]
    const gated = new FakeKubelet({ containers, readinessGates: [{ conditionType: 'www/lb' }] })
    await gated.run(1)
    t.equal(gated.condition('ContainersReady'), 'True')
    t.match(
      gated.condition('Ready'),
      /^False ReadinessGatesNotReady corresponding condition .*"www\/lb"/,
    )
    const late = new FakeKubelet({ containers, activeDeadlineSeconds: 30 })
    await late.run(29)
    t.equal(late.phase, 'Running')
    await late.run(2)
    t.strictSame([late.phase, late.shown()], ['Failed', 'Error 137, unready, 0 restarts'])
    t.match(late.pod.status, { reason: 'DeadlineExceeded' })
    const shaken = new FakeKubelet({ containers: [script('sleep 3600')] })
    shaken.crashesAfterMs = 2_000
    await shaken.run(2.5)
    t.equal(shaken.shown(), 'Error 1, unready, 0 restarts')
  },
)

t.test('a pod is scripted only where it is known how its containers go', async t => {
  const is = (container: object, rest: object = {}): boolean =>
    isScripted({
      metadata: { name: 'a', uid: 'u' },
      spec: { containers: [{ name: 'c', image: 'nginx', ...container }], ...rest },
    } as Pod)
  const loop = ['sh', '-c', 'while true; do sleep 1; done']
  const rows: readonly (readonly [container: object, isKnown: boolean])[] = [
    [{}, false],
    [{ command: ['nginx', '-g', 'daemon off;'] }, false],
    [{ command: loop }, false],
    [{ command: ['sh', '-c', 'cat /etc/app/key; sleep 9'] }, false],
    [{ command: ['sh', '-c', 'echo a | sleep 1'] }, false],
    [{ command: ['cat'] }, false],
    [{ command: ['sh'] }, false],
    [{ command: ['sh', '-c', "echo 'it ends; exit 1'"] }, true],
    [{ command: ['sh', '-c', 'echo "no" >&2; exit 1'] }, true],
    [{ args: ['sleep', 'infinity'] }, true],
    [{ command: ['/bin/sleep'], args: ['1h'] }, true],
    [{ envFrom: [{ secretRef: { name: 's' } }] }, true],
    [{ image: 'Bad' }, true],
  ]
  for (const [container, isKnown] of rows) {
    t.equal(is(container), isKnown, JSON.stringify(container))
  }
})

t.test('a container is ready when its initial delay is over', async t => {
  const probe = { httpGet: { path: '/', port: 80 } }
  const container = { name: 'c', image: 'nginx' }
  const delayed = { ...container, readinessProbe: { ...probe, initialDelaySeconds: 20 } }
  const kubelet = new FakeKubelet({ containers: [delayed] })
  t.ok(isScripted(kubelet.pod))
  t.notOk(
    isScripted(new FakeKubelet({ containers: [{ ...container, readinessProbe: probe }] }).pod),
  )
  await kubelet.run(19)
  t.equal(kubelet.shown(), 'Running, unready, 0 restarts')
  await kubelet.run(2)
  t.equal(kubelet.shown(), 'Running, ready, 0 restarts')
  t.strictSame(
    kubelet.notes.filter(note => note.includes('Unhealthy')),
    [],
  )
  const starting = { ...container, startupProbe: { ...probe, initialDelaySeconds: 5 } }
  const other = new FakeKubelet({ containers: [starting] })
  await other.run(4)
  t.equal(other.pod.status?.containerStatuses?.[0]?.started, false)
  await other.run(2)
  t.equal(other.shown(), 'Running, ready, 0 restarts')
})

t.test('a pause container in a pod that is to end does not end by itself', async t => {
  const containers = [{ name: 'c', image: 'registry.k8s.io/pause:3.10' }]
  const kubelet = new FakeKubelet({ containers, restartPolicy: 'Never' })
  t.ok(isScripted(kubelet.pod))
  t.notOk(isScripted(new FakeKubelet({ containers }).pod), 'all others run on in any case')
  await kubelet.run(100_000)
  t.equal(kubelet.shown(), 'Running, ready, 0 restarts')
})
