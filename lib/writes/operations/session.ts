/** One write: what is written, by whom, and the services that it needs. */

import {
  ByteWriter,
  type Clock,
  type Key,
  keyFromText,
  NotExact,
  type Reader,
  type Revision,
  Slice,
  textFromKey,
} from '@watchglass/base'
import { type ObjectEncoder, type OutputForm, TooManyDefaults } from '@watchglass/codec'
import { goQuote, type JsonObject, parseTree, textFromMilliseconds } from '@watchglass/go'
import { KeyValue, noLease } from '@watchglass/store'
import {
  type ApiState,
  badRequest,
  groupVersionText,
  type Identity,
  invalidPathName,
  notExactly,
  type Resource,
  type StatusError,
  type Verb,
} from '@watchglass/kube'
import type { NumbersInUse, ServiceAllocator } from '../kinds/kind.ts'
import type { GeneratedValues } from '../generated-values.ts'
import type { WriteAccess } from '../write-access.ts'
import { metadataOf, setMeta } from '../metadata.ts'
import { storedBytes, storedInSteps } from '../stored-form.ts'
import { writeKindOf } from '../write-kinds.ts'
import { tooLarge } from '../refusals.ts'
import type { WriteKind } from '../write-kind.ts'
import type { WriteStore } from '../store.ts'

export type WriteClock = Pick<Clock, 'wallMs' | 'monotonicMs' | 'yield' | 'setTimer'>

/** The operations that are admitted. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'

/** One write of one object, as those who admit it see it. */
export interface AdmissionRequest {
  readonly session: WriteSession
  readonly operation: AdmissionOperation
  /** The object as it would be stored; undefined for a delete. Changed in place by what mutates. */
  readonly object: JsonObject | undefined
  /** The object as it is stored; undefined for a create. Nobody may change it. */
  readonly old: JsonObject | undefined
  readonly isDryRun: boolean
  /** CreateOptions, UpdateOptions (of patches, too) or DeleteOptions; a connection has none. */
  readonly options: JsonObject | undefined
}

/** The admission of writes (`admission/`). */
export interface Admission {
  /** Changes the object, or refuses it by throwing. */
  mutate(request: AdmissionRequest): Promise<void>
  /** Refuses the write by throwing. */
  validate(request: AdmissionRequest): Promise<void>
}

/** Has objects converted between the versions of a definition by its webhook
 *  (`cluster/admission/conversion`). */
export interface WriteConversions {
  /** Converts those of the objects that are stored in another version than the resource's.
   *  Undefined if none is; rejects with the Status that the client is told. */
  prepare(
    resource: Resource,
    entries: Iterable<KeyValue>,
    reader: Reader,
  ): Promise<void> | undefined
  /** The objects in another version, in their order. */
  trees(
    resource: Resource,
    trees: readonly JsonObject[],
    to: string,
  ): Promise<readonly JsonObject[]>
}

/** The services that all writes share. */
export interface WriteServices extends GeneratedValues {
  readonly store: WriteStore
  readonly clock: WriteClock
  readonly numbers: NumbersInUse
  /** Undefined: everybody may do everything. */
  readonly access?: WriteAccess | undefined
  readonly admission: Admission
  /** Undefined where no webhooks are called. */
  readonly conversions?: WriteConversions | undefined
  /** The complaint about a certificate and a key in PEM; nobody looks at them without it. */
  readonly keyPairProblem?: ((certificate: string, key: string) => string | undefined) | undefined
  /** Told of each list of other objects that a write looks at, before it does: the prefix of their
   *  keys, and the namespace or an empty text. */
  readonly onListed?: ((prefix: string, namespace: string) => void) | undefined
}

export interface SessionOptions {
  readonly state: ApiState
  readonly resource: Resource
  readonly namespace: string
  /** Empty for creates and for collections. */
  readonly name: string
  readonly subresource: string
  /** Verb of the request; `update` of what the server itself writes. */
  readonly verb?: Verb | undefined
  readonly userAgent: string
  readonly user: Identity
  readonly signal: AbortSignal
  /** Kind of the written object, if it is not one of the resource itself: a Scale. */
  readonly kind?: WriteKind | undefined
  /** The texts of another session of the same write. */
  readonly warnings?: Set<string> | undefined
}

/** The server, as the user of its own writes. */
const server: Identity = {
  user: 'system:apiserver',
  uid: '',
  groups: ['system:masters', 'system:authenticated'],
  extra: {},
}

export class WriteSession implements SessionOptions {
  readonly state: ApiState
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly verb: Verb
  readonly userAgent: string
  readonly user: Identity
  readonly signal: AbortSignal
  readonly kind: WriteKind
  readonly services: WriteServices
  /** The time of its own, shared by all that it does. Between two steps it lets other work run
   *  first if the last ones have taken long, as those of an object of a megabyte do. Nothing
   *  that was read is older for it than it may be anyway: whoever has written meanwhile is
   *  noticed when the object is stored. */
  readonly slice: Slice
  /** Texts for Warning headers, each once. */
  readonly warnings: Set<string>
  /** The name in the body of a create, for the audit log. */
  sentName = ''
  /** Annotations for the audit log. */
  readonly annotations: Map<string, string> = new Map()
  readonly #options: SessionOptions
  #encoder: ObjectEncoder | undefined

  constructor(options: SessionOptions, services: WriteServices) {
    this.#options = options
    this.state = options.state
    this.resource = options.resource
    this.namespace = options.namespace
    this.name = options.name
    this.subresource = options.subresource
    this.verb = options.verb ?? 'update'
    this.warnings = options.warnings ?? new Set()
    this.userAgent = options.userAgent
    this.user = options.user
    this.signal = options.signal
    this.services = services
    this.slice = new Slice(services.clock, undefined, options.signal)
    this.kind = options.kind ?? writeKindOf(options.resource, options.state.registry.schema)
  }

  /** A write of another object of the resource by the same request. */
  of(namespace: string, name: string): WriteSession {
    return new WriteSession({ ...this.#options, namespace, name }, this.services)
  }

  /** This write, of an object of another kind. */
  as(kind: WriteKind): WriteSession {
    return new WriteSession({ ...this.#options, kind }, this.services)
  }

  /** This write, in another version of the resource. */
  in(resource: Resource): WriteSession {
    const { warnings } = this
    return new WriteSession(
      { ...this.#options, resource, kind: undefined, warnings },
      this.services,
    )
  }

  /** A write of another object by the same request, in the same namespace. */
  to(resource: Resource, name: string): WriteSession {
    return new WriteSession({ ...this.#options, resource, name, subresource: '' }, this.services)
  }

  /** A write of the status of another object by the server itself. */
  byServer(resource: Resource, namespace: string, name: string): WriteSession {
    const { state, signal } = this
    const own = { subresource: 'status', userAgent: 'kube-apiserver', user: server }
    return new WriteSession({ state, resource, namespace, name, ...own, signal }, this.services)
  }

  /** The way to the objects of the resource: where a webhook converts them, those that are read are
   *  converted at once. */
  get store(): WriteStore {
    const { store } = this.services
    return this.conversions === undefined ? store : this.#converting(store)
  }

  /** Undefined for resources that no webhook converts. */
  get conversions(): WriteConversions | undefined {
    const isConverted = this.resource.storage?.conversion === 'webhook'
    return isConverted ? this.services.conversions : undefined
  }

  #converting(store: WriteStore): WriteStore {
    const prepared = async (entry: KeyValue | undefined): Promise<KeyValue | undefined> => {
      if (entry !== undefined) await this.#prepare([entry])
      return entry
    }
    return {
      get: async (key, signal) => prepared(await store.get(key, signal)),
      list: async (range, options, signal) => {
        const page = await store.list(range, options, signal)
        await this.#prepare(page.entries)
        return page
      },
      commit: async (change, signal) => {
        const commit = await store.commit(change, signal)
        if (commit.type === 'changed') await prepared(commit.current)
        return commit
      },
    }
  }

  /** Others are read by the same request, too: the namespace, quotas. */
  async #prepare(entries: readonly KeyValue[]): Promise<void> {
    const { conversions, resource } = this
    if (conversions === undefined) return
    const prefix = keyFromText(resource.storage?.prefix ?? '')
    const own = entries.filter(({ key }) => key.startsWith(prefix))
    await conversions.prepare(resource, own, this)
  }

  get allocator(): ServiceAllocator {
    return this.services.allocator
  }

  get numbers(): NumbersInUse {
    return this.services.numbers
  }

  get encoder(): ObjectEncoder {
    if (this.#encoder === undefined) {
      const encoder = this.state.encoderOf(this.resource)
      if (encoder instanceof NotExact) throw notExactly(this.resource, encoder)
      this.#encoder = encoder
    }
    return this.#encoder
  }

  /** The present time: RFC 3339, whole seconds. */
  get now(): string {
    return textFromMilliseconds(this.services.clock.wallMs())
  }

  warn(texts: Iterable<string>): void {
    for (const text of texts) {
      if (this.warnings.size >= warningsMax) return
      this.warnings.add(text)
    }
  }

  /** Notes something for the audit log: what comes later under a name does not count. Webhooks do
   *  so, too: what is too much is left out. */
  annotate(name: string, text: string): void {
    const isTooMuch = this.annotations.size >= annotationsMax || name.length > nameMaxLength
    if (isTooMuch || this.annotations.has(name)) return
    this.annotations.set(name, text.slice(0, textMaxLength))
  }

  /** The key of an object; refuses names that cannot be in one. */
  keyOf(name: string): Key {
    const { storage, isNamespaced } = this.resource
    const problem = invalidPathName(name)
    if (problem !== undefined) {
      throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${problem}`)
    }
    const place = isNamespaced ? `${this.namespace}/` : ''
    return keyFromText(`${storage?.prefix ?? ''}${place}${name}`)
  }

  /** The object as it is served in the version of the request. */
  treeOf(entry: KeyValue): JsonObject {
    return treeOf(this.encoder, this.resource, entry)
  }

  /** The object for a delete. One of which its definition's defaults would make too much can be
   *  deleted all the same, and so can the definition after it: what is stored is enough
   *  for that. */
  treeToDelete(entry: KeyValue): JsonObject {
    const problem = write(this.encoder, entry)
    if (problem === undefined) return writtenTree(this.resource)
    const { bytes, start, end } = entry
    const tree = problem instanceof TooManyDefaults ? parseTree(bytes, start, end) : undefined
    if (!(tree instanceof Map)) throw unreadable(this.resource, problem)
    setMeta(tree, 'resourceVersion', String(entry.modRevision))
    return tree
  }

  /** The bytes that are stored of an object. */
  bytesOf(object: JsonObject): Uint8Array {
    return storedBytes(this.resource, this.kind, object)
  }

  /** The bytes to store of an object that a webhook may have to convert first. */
  async stored(object: JsonObject): Promise<Uint8Array> {
    const { conversions, resource, kind } = this
    const storage = resource.storage
    if (conversions === undefined || storage === undefined) {
      return this.slice.take(storedInSteps(resource, kind, object))
    }
    const to = groupVersionText(storage.group, storage.version)
    const [converted = object] = await conversions.trees(resource, [bareObject(object)], to)
    return this.slice.take(storedInSteps(resource, kind, converted))
  }

  /** An entry as it is after a write, or would be after a dry run, so that it can be shown. */
  async written(key: Key, value: Uint8Array, revision: number): Promise<KeyValue> {
    const entry = entryOf(key, value, revision)
    await this.#prepare([entry])
    return entry
  }
}

/** The object as a webhook sees it: it has no resourceVersion there. */
function bareObject(object: JsonObject): JsonObject {
  const metadata = new Map(metadataOf(object))
  metadata.delete('resourceVersion')
  return new Map(object).set('metadata', metadata)
}

/** Warnings of a request: as many as there are characters for all. */
const warningsMax = 4096

/** Annotations of a request, and characters of each. */
const annotationsMax = 100
const nameMaxLength = 300
const textMaxLength = 10_000

/** A stored object as a tree, as an encoder serves it. */
export function treeOf(encoder: ObjectEncoder, resource: Resource, entry: KeyValue): JsonObject {
  const problem = write(encoder, entry)
  if (problem !== undefined) throw unreadable(resource, problem)
  return writtenTree(resource)
}

function writtenTree(resource: Resource): JsonObject {
  const tree = parseTree(scratch.bytes, 0, scratch.length)
  if (!(tree instanceof Map)) throw notExactly(resource, new NotExact('value is not an object'))
  return tree
}

/** The object in plain values, without a tree, for readers. */
export function plainOf(encoder: ObjectEncoder, resource: Resource, entry: KeyValue): unknown {
  const problem = write(encoder, entry)
  if (problem !== undefined) throw unreadable(resource, problem)
  const { buffer, byteOffset } = scratch.bytes
  return JSON.parse(Buffer.from(buffer, byteOffset, scratch.length).toString())
}

/** Why a stored object cannot be changed. What defaults make too large could not be stored. */
function unreadable(resource: Resource, problem: NotExact): StatusError {
  return problem instanceof TooManyDefaults
    ? tooLarge(`${problem.reason}: delete it, or change the definition`)
    : notExactly(resource, problem)
}

function write(encoder: ObjectEncoder, entry: KeyValue): NotExact | undefined {
  scratch.clear()
  const options = { form: plain, revision: entry.modRevision, place: 'alone' } as const
  return encoder.append(scratch, entry, options)
}

const scratch = new ByteWriter()
const plain: OutputForm = {
  encoding: 'json',
  rendering: 'object',
  renderingVersion: 'v1',
  includeObject: 'Metadata',
  now: 0,
}

/** An entry after a write, or as it would be after a dry run. */
export function entryOf(key: Key, value: Uint8Array, revision: number): KeyValue {
  return new KeyValue(
    key,
    { bytes: value, start: 0, end: value.length },
    {
      createRevision: revision as Revision,
      modRevision: revision as Revision,
      version: 1,
      lease: noLease,
    },
  )
}

/** The answers of a write. */
export type Written =
  | { readonly type: 'object'; readonly code: 200 | 201 | 202; readonly entry: KeyValue }
  /** The Scale of an object. */
  | { readonly type: 'scale'; readonly code: 200 | 201 | 202; readonly entry: KeyValue }
  /** `Success`, with details about the object. */
  | {
      readonly type: 'success'
      readonly code: 200 | 201 | 202
      /** The body has the code, too, where upstream fills it in. */
      readonly hasCode: boolean
      readonly details: SuccessDetails | undefined
    }
  /** An object that is stored nowhere, as a review is. */
  | { readonly type: 'tree'; readonly code: 200 | 201; readonly object: JsonObject }

export interface SuccessDetails {
  readonly name: string
  readonly group: string
  readonly kind: string
  readonly uid: string
}

/** The key as an error of the store has it: a dry run does not get as far as the prefix. */
export function keyInErrors(session: WriteSession, isDryRun: boolean): string {
  const key = textFromKey(session.keyOf(session.name))
  return isDryRun ? key.slice(session.state.registry.etcdPrefix.length) : key
}
