/** The objects of a recorded cluster: those that the recordings in `../data` list, made anew. So
 *  every kind has several, with many fields, odd names and every status; kinds that a new minor
 *  adds have none until somebody adds some here.
 *
 *  What a server makes itself is left out, and so is what only a server may say: uids, times,
 *  managers. Statuses are written after the objects, as controllers do. */

import { bodyBytes, golden, type Recording, recordingOf } from '../load.ts'
import { mergePatch } from './media-types.ts'
import type { JsonObject, Recorder } from './recorder.ts'

/** The newest first: of objects that several have, its one is taken. */
const sources: readonly Recording[] = [golden, recordingOf('1.35')]

/** They decide what may be made after them. */
const firstResources: readonly string[] = [
  'namespaces',
  'customresourcedefinitions',
  'priorityclasses',
  'storageclasses',
  'runtimeclasses',
  'serviceaccounts',
]

/** Written by a server alone, or another form of what is there; and a resource whose definition no
 *  recording lists. */
const leftOutPaths =
  /^\/apis\/(?:events\.k8s\.io|flowcontrol\.|lab-cr\.|networking\.k8s\.io\/v1\/(?:ipaddresses|servicecidrs))|^\/apis$/

/** Objects that others name, and no recording lists. */
const namedOnly: readonly WantedObject[] = [
  { name: 'lab-high', value: 1000 },
  { name: 'lab-polite', value: -5, preemptionPolicy: 'Never' },
].map(({ name, ...rest }) => ({
  path: '/apis/scheduling.k8s.io/v1/priorityclasses',
  name,
  object: { metadata: { name }, ...rest },
  status: undefined,
  isDeleted: false,
}))

/** Namespaces of the server, and one whose objects were put into etcd by another way. */
const leftOut: ReadonlySet<string> = new Set([
  'default',
  'foreign',
  'kube-node-lease',
  'kube-public',
  'kube-system',
])

/** Requests under way while objects are made. */
const atOnce = 8

export interface WantedObject {
  /** The path of its collection. */
  readonly path: string
  readonly name: string
  readonly object: JsonObject
  readonly status: unknown
  /** It waits for finalizers. */
  readonly isDeleted: boolean
}

/** Makes them all; what the server refuses is noted. */
export async function makeObjects(recorder: Recorder): Promise<void> {
  const wanted = wantedObjects()
  const isFirst = ({ path }: WantedObject): boolean => firstResources.includes(resourceOf(path))
  for (const object of wanted.filter(isFirst)) await makeObject(recorder, object)
  const rest = wanted.filter(object => !isFirst(object))
  const next = async (): Promise<void> => {
    for (let object = rest.shift(); object !== undefined; object = rest.shift()) {
      await makeObject(recorder, object)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  for (const { path, name, isDeleted } of wanted) {
    if (isDeleted) await recorder.tell('DELETE', `${path}/${name}`)
  }
}

async function makeObject(
  recorder: Recorder,
  { path, name, object, status }: WantedObject,
): Promise<void> {
  const made = await recorder.tell('POST', path, object)
  if (made.status === 409) return
  if (made.status >= 300) {
    recorder.setupErrors.push(`POST ${path} ${name}: ${made.status} ${messageOf(made.object)}`)
    return
  }
  if (resourceOf(path) === 'customresourcedefinitions') await established(recorder, object)
  if (status === undefined) return
  // Not every kind has a status of its own.
  await recorder.tell('PATCH', `${path}/${name}/status`, { status }, mergePatch)
}

/** All objects, in an order in which they can be made. */
export function wantedObjects(): WantedObject[] {
  const wanted = new Map<string, WantedObject>()
  for (const { path, items } of sources.flatMap(source => [...recordedLists(source)])) {
    for (const item of items) {
      const object = wantedObject(path, item)
      // One of several versions is enough.
      const key = object && `${object.path.replace(/\/v\d\w*\//, '/')}/${object.name}`
      if (key !== undefined && !wanted.has(key)) wanted.set(key, object!)
    }
  }
  const place = ({ path }: WantedObject): number => {
    const at = firstResources.indexOf(resourceOf(path))
    return at < 0 ? firstResources.length : at
  }
  return [...namedOnly, ...wanted.values()].sort((a, b) => place(a) - place(b))
}

interface RecordedList {
  readonly path: string
  readonly items: readonly JsonObject[]
}

/** Whole lists in JSON. */
function* recordedLists({ exchanges }: Recording): Generator<RecordedList> {
  for (const { request, response } of exchanges()) {
    const { method, path } = request
    const type = String(response.headers['content-type'])
    if (method !== 'GET' || response.status !== 200 || type !== 'application/json') continue
    if (path.includes('?') || leftOutPaths.test(path)) continue
    const { kind, items } = JSON.parse(bodyBytes(response).toString()) as JsonObject
    if (typeof kind !== 'string' || !/^(?!PartialObject).+List$/.test(kind) || !items) continue
    yield { path, items }
  }
}

function wantedObject(listPath: string, item: JsonObject): WantedObject | undefined {
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = item.metadata ?? {}
  const { metadata, status, ...rest } = withoutLaterParts(item)
  const text = name ?? ''
  if (leftOut.has(namespace ?? text) || /^system:|^system-|openshift/.test(text)) return undefined
  const collection = listPath.replace(/\/+$/, '').replace(/\/namespaces\/[^/]*(?=\/)/, '')
  const resource = resourceOf(collection)
  const parent = collection.slice(0, -resource.length - 1)
  const path =
    namespace === undefined ? collection : `${parent}/namespaces/${namespace}/${resource}`
  const kept = { name, namespace, labels, annotations, finalizers, ownerReferences }
  return {
    path,
    name: text,
    object: { ...(resource === 'jobs' ? unselected(rest) : rest), metadata: kept },
    status: resource === 'customresourcedefinitions' ? undefined : status,
    isDeleted: metadata?.['deletionTimestamp'] !== undefined,
  }
}

/** Ephemeral containers come to a pod that is there, and its priority is the server's to say: one
 *  that is not that of its class, or of the class by default, is refused. */
function withoutLaterParts(item: JsonObject): JsonObject {
  const { spec } = item as { readonly spec?: object }
  if (spec === undefined) return item
  const isPod = 'containers' in spec
  const later = isPod ? { priority: undefined, preemptionPolicy: undefined } : {}
  return { ...item, spec: { ...spec, ephemeralContainers: undefined, ...later } }
}

interface JobParts {
  readonly spec: {
    readonly manualSelector?: boolean
    readonly template: {
      readonly metadata?: { readonly labels?: Readonly<Record<string, string>> }
    }
  }
}

/** A Job without the selector that its server gave it, which names its uid. */
function unselected(job: JsonObject): JsonObject {
  const { spec } = job as unknown as JobParts
  if (spec.manualSelector === true) return job
  const { template } = spec
  const labels = Object.entries(template.metadata?.labels ?? {}).filter(
    ([name]) => !/^(?:batch\.kubernetes\.io\/)?(?:controller-uid|job-name)$/.test(name),
  )
  const metadata = { ...template.metadata, labels: Object.fromEntries(labels) }
  return { ...job, spec: { ...spec, selector: undefined, template: { ...template, metadata } } }
}

function resourceOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
}

/** Resolves once the server serves a definition's resource. */
async function established(recorder: Recorder, definition: JsonObject): Promise<void> {
  const { group, names, versions } = (definition as unknown as Definition).spec
  const path = `/apis/${group}/${versions.find(({ served }) => served)?.name}/${names.plural}`
  for (let looks = 0; looks < 200; looks++) {
    if ((await recorder.tell('GET', path)).status === 200) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  recorder.setupErrors.push(`${path} is not served`)
}

function messageOf(object: JsonObject | undefined): string {
  const message = object?.['message']
  return typeof message === 'string' ? message.slice(0, 200) : ''
}
