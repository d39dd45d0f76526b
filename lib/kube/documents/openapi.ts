/** OpenAPI documents without an upstream, as kube-apiserver has them: version 3, one document for
 *  each group and version, and version 2, one for all. Kinds with descriptions, and all verbs with
 *  their parameters. */

import type { Digests, Steps } from '@watchglass/base'
import { perSchema } from '@watchglass/codec'
import { openApiProtobuf } from './openapi-protobuf.ts'
import type { Registry } from '../resources/registry.ts'
import { groupVersionText, type Resource } from '../resources/resource.ts'
import { corePath, groupPath, groupsPath, ownPaths, versionPath } from './openapi-discovery.ts'
import { type PathOperations, pathsOf } from './openapi-operations.ts'
import { PathWriter } from './openapi-paths.ts'
import type { OpenApiSchema } from './openapi-schema.ts'
import { type GroupVersion, SchemaSet } from './openapi-schemas.ts'

export interface OpenApiOptions {
  readonly registry: Registry
  readonly digests: Digests
  /** As in /version: `v1.36.2`. */
  readonly gitVersion: string
  /** CBOR is served. */
  readonly hasCbor?: boolean | undefined
}

/** The documents of one registry, made when they are first asked for. They are made in steps,
 *  because all of them together would hold the event loop for too long. */
export class OpenApi {
  readonly #options: OpenApiOptions
  readonly #documents = new Map<string, string>()
  readonly #hashes = new Map<string, string>()
  /** By group and version. */
  readonly #resources: ReadonlyMap<string, readonly Resource[]>
  /** The documents of version 3, as their addresses name them. */
  readonly #names: ReadonlySet<string>
  #protobuf: Uint8Array | undefined = undefined

  constructor(options: OpenApiOptions) {
    this.#options = options
    const { resources } = options.registry
    this.#resources = byGroupVersion(resources)
    this.#names = new Set(documentNames(resources, this.#resources.keys()))
  }

  /** /openapi/v3: where the documents are. The hash in a path changes when the document does. */
  index(): Steps<string> {
    return this.#document('index', () => this.#makeIndex())
  }

  *#makeIndex(): Steps<string> {
    const paths: Record<string, OpenApiSchema> = {}
    for (const name of [...this.#names].sort()) {
      const text = yield* this.document(name)
      if (text === undefined) continue
      paths[name] = { serverRelativeURL: yield* this.url(name, text) }
      yield
    }
    return JSON.stringify({ paths })
  }

  /** /openapi/v3/NAME, as `apis/apps/v1`; undefined if there is no such document. */
  *document(name: string): Steps<string | undefined> {
    if (!this.#names.has(name)) return undefined
    const { registry, gitVersion, hasCbor } = this.#options
    const resources = this.#resourcesOf(versionOf(name))
    if (resources.some(({ custom }) => custom !== undefined)) {
      return yield* this.#document(name, () => this.#makeDocument(name))
    }
    // Definitions come and go, and what is built in stays.
    const known = builtInDocuments(registry.schema)
    const names = resources.map(({ resource }) => resource).join()
    const key = `${name} ${names} ${gitVersion} ${hasCbor}`
    const text = known.get(key) ?? (yield* this.#makeDocument(name))
    known.set(key, text)
    return text
  }

  *#makeDocument(name: string): Steps<string> {
    const ofVersion = versionOf(name)
    const kinds = [{ group: '', version: 'v1' }]
    if (ofVersion !== undefined && ofVersion.group !== '') kinds.push(ofVersion)
    const { schema } = this.#options.registry
    // Definitions are published by a server that knows no group of its own.
    const isCustom = this.#resourcesOf(ofVersion).some(({ custom }) => custom !== undefined)
    const set = new SchemaSet(schema, 3, isCustom ? undefined : kinds)
    const writer = new PathWriter(set, this.#options)
    for (const path of this.#otherPaths(name, ofVersion)) writer.add(path)
    if (ofVersion !== undefined) yield* this.#addResources(writer, this.#resourcesOf(ofVersion))
    const { paths } = writer.written
    return JSON.stringify({
      openapi: '3.0.0',
      info: this.#info(),
      paths: byName(paths),
      components: {
        ...(Object.keys(set.schemas).length === 0 ? {} : { schemas: byName(set.schemas) }),
        securitySchemes: { BearerToken: bearerToken },
      },
    })
  }

  /** The paths of a document that are not those of resources. */
  #otherPaths(name: string, ofVersion: GroupVersion | undefined): PathOperations[] {
    if (ofVersion !== undefined) {
      const { group, version } = ofVersion
      // Definitions have no path of their own for discovery.
      const isCustom = this.#resourcesOf(ofVersion).every(({ custom }) => custom !== undefined)
      return isCustom ? [] : [versionPath(group, version)]
    }
    if (name === 'api') return [corePath()]
    if (name === 'apis') return [groupsPath()]
    const own = ownPaths[name]
    return own === undefined ? [groupPath(name.split('/')[1] ?? '')] : [own]
  }

  *#addResources(writer: PathWriter, resources: readonly Resource[]): Steps<void> {
    for (const resource of resources) {
      for (const path of pathsOf(resource)) {
        writer.add(path)
        yield
      }
    }
  }

  /** /openapi/v2 */
  all(): Steps<string> {
    return this.#document('all', () => this.#makeAll())
  }

  *#makeAll(): Steps<string> {
    const { resources, schema } = this.#options.registry
    const set = new SchemaSet(schema, 2)
    const writer = new PathWriter(set, this.#options)
    for (const name of this.#names) {
      for (const path of this.#otherPaths(name, versionOf(name))) writer.add(path)
      yield
    }
    yield* this.#addResources(writer, resources)
    const { paths, parameters } = writer.written
    const start = JSON.stringify({ swagger: '2.0', info: this.#info() })
    const end = JSON.stringify({
      parameters: byName(parameters),
      securityDefinitions: { BearerToken: bearerToken },
      security: [{ BearerToken: [] }],
    })
    const tables = [
      `"paths":${yield* textOfTable(paths)}`,
      `"definitions":${yield* textOfTable(set.schemas)}`,
    ]
    return `${start.slice(0, -1)},${tables.join(',')},${end.slice(1)}`
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

  #resourcesOf(of: GroupVersion | undefined): readonly Resource[] {
    return (of && this.#resources.get(groupVersionText(of.group, of.version))) ?? []
  }

  /** Address of a document, with its hash. */
  *url(name: string, text: string): Steps<string> {
    return `/openapi/v3/${name}?hash=${yield* this.hashOf(text)}`
  }

  /** The hash of a document's bytes. Clients cache a document as long as its hash stays the same,
   *  whichever server made it. */
  *hashOf(text: string): Steps<string> {
    const hash = this.#hashes.get(text) ?? hexOf(yield* sha512(text, this.#options.digests))
    this.#hashes.set(text, hash)
    return hash
  }
}

function byGroupVersion(resources: readonly Resource[]): Map<string, Resource[]> {
  const found = new Map<string, Resource[]>()
  for (const resource of resources) {
    const name = groupVersionText(resource.group, resource.version)
    const known = found.get(name)
    if (known === undefined) found.set(name, [resource])
    else known.push(resource)
  }
  return found
}

function documentNames(resources: readonly Resource[], versions: Iterable<string>): string[] {
  const builtIn = resources.filter(({ custom }) => custom === undefined)
  const groups = new Set(builtIn.map(({ group }) => group).filter(group => group !== ''))
  return [
    'api',
    'apis',
    ...Object.keys(ownPaths),
    ...[...groups].map(group => `apis/${group}`),
    ...[...versions].map(name => (name.includes('/') ? `apis/${name}` : `api/${name}`)),
  ]
}

/** Characters that are hashed in a step, which takes about a millisecond. Two thousand definitions
 *  make a document of 53 MB. */
const hashedAtOnce = 512 * 1024

function* sha512(text: string, digests: Digests): Steps<Uint8Array> {
  const digest = digests.sha512InParts()
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + hashedAtOnce)
    if (end < text.length && isLowSurrogate(text.charCodeAt(end))) end--
    digest.add(text.slice(at, end))
    at = end
    yield
  }
  return digest.end()
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase()
}

/** The group and version that a document is about; undefined if it is another one. */
function versionOf(name: string): GroupVersion | undefined {
  const [root, group = '', version = ''] = name.split('/')
  if (root === 'api' && group !== '') return { group: '', version: group }
  return root === 'apis' && version !== '' ? { group, version } : undefined
}

/** Documents of version 3 in which nothing is custom. Bounded by what a server can be: a process
 *  answers as one version, with CBOR or without. */
const builtInDocuments = perSchema(() => new Map<string, string>())

const bearerToken = {
  description: 'Bearer Token authentication',
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
}

/** The JSON of a table by the names, an entry a step: together they are many megabytes. */
function* textOfTable(table: Readonly<Record<string, OpenApiSchema>>): Steps<string> {
  const parts: string[] = []
  for (const name of Object.keys(table).sort()) {
    parts.push(`${JSON.stringify(name)}:${JSON.stringify(table[name])}`)
    yield
  }
  return `{${parts.join(',')}}`
}

function byName(table: Readonly<Record<string, OpenApiSchema>>): OpenApiSchema {
  return Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)))
}
