/** OpenAPI documents without an upstream: version 3, one document for each group and version, and
 *  version 2, one for all. They have what clients look up in them: the kinds with their fields, the
 *  selectable fields, and the paths for reads. */

import type { Steps } from '../../base/slice.ts'
import type { Digests } from '../../base/digests.ts'
import { openApiProtobuf } from './openapi-protobuf.ts'
import type { Registry } from '../resources/registry.ts'
import { type ReferencePrefix, type OpenApiSchema, SchemaSet } from './openapi-schemas.ts'
import { groupVersionText, type Resource } from '../resources/resource.ts'

export interface OpenApiOptions {
  readonly registry: Registry
  readonly digests: Digests
  /** As in /version: `v1.36.2`. */
  readonly gitVersion: string
}

/** The documents of one registry, made when they are first asked for. They are made in steps,
 *  because all of them together would hold the event loop for too long. */
export class OpenApi {
  readonly #options: OpenApiOptions
  readonly #documents = new Map<string, string>()
  readonly #hashes = new Map<string, string>()
  #protobuf: Uint8Array | undefined = undefined

  constructor(options: OpenApiOptions) {
    this.#options = options
  }

  /** /openapi/v3: where the documents are. The hash in a path changes when the document does. */
  index(): Steps<string> {
    return this.#document('index', () => this.#makeIndex())
  }

  *#makeIndex(): Steps<string> {
    const paths: Record<string, OpenApiSchema> = {}
    for (const [group, version] of this.#groupVersions()) {
      const text = yield* this.document(group, version)
      if (text === undefined) continue
      paths[documentPath(group, version)] = { serverRelativeURL: this.url(group, version, text) }
      yield
    }
    return JSON.stringify({ paths })
  }

  /** /openapi/v3/apis/GROUP/VERSION; undefined if there is no such version. */
  *document(group: string, version: string): Steps<string | undefined> {
    const resources = this.#resourcesOf(group, version)
    if (resources.length === 0) return undefined
    return yield* this.#document(`${group}/${version}`, () => this.#makeDocument(resources))
  }

  *#makeDocument(resources: readonly Resource[]): Steps<string> {
    const { schemas, paths } = yield* this.#describe(resources, '#/components/schemas/')
    return JSON.stringify({ openapi: '3.0.0', info: this.#info(), paths, components: { schemas } })
  }

  /** /openapi/v2 */
  all(): Steps<string> {
    return this.#document('all', () => this.#makeAll())
  }

  *#makeAll(): Steps<string> {
    const { schemas, paths } = yield* this.#describe(
      this.#options.registry.resources,
      '#/definitions/',
    )
    return JSON.stringify({ swagger: '2.0', info: this.#info(), paths, definitions: schemas })
  }

  #describe(resources: readonly Resource[], prefix: ReferencePrefix): Steps<Described> {
    return describe(resources, prefix, new SchemaSet(this.#options.registry.schema, prefix))
  }

  /** /openapi/v2 as protobuf. */
  *allAsProtobuf(): Steps<Uint8Array> {
    this.#protobuf ??= yield* openApiProtobuf(yield* this.all())
    return this.#protobuf
  }

  #info(): OpenApiSchema {
    return { title: 'Kubernetes', version: this.#options.gitVersion }
  }

  *#document(name: string, make: () => Steps<string>): Steps<string> {
    const text = this.#documents.get(name) ?? (yield* make())
    this.#documents.set(name, text)
    return text
  }

  #resourcesOf(group: string, version: string): Resource[] {
    return this.#options.registry.resources.filter(
      resource => resource.group === group && resource.version === version,
    )
  }

  #groupVersions(): [string, string][] {
    const found = new Map<string, [string, string]>()
    for (const { group, version } of this.#options.registry.resources) {
      found.set(groupVersionText(group, version), [group, version])
    }
    return [...found.values()]
  }

  /** Address of a version's document, with its hash. */
  url(group: string, version: string, text: string): string {
    return `/openapi/v3/${documentPath(group, version)}?hash=${this.hashOf(text)}`
  }

  /** The hash of a document's bytes. Clients cache a document as long as its hash stays the same,
   *  whichever server made it. */
  hashOf(text: string): string {
    const { digests } = this.#options
    const hash = this.#hashes.get(text) ?? hexOf(digests.sha512(text))
    this.#hashes.set(text, hash)
    return hash
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase()
}

/** The path of a version's document below /openapi/v3/. */
function documentPath(group: string, version: string): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`
}

interface Described {
  readonly schemas: OpenApiSchema
  readonly paths: OpenApiSchema
}

function* describe(
  resources: readonly Resource[],
  prefix: ReferencePrefix,
  set: SchemaSet,
): Steps<Described> {
  const paths: Record<string, OpenApiSchema> = {}
  for (const resource of resources) {
    const { object, list } = set.addResource(resource)
    const answer = (name: string): OpenApiSchema => responses(prefix, set.reference(name))
    const collection = collectionPath(resource)
    if (resource.verbs.includes('list')) {
      paths[collection] = operation(resource, 'list', answer(list))
      if (resource.isNamespaced) {
        paths[everywherePath(resource)] = operation(resource, 'list', answer(list))
      }
    } else {
      paths[collection] = { ...kindOf(resource), post: { ...kindOf(resource), ...answer(object) } }
    }
    if (resource.verbs.includes('get')) {
      paths[`${collection}/{name}`] = operation(resource, 'get', answer(object))
    }
    yield
  }
  return { schemas: set.schemas, paths }
}

function responses(prefix: ReferencePrefix, schema: OpenApiSchema): OpenApiSchema {
  const content =
    prefix === '#/definitions/' ? { schema } : { content: { 'application/json': { schema } } }
  return { responses: { '200': { description: 'OK', ...content } } }
}

function operation(resource: Resource, action: string, answer: OpenApiSchema): OpenApiSchema {
  return {
    get: { ...answer, 'x-kubernetes-action': action, ...kindOf(resource) },
    ...kindOf(resource),
  }
}

function kindOf({ group, version, kind }: Resource): OpenApiSchema {
  return { 'x-kubernetes-group-version-kind': { group, kind, version } }
}

function everywherePath({ group, version, resource }: Resource): string {
  return `/${documentPath(group, version)}/${resource}`
}

function collectionPath(resource: Resource): string {
  const root = `/${documentPath(resource.group, resource.version)}`
  return resource.isNamespaced
    ? `${root}/namespaces/{namespace}/${resource.resource}`
    : `${root}/${resource.resource}`
}
