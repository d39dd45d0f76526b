/** The kinds of objects in the model of reads: how they are stored, and what of them selectors see.
 *  Objects are looked up by the very bytes that were stored, so that the oracle needs no codec of
 *  ours. */

import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'

/** An object as it was written. */
export interface ModelObject {
  readonly namespace: string
  readonly name: string
  /** Tells versions of an object apart; an annotation. */
  readonly serial: number
  readonly labels: Readonly<Record<string, string>>
  /** Values of the object in the fields of its kind. */
  readonly fields: Readonly<Record<string, string>>
}

/** A selector as it is sent, and naively. */
export interface ModelSelector {
  readonly text: string
  readonly selects: (object: ModelObject) => boolean
}

export interface ModelKind {
  /** `/api/v1` */
  readonly root: string
  readonly resource: string
  readonly prefix: string
  readonly isNamespaced: boolean
  /** Upstream's cache has it: `resourceVersion=0` ignores a limit. */
  readonly isWatchCached: boolean
  readonly fields: Readonly<Record<string, readonly string[]>>
  /** Values that the API shows where an object has none. */
  readonly fallbacks: Readonly<Record<string, string>>
  readonly stored: (object: ModelObject) => Buffer
}

export const namespaces: readonly string[] = ['a', 'ab', 'b']
const names: readonly string[] = Array.from(
  { length: 70 },
  (_, i) => `n${String(i).padStart(2, '0')}`,
)

function metadataOf(
  { name, namespace, serial, labels }: ModelObject,
  isNamespaced: boolean,
): object {
  const annotations = { serial: String(serial) }
  return { name, ...(isNamespaced ? { namespace } : {}), labels, annotations }
}

function protobufOf(object: object): Buffer {
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return Buffer.from(stored)
}

const pods: ModelKind = {
  root: '/api/v1',
  resource: 'pods',
  prefix: '/registry/pods/',
  isNamespaced: true,
  isWatchCached: true,
  fields: {
    'spec.nodeName': ['node-1', 'node-2', ''],
    'status.phase': ['Running', 'Pending', ''],
    'spec.schedulerName': ['default-scheduler', 'other'],
  },
  fallbacks: { 'spec.schedulerName': 'default-scheduler' },
  stored(object) {
    const { fields } = object
    return protobufOf({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: metadataOf(object, true),
      spec: {
        containers: [],
        nodeName: fields['spec.nodeName'],
        schedulerName: fields['spec.schedulerName'],
      },
      status: { phase: fields['status.phase'] },
    })
  },
}

const configMaps: ModelKind = {
  root: '/api/v1',
  resource: 'configmaps',
  prefix: '/registry/configmaps/',
  isNamespaced: true,
  isWatchCached: true,
  fields: {},
  fallbacks: {},
  stored: object =>
    protobufOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: metadataOf(object, true) }),
}

const nodes: ModelKind = {
  root: '/api/v1',
  resource: 'nodes',
  prefix: '/registry/minions/',
  isNamespaced: false,
  isWatchCached: true,
  fields: { 'spec.unschedulable': ['true', 'false'] },
  fallbacks: { 'spec.unschedulable': 'false' },
  stored: object =>
    protobufOf({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: metadataOf(object, false),
      spec: { unschedulable: object.fields['spec.unschedulable'] === 'true' ? true : undefined },
    }),
}

const events: ModelKind = {
  root: '/api/v1',
  resource: 'events',
  prefix: '/registry/events/',
  isNamespaced: true,
  isWatchCached: false,
  fields: { reason: ['Pulled', 'Killing'], type: ['Normal', 'Warning'] },
  fallbacks: {},
  stored: object =>
    protobufOf({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: metadataOf(object, true),
      ...object.fields,
      involvedObject: {},
    }),
}

const toys: ModelKind = {
  root: '/apis/example.com/v1',
  resource: 'toys',
  prefix: '/registry/example.com/toys/',
  isNamespaced: true,
  isWatchCached: true,
  fields: { 'spec.color': ['red', 'blue', ''], 'spec.size': ['1', '2', ''] },
  fallbacks: {},
  stored(object) {
    const { 'spec.color': color, 'spec.size': size } = object.fields
    return Buffer.from(
      JSON.stringify({
        apiVersion: 'example.com/v1',
        kind: 'Toy',
        metadata: metadataOf(object, true),
        spec: { color, size: size === undefined ? undefined : Number(size) },
      }),
    )
  },
}

export const kinds: readonly ModelKind[] = [pods, configMaps, nodes, events, toys]

export function randomName(random: Random): string {
  return randomItem(random, names)
}

/** An object with random contents. */
export function randomObject(random: Random, kind: ModelKind, serial: number): ModelObject {
  const labels: Record<string, string> = {}
  if (random.next() < 0.9) labels['app'] = randomItem(random, ['a', 'b', 'c'])
  if (random.next() < 0.5) labels['tier'] = randomItem(random, ['x', 'y', ''])
  const fields: Record<string, string> = {}
  for (const [field, values] of Object.entries(kind.fields)) {
    const value = randomItem(random, values)
    if (value !== '') fields[field] = value
  }
  const namespace = kind.isNamespaced ? randomItem(random, namespaces) : ''
  return { namespace, name: randomName(random), serial, labels, fields }
}

const labelTests: readonly ModelSelector[] = [
  { text: 'app=a', selects: ({ labels }) => labels['app'] === 'a' },
  { text: 'app!=a', selects: ({ labels }) => labels['app'] !== 'a' },
  { text: 'app in (a,b)', selects: ({ labels }) => ['a', 'b'].includes(labels['app'] ?? '-') },
  { text: 'app notin (a,b)', selects: ({ labels }) => !['a', 'b'].includes(labels['app'] ?? '-') },
  { text: 'tier', selects: ({ labels }) => labels['tier'] !== undefined },
  { text: '!tier', selects: ({ labels }) => labels['tier'] === undefined },
  { text: 'tier=', selects: ({ labels }) => labels['tier'] === '' },
  { text: 'app=nobody', selects: () => false },
]

/** One or two requirements on labels. */
export function randomLabelSelector(random: Random): ModelSelector {
  return joined(random, () => randomItem(random, labelTests))
}

/** One or two requirements on fields. */
export function randomFieldSelector(random: Random, kind: ModelKind): ModelSelector {
  return joined(random, () => randomFieldTest(random, kind))
}

function joined(random: Random, one: () => ModelSelector): ModelSelector {
  const [first, second] = [one(), one()]
  if (random.next() < 0.6) return first
  return {
    text: `${first.text},${second.text}`,
    selects: object => first.selects(object) && second.selects(object),
  }
}

function randomFieldTest(random: Random, kind: ModelKind): ModelSelector {
  const own = Object.keys(kind.fields)
  const all = [
    'metadata.name',
    ...(kind.isNamespaced ? ['metadata.namespace'] : []),
    ...own,
    ...own,
  ]
  const field = randomItem(random, all)
  const value = valueFor(random, kind, field)
  const isEqual = random.next() < 0.7
  const operator = isEqual ? randomItem(random, ['=', '==']) : '!='
  return {
    text: `${field}${operator}${value}`,
    selects: object => (fieldOf(kind, object, field) === value) === isEqual,
  }
}

function valueFor(random: Random, kind: ModelKind, field: string): string {
  if (field === 'metadata.name') return randomName(random)
  if (field === 'metadata.namespace') return randomItem(random, namespaces)
  return randomItem(random, kind.fields[field] ?? [])
}

function fieldOf(kind: ModelKind, object: ModelObject, field: string): string {
  if (field === 'metadata.name') return object.name
  if (field === 'metadata.namespace') return object.namespace
  return object.fields[field] ?? kind.fallbacks[field] ?? ''
}

/** 0 is no limit. */
export function randomLimit(random: Random): number {
  return random.next() < 0.4
    ? 0
    : randomItem(random, [1, 2, 3, 7, 64, 100, randomInt(random, 1, 300)])
}
