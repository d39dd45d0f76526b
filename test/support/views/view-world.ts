/** A keyspace of pods that views are asked of. */

import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import { createSelectableReader } from '../../../lib/codec/fields/selectable-reader.ts'
import type { SelectableReader } from '../../../lib/codec/fields/selectable.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import type { Segment } from '../../../lib/codec/output/segments.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { parseQuery } from '../../../lib/kube/request/request.ts'
import type { ResourceRoute } from '../../../lib/kube/request/routes.ts'
import type { MakeReader } from '../../../lib/kube/selectors/filter.ts'
import { type Change, KeyValue, noLease } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { SegmentCache } from '../../../lib/store/segments.ts'
import { SlabWriter } from '../../../lib/store/slab.ts'
import { parseView, type ViewQuestion } from '../../../lib/views/question/parse-view.ts'
import { type LiveSource, Views } from '../../../lib/views/views.ts'
import { builtIn } from '../kube/kube-builders.ts'
import { drained, stored } from '../kube/outputs.ts'
import { allSteps } from '../steps.ts'
import { type ModelPod, objectOf } from './model-pod.ts'

const schema = schemaOf()
const { storage, ...pods } = builtIn('pods')
if (storage === undefined) throw new Error('pods are stored')
const resource = { ...pods, storage }
const kind = { schema, version: 'v1', stored: { apiVersion: 'v1', kind: 'Pod' }, custom: undefined }
const readers = new Map<string, SelectableReader>()
export const makeReader: MakeReader = (_, fields, needsLabels) => {
  const name = `${fields.map(({ label }) => label).join()} ${needsLabels}`
  const reader = readers.get(name) ?? createSelectableReader(kind, fields, needsLabels)
  readers.set(name, reader)
  return reader
}
export const encoder: ObjectEncoder = newEncoder()

/** An encoder of pods. A resource that is defined again has a new one. */
export function newEncoder(): ObjectEncoder {
  return new ObjectEncoder({ ...resource, schema }, undefined)
}

/** The question of a query about pods. */
export function questionOf(query: Readonly<Record<string, string>>, namespace = ''): ViewQuestion {
  const text = new URLSearchParams(query).toString()
  return parseView(routeOfPods(namespace), parseQuery(text), encoder)
}

/** The route of a list of pods. */
export function routeOfPods(namespace = ''): ResourceRoute {
  return {
    type: 'resource',
    schema,
    resource,
    verb: 'list',
    namespace,
    name: '',
    subresource: '',
  }
}

/** A pod of namespace `one`, to put. */
export function onePod(
  name: string,
  values: Partial<ModelPod> = {},
): { readonly key: string; readonly object: object } {
  const pod = { ...plainPod, uid: `uid of ${name}`, name, ...values }
  return { key: `${pod.namespace}/${name}`, object: objectOf(pod) }
}

/** So many pods: `pod-000` and so on, each with one restart more than the one before. */
export function podsOf(count: number): { readonly key: string; readonly object: object }[] {
  return Array.from({ length: count }, (_, i) =>
    onePod(`pod-${String(i).padStart(3, '0')}`, { restarts: i % 7, node: `node-${i % 3}` }),
  )
}

const plainPod: ModelPod = {
  name: '',
  namespace: 'one',
  uid: '',
  revision: 0,
  createdMs: Date.parse('2026-11-27T23:30:00Z'),
  phase: 'Running',
  waiting: '',
  isReady: true,
  restarts: 0,
  lastRestartMs: undefined,
  node: '',
  ip: '',
  labels: {},
  note: undefined,
  cpu: undefined,
  priority: undefined,
}

export class ViewWorld {
  readonly store: Keyspace = new Keyspace({
    maxBatches: 10_000,
    maxAgeMs: Infinity,
    maxBytes: Infinity,
  })
  readonly views: Views
  readonly #slab = new SlabWriter()
  wallMs: number = Date.parse('2026-11-28T00:00:00Z')
  nowMs = 0

  constructor(views: Views = new Views({ segments: new SegmentCache<Segment>(1024 * 1024) })) {
    this.views = views
    this.store.restore([], revision(1))
  }

  get revision(): Revision {
    return this.store.revision
  }

  /** Puts objects, and deletes those of which only the key is given, in one batch. */
  change(objects: readonly { readonly key: string; readonly object: object | undefined }[]): void {
    const at = revision(this.store.revision + 1)
    const changes = objects.map(({ key, object }): Change => {
      const place: Key = keyFromText(`/registry/pods/${key}`)
      if (object === undefined) return { type: 'delete', key: place }
      const value = this.#slab.copy(stored(object))
      const meta = { createRevision: at, modRevision: at, version: 1, lease: noLease }
      return { type: 'put', entry: new KeyValue(place, value, meta) }
    })
    this.store.apply(at, changes, 0)
  }

  source(at: Revision = this.store.revision): LiveSource {
    const { store, wallMs, nowMs } = this
    return { snapshot: store.at(at), store, encoder, makeReader, wallMs, nowMs }
  }

  /** The answer as JSON. */
  ask(question: ViewQuestion, source: LiveSource = this.source()): unknown {
    const body = allSteps(this.views.answer(question, source))
    if (typeof body === 'string' || !('pieces' in body)) return body
    return JSON.parse(drained(body.pieces).text)
  }
}
