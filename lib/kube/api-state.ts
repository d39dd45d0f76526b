/** The state of the API at one moment: which resources exist, their discovery documents, and how
 *  their objects are written. A new state is made whenever a definition changes, so that a request
 *  sees one state from its beginning to its end. */

import {
  type ConvertedObjects,
  createSelectableReader,
  CustomKind,
  customKindOf,
  ObjectEncoder,
  type Schema,
  type SelectableField,
  type SelectableReader,
} from '@watchglass/codec'
import { type Digests, NotExact } from '@watchglass/base'
import { Discovery } from './documents/discovery.ts'
import type { MakeReader } from './selectors/filter.ts'
import { OpenApi } from './documents/openapi.ts'
import type { Registry } from './resources/registry.ts'
import { groupVersionText, type Resource } from './resources/resource.ts'
import type { KeyValue } from '@watchglass/store'

export interface ApiStateOptions {
  readonly registry: Registry
  /** HOST:PORT for clients that ask where the server is. */
  readonly serverAddress: string
  readonly digests: Digests
  /** CBOR is served, which OpenAPI says. */
  readonly hasCbor?: boolean | undefined
  /** The stored CustomResourceDefinition of that name. */
  readonly definitionOf: (name: string) => KeyValue | undefined
  /** The objects that conversion webhooks have made. */
  readonly converted: ConvertedObjects
}

export class ApiState {
  readonly registry: Registry
  readonly discovery: Discovery
  readonly openApi: OpenApi
  readonly #options: ApiStateOptions
  readonly #customKinds = new Map<string, CustomKind | NotExact>()
  readonly #configuredKinds = new Map<Resource, CustomKind>()
  readonly #encoders = new Map<Resource, ObjectEncoder | NotExact>()
  readonly #otherEncoders = new Map<Schema, Map<Resource, ObjectEncoder | NotExact>>()
  readonly #readers = new Map<Resource, Map<string, SelectableReader>>()

  /** The stored CustomResourceDefinition of a resource; undefined for what has none. */
  definitionOf({ custom }: Resource): KeyValue | undefined {
    const name = custom?.definition
    return name === undefined ? undefined : this.#options.definitionOf(name)
  }

  constructor(options: ApiStateOptions) {
    const { registry, serverAddress, digests, hasCbor } = options
    this.#options = options
    this.registry = registry
    this.discovery = new Discovery({ registry, digests, serverAddress })
    const { gitVersion } = JSON.parse(this.discovery.version()) as { gitVersion: string }
    this.openApi = new OpenApi({ registry, digests, gitVersion, hasCbor })
  }

  /** Reads labels and fields, for selectors and indexes. Readers are shared, because thousands of
   *  watches may need the same one. */
  readonly makeReader: MakeReader = (resource, fields, needsLabels) => {
    const name = `${needsLabels} ${fields.map(({ label }) => label).join(' ')}`
    let readers = this.#readers.get(resource)
    if (readers === undefined) this.#readers.set(resource, (readers = new Map()))
    const known = readers.get(name) ?? this.#createReader(resource, fields, needsLabels)
    // Beyond the limit, new combinations of fields get readers that are not kept.
    if (readers.size < readersMax) readers.set(name, known)
    return known
  }

  #createReader(
    resource: Resource,
    fields: readonly SelectableField[],
    needsLabels: boolean,
  ): SelectableReader {
    const { version, storage } = resource
    const custom = this.#customKindOf(resource)
    if (custom instanceof NotExact) return unreadable(custom)
    if (storage === undefined) return unreadable(new NotExact('the resource is not stored'))
    const apiVersion = groupVersionText(storage.group, storage.version)
    const stored = { apiVersion, kind: storage.kind }
    const { schema } = this.registry
    const learned = resource.learned?.objectsOf({ ...resource, storage })
    const kind = { schema, version, stored, custom, learned }
    return createSelectableReader(kind, fields, needsLabels)
  }

  /** Takes over what another state has made of resources that are the same in both: making it
   *  costs as much as writing hundreds of objects. */
  adopt(other: ApiState): void {
    if (other.registry.schema !== this.registry.schema) return
    for (const resource of this.registry.resources) {
      const { group, version, custom } = resource
      if (other.registry.find(group, version, resource.resource) !== resource) continue
      const encoder = other.#encoders.get(resource)
      if (encoder !== undefined) this.#encoders.set(resource, encoder)
      const readers = other.#readers.get(resource)
      if (readers !== undefined) this.#readers.set(resource, readers)
      const kind = other.#customKinds.get(custom?.definition ?? '')
      if (kind !== undefined) this.#customKinds.set(custom?.definition ?? '', kind)
    }
  }

  /** Encoder of a stored resource's objects. Made when it is first needed, because making one for a
   *  custom resource costs as much as writing hundreds of objects. */
  encoderOf(resource: Resource): ObjectEncoder | NotExact {
    const known = this.#encoders.get(resource)
    if (known !== undefined) return known
    const encoder = this.#makeEncoder(resource, this.registry.schema)
    this.#encoders.set(resource, encoder)
    return encoder
  }

  /** The encoder as another minor version would write them. */
  encoderAs(resource: Resource, schema: Schema): ObjectEncoder | NotExact {
    if (schema === this.registry.schema) return this.encoderOf(resource)
    const encoders =
      this.#otherEncoders.get(schema) ?? new Map<Resource, ObjectEncoder | NotExact>()
    this.#otherEncoders.set(schema, encoders)
    const encoder = encoders.get(resource) ?? this.#makeEncoder(resource, schema)
    encoders.set(resource, encoder)
    return encoder
  }

  #makeEncoder(resource: Resource, schema: Schema): ObjectEncoder | NotExact {
    const { storage } = resource
    if (storage === undefined) return new NotExact('the resource is not stored')
    const custom = this.#customKindOf(resource)
    if (custom instanceof NotExact) return custom
    return new ObjectEncoder({ ...resource, storage, schema }, custom)
  }

  /** Kind of a definition's objects, or of a configured resource's; undefined for what is built
   *  in. */
  #customKindOf(resource: Resource): CustomKind | NotExact | undefined {
    if (resource.custom === undefined) return undefined
    const { definition: name, definedAt } = resource.custom
    if (name === undefined) return this.#configuredKindOf(resource)
    const kind = this.#customKinds.get(name) ?? this.#readDefinition(name, definedAt)
    this.#customKinds.set(name, kind)
    return kind
  }

  /** Its objects are served with everything that is stored in them. */
  #configuredKindOf(resource: Resource): CustomKind {
    const { group, version, kind, storage } = resource
    const names = new Set([version, storage?.version ?? version])
    const known = this.#configuredKinds.get(resource)
    const found =
      known ??
      new CustomKind({
        group,
        kind,
        versions: [...names].map(name => ({ name, schema: undefined })),
        preservesUnknownFields: true,
        conversion: 'none',
      })
    this.#configuredKinds.set(resource, found)
    return found
  }

  #readDefinition(name: string, definedAt: number): CustomKind | NotExact {
    const definition = this.#options.definitionOf(name)
    if (definition === undefined) return new NotExact('it is not defined')
    const { converted } = this.#options
    return customKindOf(definition, (stored, apiVersion) =>
      converted.find(stored, { definedAt, apiVersion }),
    )
  }
}

/** The most readers that are kept for one resource. */
const readersMax = 100

/** A reader for objects that cannot be read. */
function unreadable(problem: NotExact): SelectableReader {
  return { read: () => problem, label: () => undefined, eachLabel: () => {}, field: () => '' }
}
