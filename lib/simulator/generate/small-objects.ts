/** Namespaces, service accounts, config maps, secrets and events. */

import { textFromMilliseconds } from '@watchglass/go'
import { type Random, randomInt } from '@watchglass/base'
import { fieldsOf, type MadeObject, managedBy } from './managed-fields.ts'
import { uid } from './names.ts'
import type { PodRecord } from './topology.ts'

export interface SmallObjectName {
  readonly namespace: string
  readonly name: string
  readonly createdMs: number
}

export function namespaceObject(name: string, random: Random, createdMs: number): MadeObject {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: {
      name,
      uid: uid(random),
      creationTimestamp: textFromMilliseconds(createdMs),
      labels: {
        'kubernetes.io/metadata.name': name,
        'pod-security.kubernetes.io/enforce': 'baseline',
      },
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}

export function serviceAccountObject(named: SmallObjectName, random: Random): MadeObject {
  return { kind: 'ServiceAccount', apiVersion: 'v1', metadata: metadata(named, random) }
}

/** Most config maps are small; one in fifty is a dashboard or a CA bundle of tens of kilobytes. */
export function configMapObject(named: SmallObjectName, random: Random): MadeObject {
  const lines = random.next() < 0.02 ? randomInt(random, 400, 1_200) : randomInt(random, 4, 40)
  const text = Array.from(
    { length: lines },
    (_, i) => `setting.${i}.value=${randomInt(random, 0, 1e9)}`,
  ).join('\n')
  const data = { 'application.properties': `${text}\n`, 'log-level': 'info' }
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: metadata(named, random, { data }), data }
}

export function secretObject(named: SmallObjectName, random: Random): MadeObject {
  const password = Buffer.from(uid(random)).toString('base64')
  const data = { password, username: Buffer.from(named.name).toString('base64') }
  return {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: metadata(named, random, { data }),
    data,
    type: 'Opaque',
  }
}

export interface EventFacts {
  readonly pod: PodRecord
  readonly name: string
  readonly random: Random
  readonly nowMs: number
}

export function eventObject({ pod, name, random, nowMs }: EventFacts): MadeObject {
  const [reason, message, type] =
    pod.health === 'running'
      ? ['Pulled', `Container image "${pod.template.image}" already present on machine`, 'Normal']
      : [
          'BackOff',
          `Back-off restarting failed container ${pod.workload.name} in pod ${pod.name}`,
          'Warning',
        ]
  const { namespace } = pod.workload
  return {
    kind: 'Event',
    apiVersion: 'v1',
    metadata: {
      name,
      namespace,
      uid: uid(random),
      creationTimestamp: textFromMilliseconds(nowMs),
    },
    involvedObject: {
      kind: 'Pod',
      namespace,
      name: pod.name,
      uid: pod.uid,
      apiVersion: 'v1',
      fieldPath: `spec.containers{${pod.workload.name}}`,
    },
    reason,
    message,
    source: { component: 'kubelet', host: pod.node.name },
    firstTimestamp: textFromMilliseconds(nowMs - 60_000),
    lastTimestamp: textFromMilliseconds(nowMs),
    count: randomInt(random, 1, 30),
    type,
    eventTime: null,
    reportingComponent: 'kubelet',
    reportingInstance: pod.node.name,
  }
}

function metadata(
  { namespace, name, createdMs }: SmallObjectName,
  random: Random,
  fields?: MadeObject,
): MadeObject {
  const time = textFromMilliseconds(createdMs)
  return {
    name,
    namespace,
    uid: uid(random),
    creationTimestamp: time,
    ...(fields === undefined
      ? {}
      : {
          managedFields: [
            managedBy(
              { manager: 'kubectl-create', operation: 'Update', apiVersion: 'v1', time },
              fieldsOf(fields),
            ),
          ],
        }),
  }
}
