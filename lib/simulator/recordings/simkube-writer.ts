/** Writes traces of SimKube, version 2, as its tracer does: workloads that nobody else owns, each
 *  written again when its specification changes, and the times for which their pods have run.
 *
 *  A trace is one value, so its lists are begun before anybody knows how long they get: their
 *  lengths are written at the end, in place. */

import { createHash } from 'node:crypto'
import {
  isObject,
  type Key,
  keyFromText,
  listOf,
  objectOf,
  textOf,
  type UntypedObject,
} from '@watchglass/base'
import type { Change, KeyValue } from '@watchglass/store'
import { pack, type Packed, PackedMap, packedMap, wideListHead } from './msgpack.ts'
import { PodLifetimes } from './pod-lifetimes.ts'
import { objectIn } from './stored-objects.ts'

interface TracedKind {
  /** The start of the keys. */
  readonly keys: Key
  readonly apiVersion: string
  readonly kind: string
  /** The place of the template of their pods, as SimKube knows it for these kinds. */
  readonly template: string
}

const traced: readonly TracedKind[] = [
  ['daemonsets', 'apps/v1', 'DaemonSet', '/spec/template'],
  ['deployments', 'apps/v1', 'Deployment', '/spec/template'],
  ['replicasets', 'apps/v1', 'ReplicaSet', '/spec'],
  ['statefulsets', 'apps/v1', 'StatefulSet', '/spec/template'],
  ['cronjobs', 'batch/v1', 'CronJob', '/spec/jobTemplate/spec/template'],
  ['jobs', 'batch/v1', 'Job', '/spec/template'],
  ['pods', 'v1', 'Pod', ''],
].map(([keys = '', apiVersion = '', kind = '', template = '']) => ({
  keys: keyFromText(`/registry/${keys}/`),
  apiVersion,
  kind,
  template,
}))

/** Bytes that are written later than those around them. */
export interface Insertion {
  readonly at: number
  readonly bytes: Buffer
}

/** An object that was written and is still there. */
interface Traced {
  readonly of: TracedKind
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly hash: bigint
}

const droppedMetadata: ReadonlySet<string> = new Set([
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generation',
  'managedFields',
  'resourceVersion',
  'uid',
])
const droppedAnnotations: ReadonlySet<string> = new Set([
  'deployment.kubernetes.io/revision',
  'kubectl.kubernetes.io/last-applied-configuration',
])

export class TraceWriter {
  readonly #objects = new Map<Key, Traced>()
  /** All that were ever there, with the hash of their specification, by kind. */
  readonly #index = new Map<string, Map<string, bigint>>()
  readonly #lifetimes = new PodLifetimes()
  #startSeconds = 0
  readonly #lengths: { readonly at: number; readonly count: () => number }[] = []
  #length = 0
  #events = 0
  #baseObjects = 0
  #state: 'new' | 'in the base' | 'after it' = 'new'

  /** The bytes for a part of what there was. */
  base(entries: readonly KeyValue[], timeMs: number): Buffer {
    const parts: Buffer[] = []
    if (this.#state === 'new') parts.push(this.#begin(timeMs))
    for (const entry of entries) {
      const object = this.#applied(entry)
      if (object === undefined) continue
      this.#baseObjects++
      parts.push(this.#count(pack(object)))
    }
    return Buffer.concat(parts)
  }

  /** The bytes for changes at a time. */
  changes(changes: readonly Change[], timeMs: number): Buffer {
    const applied: Packed[] = []
    const deleted: Packed[] = []
    for (const change of changes) {
      const object =
        change.type === 'put'
          ? this.#applied(change.entry)
          : this.#deleted(change.key, secondsOf(timeMs))
      if (object !== undefined) (change.type === 'put' ? applied : deleted).push(object)
    }
    if (applied.length + deleted.length === 0) return Buffer.alloc(0)
    const start = this.#endOfBase(timeMs)
    this.#events++
    const ts = secondsOf(timeMs)
    const event = packedMap({ ts, applied_objs: applied, deleted_objs: deleted })
    return Buffer.concat([start, this.#bytes(Buffer.alloc(0), [event])])
  }

  /** The bytes at the end, and the lengths that belong before them. */
  end(timeMs: number): { readonly bytes: Buffer; readonly insertions: readonly Insertion[] } {
    const start = this.#endOfBase(timeMs)
    const index = Array.from(
      this.#index,
      ([kind, objects]) => [kind, new PackedMap([...objects])] as const,
    )
    const rest = [
      pack('index'),
      pack(new PackedMap(index)),
      pack('pod_lifecycles'),
      pack(this.#lifetimes.packed(this.#startSeconds, owner => this.#hasTraced(owner))),
    ]
    const insertions = this.#lengths.map(({ at, count }) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(count())
      return { at, bytes }
    })
    return { bytes: Buffer.concat([start, ...rest]), insertions }
  }

  /** Up to the list of objects in the first event. */
  #begin(timeMs: number): Buffer {
    this.#state = 'in the base'
    this.#events = 1
    this.#startSeconds = secondsOf(timeMs)
    const tracked = traced.map(({ apiVersion, kind, template }) => {
      const config = {
        podSpecTemplatePaths: [template],
        trackLifecycle: true,
        skipOwned: true,
      }
      return [`${apiVersion}.${kind}`, packedMap(config)] as const
    })
    const config = packedMap({ trackedObjects: new PackedMap(tracked) })
    const ts = this.#startSeconds
    return Buffer.concat([
      // Five members.
      this.#bytes(Buffer.of(0x85), ['version', 2, 'config', config, 'events']),
      this.#list(() => this.#events),
      // Three members.
      this.#bytes(Buffer.of(0x83), ['ts', ts, 'applied_objs']),
      this.#list(() => this.#baseObjects),
    ])
  }

  #endOfBase(timeMs: number): Buffer {
    if (this.#state === 'after it') return Buffer.alloc(0)
    const start = this.#state === 'new' ? this.#begin(timeMs) : Buffer.alloc(0)
    this.#state = 'after it'
    return Buffer.concat([start, this.#bytes(Buffer.alloc(0), ['deleted_objs', []])])
  }

  #list(count: () => number): Buffer {
    this.#lengths.push({ at: this.#length + 1, count })
    return this.#count(Buffer.of(wideListHead, 0, 0, 0, 0))
  }

  #bytes(head: Buffer, values: readonly Packed[]): Buffer {
    return this.#count(Buffer.concat([head, ...values.map(pack)]))
  }

  #count(bytes: Buffer): Buffer {
    this.#length += bytes.length
    return bytes
  }

  #applied(entry: KeyValue): Packed | undefined {
    const of = traced.find(({ keys }) => entry.key.startsWith(keys))
    const object = of && objectIn(entry)
    if (of === undefined || object === undefined) return undefined
    const { ownerReferences, name, namespace } = objectOf(object['metadata'])
    const kind = `${of.apiVersion}.${of.kind}`
    const fullName = `${kind} ${textOf(namespace)}/${textOf(name)}`
    if (of.kind === 'Pod') this.#lifetimes.see(entry.key, fullName, object)
    else this.#lifetimes.own(fullName, object)
    if (listOf(ownerReferences).length > 0) return undefined
    if (this.#state === 'in the base' && isFinished(object)) return undefined
    const shown = sanitized(object)
    const hash = hashOf(shown['spec'])
    if (this.#objects.get(entry.key)?.hash === hash) return undefined
    const metadata = { name: textOf(name), namespace: textOf(namespace) }
    this.#objects.set(entry.key, { of, metadata, hash })
    const names = this.#index.get(kind) ?? new Map<string, bigint>()
    this.#index.set(kind, names.set(`${metadata.namespace}/${metadata.name}`, hash))
    return packedOf(shown)
  }

  #hasTraced(owner: string): boolean {
    const [kind = '', name = ''] = owner.split(' ')
    return this.#index.get(kind)?.has(name) === true
  }

  #deleted(key: Key, seconds: number): Packed | undefined {
    this.#lifetimes.gone(key, seconds)
    const object = this.#objects.get(key)
    if (object === undefined) return undefined
    this.#objects.delete(key)
    const { apiVersion, kind } = object.of
    return packedOf({ apiVersion, kind, metadata: object.metadata })
  }
}

/** A pod that had ended before the trace began does not run again. */
function isFinished({ kind, status }: UntypedObject): boolean {
  return kind === 'Pod' && ['Succeeded', 'Failed'].includes(textOf(objectOf(status)['phase']))
}

function secondsOf(timeMs: number): number {
  return Math.floor(timeMs / 1000)
}

/** The object as SimKube's tracer keeps it: it is made anew, on other nodes. */
function sanitized(object: UntypedObject): UntypedObject {
  const metadata = objectOf(object['metadata'])
  const kept = Object.entries(metadata).filter(([name]) => !droppedMetadata.has(name))
  const annotations = Object.entries(objectOf(metadata['annotations'])).filter(
    ([name]) => !droppedAnnotations.has(name),
  )
  const shown: UntypedObject = {
    ...object,
    metadata: { ...Object.fromEntries(kept), annotations: Object.fromEntries(annotations) },
  }
  if (object['kind'] !== 'Pod') return shown
  const { nodeName, ...spec } = objectOf(object['spec'])
  void nodeName
  return { ...shown, spec }
}

/** A hash that is compared with others of its trace only. */
function hashOf(value: unknown): bigint {
  const text = JSON.stringify(value) ?? ''
  return createHash('sha256').update(text).digest().readBigUInt64BE()
}

function packedOf(value: unknown): Packed {
  if (Array.isArray(value)) return value.map(packedOf)
  if (isObject(value)) {
    return new PackedMap(Object.entries(value).map(([name, one]) => [name, packedOf(one)]))
  }
  return value as Packed
}
