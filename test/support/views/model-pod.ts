/** Pods as the naive program has them: plain values, of which both the object and the cells that
 *  are expected are made. */

import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'

export interface ModelPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly revision: number
  readonly createdMs: number
  readonly phase: string
  readonly waiting: string
  readonly isReady: boolean
  readonly restarts: number
  readonly lastRestartMs: number | undefined
  readonly node: string
  readonly ip: string
  readonly labels: Readonly<Record<string, string>>
  readonly note: string | undefined
  readonly cpu: string | undefined
  readonly priority: number | undefined
}

export const ownColumns =
  'cpu:quantity:.spec.containers[0].resources.requests.cpu,prio:.spec.priority'

const letters = ['a', 'b', 'a-b', 'web', 'WEB', 'é', 'zz', 'node-1', 'node-2', 'node-10']
const cpus = ['100m', '0.1', '1', '2', '1500m', '1Ki', '10']

export function randomPod(
  random: Random,
  at: { readonly namespace: string; readonly name: string; readonly revision: number },
  { nowMs, old }: { readonly nowMs: number; readonly old: ModelPod | undefined },
): ModelPod {
  const maybe = <T>(make: () => T): T | undefined => (random.next() < 0.6 ? make() : undefined)
  const isSame = old !== undefined && random.next() < 0.9
  const restarts = random.next() < 0.5 ? 0 : randomInt(random, 0, 14)
  return {
    ...at,
    uid: isSame ? old.uid : `uid-${at.revision}-${randomInt(random, 0, 999999999)}`,
    createdMs: isSame
      ? old.createdMs
      : nowMs - 1000 * randomItem(random, [0, 1, 59, 60, 3599, 3600, 3601, 86_400, 90_000, 1e7]),
    phase: randomItem(random, ['Running', 'Pending', 'Succeeded', 'Failed']),
    waiting: random.next() < 0.2 ? randomItem(random, ['CrashLoopBackOff', 'ErrImagePull']) : '',
    isReady: random.next() < 0.5,
    restarts,
    lastRestartMs: restarts > 0 && random.next() < 0.5 ? nowMs - 7_200_000 : undefined,
    node: random.next() < 0.2 ? '' : randomItem(random, letters.slice(7)),
    ip: random.next() < 0.3 ? '' : `10.0.0.${randomInt(random, 0, 19)}`,
    labels: Object.fromEntries(
      ['app', 'tier'].flatMap(key =>
        random.next() < 0.7 ? [[key, randomItem(random, ['a', 'b', 'c'])]] : [],
      ),
    ),
    note: maybe(() => randomItem(random, letters)),
    cpu: maybe(() => randomItem(random, cpus)),
    priority: maybe(() => randomItem(random, [0, 5, 10, 100, -3])),
  }
}

export function objectOf(pod: ModelPod): object {
  const { waiting, isReady, restarts, lastRestartMs } = pod
  const requests = pod.cpu === undefined ? {} : { resources: { requests: { cpu: pod.cpu } } }
  const running = waiting === '' ? { running: {} } : { waiting: { reason: waiting } }
  const terminated = { exitCode: 1, finishedAt: timeText(lastRestartMs ?? 0) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: pod.name,
      namespace: pod.namespace,
      uid: pod.uid,
      creationTimestamp: timeText(pod.createdMs),
      labels: pod.labels,
      ...(pod.note === undefined ? {} : { annotations: { 'example.com/note': pod.note } }),
    },
    spec: {
      ...podDefaults,
      containers: [{ ...containerDefaults, ...requests }],
      ...(pod.node === '' ? {} : { nodeName: pod.node }),
      ...(pod.priority === undefined ? {} : { priority: pod.priority }),
    },
    status: {
      phase: pod.phase,
      ...(pod.ip === '' ? {} : { podIP: pod.ip, podIPs: [{ ip: pod.ip }] }),
      containerStatuses: [
        {
          name: 'c',
          ready: isReady,
          restartCount: restarts,
          image: 'i',
          imageID: '',
          state: running,
          lastState: lastRestartMs === undefined ? {} : { terminated },
        },
      ],
    },
  }
}

/** The defaults that a server stores: without them each object would have to be made into what it
 *  would store, which takes a hundred times as long. */
const podDefaults = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  securityContext: {},
  schedulerName: 'default-scheduler',
  enableServiceLinks: true,
}
const containerDefaults = {
  name: 'c',
  image: 'i:1',
  resources: {},
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  imagePullPolicy: 'IfNotPresent',
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}

/** The cells of a pod's columns, as a view shows them. */
export function cellsOf(pod: ModelPod): Readonly<Record<string, string | number | null>> {
  const isUp = pod.waiting === '' && pod.isReady
  return {
    namespace: pod.namespace,
    name: pod.name,
    ready: `${isUp ? 1 : 0}/1`,
    status: pod.waiting || pod.phase,
    restarts: pod.restarts,
    age: timeText(pod.createdMs),
    ip: pod.ip || '<none>',
    node: pod.node || '<none>',
    'nominated-node': '<none>',
    'readiness-gates': '<none>',
    'labels.app': pod.labels['app'] ?? null,
    'labels.tier': pod.labels['tier'] ?? null,
    'annotations.example.com/note': pod.note ?? null,
    cpu: pod.cpu === undefined ? null : (canonicalCpus[pod.cpu] ?? pod.cpu),
    prio: pod.priority ?? null,
  }
}

const canonicalCpus: Readonly<Record<string, string>> = { '0.1': '100m' }

/** The amounts of the canonical quantities. */
export const cpuAmounts: Readonly<Record<string, number>> = {
  '100m': 0.1,
  '1': 1,
  '2': 2,
  '1500m': 1.5,
  '1Ki': 1024,
  '10': 10,
}
