/** The operations of a resource, written as OpenAPI 2 or 3.
 *
 *  Parameters that all operations of a path have stand beside them, as kube-openapi puts them. In
 *  version 2, those that are the same all over are written once and named by a hash of their text.
 */

import { goJsonString } from '@watchglass/go'
import type { OpenApiSchema } from './openapi-schema.ts'
import type { SchemaSet } from './openapi-schemas.ts'
import type { OpenApiOperation, PathOperations, OpenApiShape } from './openapi-operations.ts'
import { parameterTexts } from './openapi-texts.ts'

export interface WrittenPaths {
  readonly paths: Record<string, OpenApiSchema>
  /** Shared parameters; version 2 only. */
  readonly parameters: Record<string, OpenApiSchema>
}

/** A parameter before it is written, by what tells it apart. */
interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'body'
  readonly text: string
  readonly type: string
  readonly isRequired: boolean
  readonly schema?: OpenApiSchema | undefined
}

export class PathWriter {
  readonly written: WrittenPaths = { paths: {}, parameters: {} }
  readonly #set: SchemaSet
  readonly #hasCbor: boolean
  /** Names of shared parameters, by what they say: every path has them, and a hash takes long. */
  readonly #shared = new Map<string, string>()

  constructor(set: SchemaSet, { hasCbor = false }: { readonly hasCbor?: boolean | undefined }) {
    this.#set = set
    this.#hasCbor = hasCbor
  }

  add({ path, places, operations }: PathOperations): void {
    const common = this.#common(places, operations)
    const members: Record<string, unknown> = {}
    for (const operation of operations) {
      members[operation.method] = this.#operation(operation, common, places)
    }
    const shared = this.#parameters([...common.values()])
    this.written.paths[path] = {
      ...members,
      ...(shared.length === 0 ? {} : { parameters: shared }),
    }
  }

  /** The parameters that all operations of a path have. */
  #common(
    places: Readonly<Record<string, string>>,
    operations: readonly OpenApiOperation[],
  ): Map<string, Parameter> {
    const all = operations.map(operation => this.#parametersOf(operation, places))
    const [first = new Map<string, Parameter>(), ...others] = all
    return new Map(
      [...first].filter(
        ([key, { in: place }]) => place !== 'body' && others.every(other => other.has(key)),
      ),
    )
  }

  #parametersOf(
    { query, body }: OpenApiOperation,
    places: Readonly<Record<string, string>>,
  ): Map<string, Parameter> {
    const parameters = new Map<string, Parameter>()
    const add = (parameter: Parameter): void => {
      const { name, in: place, text } = parameter
      parameters.set(`${place} ${name} ${text}`, parameter)
    }
    for (const [name, text] of Object.entries(places)) {
      add({ name, in: 'path', text, type: 'string', isRequired: true })
    }
    for (const full of query) {
      const found = parameterTexts(full, this.#set.minor)
      if (found === undefined) continue
      const [name = ''] = full.split(' ')
      add({ name, in: 'query', isRequired: false, ...found })
    }
    if (this.#set.version === 2 && body !== undefined) {
      const schema = this.#schema(body.shape)
      const { isRequired } = body
      const text = JSON.stringify(schema)
      add({ name: 'body', in: 'body', text, type: '', isRequired, schema })
    }
    return parameters
  }

  #operation(
    operation: OpenApiOperation,
    common: ReadonlyMap<string, Parameter>,
    places: Readonly<Record<string, string>>,
  ): OpenApiSchema {
    const { description, id, tag, action, kind } = operation
    const [consumes, produces] = [operation.consumes, operation.produces].map(types =>
      this.#served(types),
    )
    const own = [...this.#parametersOf(operation, places)].filter(([key]) => !common.has(key))
    const parameters = this.#parameters(own.map(([, parameter]) => parameter))
    const isVersion2 = this.#set.version === 2
    return {
      ...(isVersion2 ? {} : { tags: [tag] }),
      ...(description === '' ? {} : { description }),
      ...(isVersion2 ? media({ consumes, produces }) : {}),
      ...(isVersion2 ? { schemes: ['https'], tags: [tag] } : {}),
      operationId: id,
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(isVersion2 ? {} : this.#requestBody(operation)),
      responses: this.#responses(operation),
      ...(action === undefined ? {} : { 'x-kubernetes-action': action }),
      ...(kind === undefined
        ? {}
        : {
            'x-kubernetes-group-version-kind': {
              group: kind.group,
              version: kind.version,
              kind: kind.kind,
            },
          }),
    }
  }

  #parameters(parameters: readonly Parameter[]): OpenApiSchema[] {
    const byName = parameters.toSorted((a, b) =>
      a.name === b.name ? order(a.in, b.in) : order(a.name, b.name),
    )
    return byName.map(parameter =>
      this.#set.version === 2 ? this.#inVersion2(parameter) : inVersion3(parameter),
    )
  }

  #inVersion2(parameter: Parameter): OpenApiSchema {
    const { name, in: place, text, type, isRequired, schema } = parameter
    const required = isRequired ? { required: true } : {}
    const written: OpenApiSchema =
      schema === undefined
        ? { uniqueItems: true, type, description: text, name, in: place, ...required }
        : { name, in: place, ...required, schema }
    if (!isShared(parameter)) return written
    const said = `${place} ${name} ${type} ${String(isRequired)} ${text}`
    let key = this.#shared.get(said)
    if (key === undefined) {
      key = `${name}-${hashOf(goJson(written))}`
      this.#shared.set(said, key)
      this.written.parameters[key] = written
    }
    return { $ref: `#/parameters/${key}` }
  }

  /** CBOR is said where it is switched on. */
  #served(types: readonly string[]): readonly string[] {
    return this.#hasCbor ? types : types.filter(type => !type.includes('cbor'))
  }

  #requestBody({ body, consumes }: OpenApiOperation): OpenApiSchema {
    if (body === undefined) return {}
    const schema = this.#schema(body.shape)
    const content = Object.fromEntries(
      this.#served(consumes)
        .toSorted()
        .map(type => [type, { schema }]),
    )
    return { requestBody: { content, ...(body.isRequired ? { required: true } : {}) } }
  }

  #responses({ answers, produces }: OpenApiOperation): OpenApiSchema {
    const responses: Record<string, OpenApiSchema> = {}
    const types = this.#served(produces).toSorted()
    for (const [code, shape] of Object.entries(answers)) {
      const schema = this.#schema(shape)
      const description = descriptions[code] ?? ''
      responses[code] =
        this.#set.version === 2
          ? { description, schema }
          : {
              description,
              content: Object.fromEntries(types.map(type => [type, { schema }])),
            }
    }
    responses['401'] = { description: 'Unauthorized' }
    return responses
  }

  #schema(shape: OpenApiShape): OpenApiSchema {
    const set = this.#set
    switch (shape.of) {
      case 'text':
        return { type: 'string' }
      case 'kind':
        return set.reference(set.addKind(shape.resource))
      case 'list':
        return set.reference(set.addList(shape.resource))
      case 'type':
        return set.reference(set.addType(shape.type))
      case 'named': {
        const { group, version, kind } = shape.kind
        return set.reference(set.addBuiltIn(group, version, kind) ?? kind)
      }
    }
  }
}

const descriptions: Readonly<Record<string, string>> = {
  '200': 'OK',
  '201': 'Created',
  '202': 'Accepted',
}

/** Members that are not empty. */
function media(types: Readonly<Record<string, readonly string[] | undefined>>): OpenApiSchema {
  return Object.fromEntries(
    Object.entries(types).filter(([, list]) => list !== undefined && list.length > 0),
  )
}

function inVersion3({ name, in: place, text, type, isRequired }: Parameter): OpenApiSchema {
  return {
    name,
    in: place,
    description: text,
    ...(isRequired ? { required: true } : {}),
    schema: { type, uniqueItems: true },
  }
}

/** Parameters whose text names a kind are written where they are, and so are two that kubectl looks
 *  for. */
function isShared({ name, in: place, schema }: Parameter): boolean {
  if (place === 'body') {
    return String(schema?.['$ref']).startsWith('#/definitions/io.k8s.apimachinery')
  }
  return name !== 'name' && !(place === 'query' && ['fieldValidation', 'dryRun'].includes(name))
}

function order(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** As encoding/json writes a parameter. */
function goJson(value: unknown): string {
  if (typeof value === 'string') return goJsonString(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const members = Object.entries(value).map(([name, member]) => `"${name}":${goJson(member)}`)
  return `{${members.join(',')}}`
}

/** The first six bytes of FNV-1 with 64 bits, as base64 for URLs. */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of Buffer.from(text)) {
    hash = ((hash * 0x100000001b3n) & 0xffffffffffffffffn) ^ BigInt(byte)
  }
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(hash)
  return bytes.subarray(0, 6).toString('base64url')
}
