/** Pods and containers as kwok's expressions see them: what is not set has the zero value of its
 *  type, amounts of resources are quantities, and times are timestamps. */

import { isObject } from '@watchglass/base'
import { ArrayList, Double, EntryMap, parseTimestamp, type Value } from '@watchglass/cel'
import type { UsingContainer, UsingPod } from '../usage/usage.ts'
import { CelResourceList } from './functions.ts'

const metadata = { name: '', namespace: '', uid: '', annotations: {}, labels: {} }
const podSpec = {
  nodeName: '',
  serviceAccountName: '',
  priorityClassName: '',
  nodeSelector: {},
  containers: [],
  initContainers: [],
}
const podStatus = { phase: '', podIP: '', hostIP: '', conditions: [], containerStatuses: [] }
const container = { name: '', image: '', command: [], args: [], env: [], ports: [] }
const noResources = { requests: {}, limits: {} }

export function podValue(pod: UsingPod): Value {
  const { containers } = pod.spec
  return valueOf({
    ...pod,
    metadata: { ...metadata, ...pod.metadata },
    spec: { ...podSpec, ...pod.spec, containers: containers.map(withDefaults) },
    status: { ...podStatus, ...pod.status },
  })
}

export function containerValue(of: UsingContainer): Value {
  return valueOf(withDefaults(of))
}

function withDefaults(of: UsingContainer): object {
  return { ...container, ...of, resources: { ...noResources, ...of.resources } }
}

const amounts: ReadonlySet<string> = new Set(['requests', 'limits'])

function valueOf(json: unknown, member = ''): Value {
  if (typeof json === 'string') {
    const time = /(?:Timestamp|Time|At)$/.test(member) ? parseTimestamp(json) : undefined
    return time ?? json
  }
  if (typeof json === 'number') return Number.isSafeInteger(json) ? json : new Double(json)
  if (typeof json === 'boolean') return json
  if (Array.isArray(json)) return new ArrayList(json.map(one => valueOf(one)))
  if (!isObject(json)) return null
  if (amounts.has(member)) return new CelResourceList(json)
  const map = new EntryMap()
  for (const [key, value] of Object.entries(json)) {
    if (value !== undefined) map.add(key, valueOf(value, key))
  }
  return map
}
