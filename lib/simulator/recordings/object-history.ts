/** A history of objects as one of keys and values: objects as clients see them become what
 *  kube-apiserver would have stored, each change at a revision of its own. It stands between the
 *  recordings of other tools and an etcd that is filled with them. */

import { createHash } from 'node:crypto'
import {
  CacheError,
  type Key,
  keyFromText,
  knownRevision,
  objectOf,
  type Revision,
  textOf,
  type UntypedObject,
} from '@watchglass/base'
import { type JsonObject, type JsonValue, textFromMilliseconds } from '@watchglass/go'
import { type Schema, schemaOf } from '@watchglass/codec'
import {
  builtInResources,
  customDefinition,
  defaultEtcdPrefix,
  groupVersionText,
  type Resource,
  StatusError,
} from '@watchglass/kube'
import { type Change, KeyValue } from '@watchglass/store'
import {
  completeBuiltIn,
  DecodeError,
  decodeTyped,
  jsonBody,
  storedBytes,
  type WriteKind,
  writeKindOf,
} from '@watchglass/writes'

/** All changes of one revision, or all that there was at the beginning. */
export interface HistoryStep {
  readonly revision: Revision
  readonly changes: readonly Change[]
  readonly isBase: boolean
  readonly timeMs: number | undefined
}

/** An object that is there. */
interface Known {
  readonly entry: KeyValue
  /** As the recording has it, JSON. */
  readonly json: string
  readonly metadata: UntypedObject
}

export interface RecordedPlace {
  readonly resource: Resource
  readonly key: Key
}

const reasonsMax = 100

export class ObjectHistory {
  readonly #schema: Schema = schemaOf()
  /** By `apps/v1 Deployment`. */
  readonly #byKind = new Map<string, Resource>()
  /** By `apps/v1 deployments`. */
  readonly #byPlural = new Map<string, Resource>()
  readonly #known = new Map<Key, Known>()
  /** Reasons for which something was left out, and how often. */
  readonly leftOut: Map<string, number> = new Map()
  #revision = 1

  constructor() {
    for (const resource of builtInResources(this.#schema)) this.#declare(resource)
  }

  /** The place of an object; undefined if its kind is not known, or it has no name. */
  placeOf(object: unknown): RecordedPlace | undefined {
    const { apiVersion, kind, metadata } = objectOf(object)
    const { name, namespace } = objectOf(metadata)
    const resource = this.#byKind.get(`${textOf(apiVersion)} ${textOf(kind)}`)
    if (resource === undefined) {
      return this.leaveOut(`the kind ${textOf(kind)} of ${textOf(apiVersion)} is not known`)
    }
    return this.#placeIn(resource, textOf(namespace), textOf(name))
  }

  /** Whether objects of a kind can be stored: a definition that comes later may make it known. */
  isKnown({ apiVersion, kind }: UntypedObject): boolean {
    return this.#byKind.has(`${textOf(apiVersion)} ${textOf(kind)}`)
  }

  /** The place of an object of a resource, such as `deployments` of `apps/v1`. */
  placeNamed(
    { apiVersion, plural }: { readonly apiVersion: string; readonly plural: string },
    namespace: string,
    name: string,
  ): RecordedPlace | undefined {
    const resource = this.#byPlural.get(`${apiVersion} ${plural}`)
    if (resource !== undefined) return this.#placeIn(resource, namespace, name)
    return this.leaveOut(`the resource ${plural} of ${apiVersion} is not known`)
  }

  /** The object as the recording has it so far, JSON; undefined if it is not there. */
  jsonAt({ key }: RecordedPlace): string | undefined {
    return this.#known.get(key)?.json
  }

  typeOf({ resource }: RecordedPlace): WriteKind['type'] {
    return writeKindOf(resource, this.#schema).type
  }

  /** Stores an object. Undefined if it cannot be, which is noted. */
  put({ resource, key }: RecordedPlace, object: UntypedObject, timeMs: number): Change | undefined {
    const before = this.#known.get(key)
    const revision = knownRevision(this.#revision + 1)
    const metadata = metadataOf(object, { key, resource, before: before?.metadata, timeMs })
    const value = this.#stored(resource, { ...object, metadata })
    if (value === undefined) return undefined
    this.#revision = revision
    const entry = new KeyValue(
      key,
      { bytes: value, start: 0, end: value.length },
      {
        createRevision: before?.entry.createRevision ?? revision,
        modRevision: revision,
        version: (before?.entry.version ?? 0) + 1,
        lease: 0n,
      },
    )
    this.#known.set(key, { entry, json: JSON.stringify(object), metadata })
    if (resource.resource === 'customresourcedefinitions') this.#define(entry)
    return { type: 'put', entry }
  }

  /** Deletes an object; undefined if there is none. */
  delete({ key }: RecordedPlace): Change | undefined {
    if (!this.#known.delete(key)) return undefined
    this.#revision++
    return { type: 'delete', key }
  }

  /** The step of a change that was just made. */
  step(change: Change, timeMs: number): HistoryStep {
    return { revision: knownRevision(this.#revision), changes: [change], isBase: false, timeMs }
  }

  /** All that there is now, as the base of what follows; undefined if there is nothing. */
  base(): HistoryStep | undefined {
    if (this.#known.size === 0) return undefined
    const changes = Array.from(this.#known.values(), ({ entry }): Change => ({
      type: 'put',
      entry,
    }))
    // A base is told from a first change by what is older than it.
    this.#revision++
    return { revision: knownRevision(this.#revision), changes, isBase: true, timeMs: undefined }
  }

  /** Notes why something is left out. */
  leaveOut(reason: string): undefined {
    const count = this.leftOut.get(reason) ?? 0
    if (count > 0 || this.leftOut.size < reasonsMax) this.leftOut.set(reason, count + 1)
    return undefined
  }

  #placeIn(resource: Resource, namespace: string, name: string): RecordedPlace | undefined {
    const { storage, isNamespaced, kind } = resource
    if (storage === undefined) return this.leaveOut(`the kind ${kind} is not stored`)
    const place = isNamespaced ? `${namespace}/` : ''
    const isWhole = name !== '' && (namespace !== '' || !isNamespaced)
    // A key must not reach into another place.
    if (!isWhole || `${name}${namespace}`.includes('/')) {
      return this.leaveOut(`an object of the kind ${kind} has no name or namespace`)
    }
    return { resource, key: keyFromText(`${storage.prefix}${place}${name}`) }
  }

  #stored(resource: Resource, object: UntypedObject): Uint8Array | undefined {
    const kind = writeKindOf(resource, this.#schema)
    try {
      return storedBytes(resource, kind, treeOf(kind, JSON.stringify(object)))
    } catch (error) {
      const isKnown = [StatusError, DecodeError, CacheError].some(one => error instanceof one)
      if (!isKnown) throw error
      const { message } = error as Error
      return this.leaveOut(`an object of the kind ${resource.kind} cannot be stored: ${message}`)
    }
  }

  #define(entry: KeyValue): void {
    const { resources } = customDefinition(entry, defaultEtcdPrefix)
    for (const resource of resources) this.#declare(resource)
  }

  #declare(resource: Resource): void {
    const apiVersion = groupVersionText(resource.group, resource.version)
    this.#byKind.set(`${apiVersion} ${resource.kind}`, resource)
    this.#byPlural.set(`${apiVersion} ${resource.resource}`, resource)
  }
}

function treeOf(kind: WriteKind, json: string): JsonObject {
  const document = jsonBody(Buffer.from(json))
  const { type } = kind
  if (type !== undefined) {
    return completeBuiltIn(decodeTyped(document, type).object, { ...kind, type })
  }
  const value: JsonValue = document.value
  return value instanceof Map ? value : new Map()
}

/** Metadata with what every stored object has: recordings that leave it out are those of tools that
 *  create their objects anew. */
function metadataOf(
  object: UntypedObject,
  {
    key,
    resource,
    before,
    timeMs,
  }: {
    readonly key: Key
    readonly resource: Resource
    readonly before: UntypedObject | undefined
    readonly timeMs: number
  },
): UntypedObject {
  const metadata = objectOf(object['metadata'])
  const generation = typeof before?.['generation'] === 'number' ? before['generation'] + 1 : 1
  const time = textFromMilliseconds(Math.floor(timeMs / 1000) * 1000)
  return {
    ...(resource.group === '' || metadata['uid'] !== undefined ? {} : { generation }),
    ...metadata,
    uid: metadata['uid'] ?? before?.['uid'] ?? uidOf(`${key} ${String(timeMs)}`),
    creationTimestamp: metadata['creationTimestamp'] ?? before?.['creationTimestamp'] ?? time,
  }
}

/** Always the same for the same text. */
function uidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return [...parts, hex.slice(20, 32)].join('-')
}
