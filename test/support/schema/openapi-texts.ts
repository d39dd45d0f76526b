/** Makes lib/kube/documents/openapi-texts.json: what a kube-apiserver says of its API in OpenAPI and
 *  what does not follow from the schema of its objects.
 *
 *      npm run regenerate:openapi -- MINOR=FOLDER...
 *
 *  A folder holds the answers of a kube-apiserver of that minor to /openapi/v3/..., one file each. A
 *  text that several minors share stands once; one that only some have says since when and until
 *  when. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, listOf, objectOf, type UntypedObject } from '../../../lib/base/untyped.ts'
import { schemaOf, type MessageField, type MessageType } from '../../../lib/codec/schema/schema.ts'
import { schemaName, specialTypes } from '../../../lib/kube/documents/openapi-schemas.ts'
import type { Rows, TextsFile, TypeTexts } from '../../../lib/kube/documents/openapi-texts.ts'

/** Parameters that older minors lack, for when none of those was recorded. */
const newParameters: Readonly<Record<string, string>> = { shardSelector: '1.36' }

interface Server {
  readonly minor: string
  readonly schemas: ReadonlyMap<string, UntypedObject>
  readonly parameters: ReadonlyMap<string, UntypedObject>
}

const servers = process.argv.slice(2).map(text => {
  const [minor = '', folder = ''] = text.split('=')
  return readServer(minor, folder)
})
if (servers.length === 0) {
  process.stderr.write('usage: npm run regenerate:openapi -- MINOR=FOLDER...\n')
  process.exit(2)
}
const minors = servers.map(({ minor }) => minor)

const types: Record<string, TypeTexts> = {}
const names = new Set(servers.flatMap(({ minor }) => [...schemaOf(minor).messageTypeNames()]))
for (const name of names) {
  const texts = typeTexts(name)
  if (texts !== undefined) types[name] = texts
}
for (const [name, { name: full }] of Object.entries(specialTypes)) {
  const description = rowsOf(server => server.schemas.get(full)?.['description'])
  if (description !== undefined) types[name] = { d: description }
}
const file: TextsFile = { parameters: parameterTexts(), types }
writeFileSync('lib/kube/documents/openapi-texts.json', written(file))

function readServer(minor: string, folder: string): Server {
  const schemas = new Map<string, UntypedObject>()
  const parameters = new Map<string, UntypedObject>()
  for (const name of readdirSync(folder)) {
    const document = objectOf(JSON.parse(readFileSync(join(folder, name), 'utf8')))
    const found = objectOf(objectOf(document['components'])['schemas'])
    for (const [key, schema] of Object.entries(found)) schemas.set(key, objectOf(schema))
    for (const [path, member] of Object.entries(objectOf(document['paths']))) {
      const operations = Object.values(objectOf(member)).filter(isObject)
      for (const found of [objectOf(member), ...operations]) {
        const action = found['x-kubernetes-action'] ?? operations[0]?.['x-kubernetes-action']
        for (const parameter of listOf(found['parameters']).map(objectOf)) {
          if (parameter['in'] !== 'query') continue
          parameters.set(fullName(String(parameter['name']), path, action), parameter)
        }
      }
    }
  }
  return { minor, schemas, parameters }
}

/** The name of a parameter, with what tells apart those of one name. */
function fullName(name: string, path: string, action: unknown): string {
  const subresource = path.split('/{name}/')[1]
  switch (name) {
    case 'fieldManager':
      return `${name} ${action === 'patch' ? 'patch' : 'create'}`
    case 'container':
    case 'stderr':
    case 'stdin':
    case 'stdout':
    case 'tty':
      return `${name} ${subresource}`
    case 'path':
      return `${name} ${path.split('/{name}/')[0]?.split('/').at(-1)}`
    default:
      return name
  }
}

/** What is said of one message type; undefined if no server describes it. */
function typeTexts(name: string): TypeTexts | undefined {
  const full = schemaName(name)
  const described = servers.filter(server => server.schemas.has(full))
  if (described.length === 0) return undefined
  const texts: Record<string, Rows> = {}
  const defaults: Record<string, unknown> = {}
  const enums: Record<string, readonly unknown[]> = {}
  const flipped = new Set<string>()
  for (const { minor, schemas } of described) {
    const properties = objectOf(schemas.get(full)?.['properties'])
    const required = listOf(schemas.get(full)?.['required'])
    const type = schemaOf(minor).findMessageType(name)
    for (const field of fieldsOf(type)) {
      const { jsonName } = field
      const property = objectOf(properties[jsonName])
      texts[jsonName] ??= rowsOf(
        server =>
          objectOf(objectOf(server.schemas.get(full)?.['properties'])[jsonName])['description'],
      )!
      if (texts[jsonName] === undefined) delete texts[jsonName]
      if (required.includes(jsonName) === field.isOmittedWhenEmpty) flipped.add(jsonName)
      const inner = property['items'] ?? property['additionalProperties']
      const values = listOf(property['enum'] ?? objectOf(inner)['enum'])
      if (values.length > 0) enums[jsonName] = values
      const value = property['default']
      if (value !== undefined && isOfItsOwn(value, field)) defaults[jsonName] = value
    }
  }
  const last = described.at(-1)?.schemas.get(full)
  return {
    ...optional(
      'd',
      rowsOf(server => server.schemas.get(full)?.['description']),
    ),
    ...optional('f', Object.keys(texts).length === 0 ? undefined : texts),
    ...optional('r', flipped.size === 0 ? undefined : [...flipped]),
    ...optional('x', Object.keys(defaults).length === 0 ? undefined : defaults),
    ...optional('e', Object.keys(enums).length === 0 ? undefined : enums),
    ...optional('u', last?.['x-kubernetes-unions']),
  }
}

/** Whether a default is another than the zero of the field's type. */
function isOfItsOwn(value: unknown, { isOmittedWhenEmpty, isPointer }: MessageField): boolean {
  const isZero = value === '' || value === 0 || value === false || JSON.stringify(value) === '{}'
  return !isZero || (isOmittedWhenEmpty && JSON.stringify(value) !== '{}') || isPointer
}

function* fieldsOf(type: MessageType | undefined): Iterable<MessageField> {
  for (const field of type?.fields ?? []) {
    const inner = field.isInline ? type?.schema.findMessageType(field.type) : undefined
    if (inner === undefined) yield field
    else yield* fieldsOf(inner)
  }
}

function parameterTexts(): Record<string, readonly [type: string, rows: Rows]> {
  const texts: Record<string, readonly [type: string, rows: Rows]> = {}
  const all = new Set(servers.flatMap(({ parameters }) => [...parameters.keys()]))
  for (const name of [...all].sort()) {
    const found = servers.find(({ parameters }) => parameters.has(name))?.parameters.get(name)
    const described = rowsOf(server => server.parameters.get(name)?.['description'], 'asked for')
    const since = newParameters[name]
    const rows =
      since !== undefined && typeof described === 'string'
        ? [{ text: described, since }]
        : described
    const type = objectOf(found?.['schema'])['type']
    if (typeof type === 'string' && rows !== undefined) texts[name] = [type, rows]
  }
  return texts
}

/** One text for all minors, or rows for some each. Servers are in the order of their minors.
 *  @param others whether it is asked for in minors that do not have it */
function rowsOf(
  text: (server: Server) => unknown,
  others: 'asked for' | 'not asked for' = 'not asked for',
): Rows | undefined {
  const rows: [text: string, since: number, until: number][] = []
  for (const [place, server] of servers.entries()) {
    const found = text(server)
    if (typeof found !== 'string') continue
    const last = rows.at(-1)
    if (last?.[0] === found) last[2] = place
    else rows.push([found, place, place])
  }
  const [only] = rows
  if (only === undefined) return undefined
  const isInAll = only[1] === 0 && only[2] === servers.length - 1
  if (isInAll || (rows.length === 1 && others === 'not asked for')) return only[0]
  return rows.map(([found, since, until]) => ({
    text: found,
    ...(since === 0 ? {} : { since: minors[since]! }),
    ...(until === minors.length - 1 ? {} : { until: minors[until]! }),
  }))
}

function optional<Name extends string, T>(name: Name, value: T | undefined): { [K in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [K in Name]?: T }
}

/** One line for each type, so that differences can be read. */
function written({ parameters, types: all }: TextsFile): string {
  const lines = (table: object): string =>
    Object.entries(table)
      .map(([key, row]) => `${JSON.stringify(key)}:${JSON.stringify(row)}`)
      .join(',\n')
  return `{\n"parameters":{\n${lines(parameters)}\n},\n"types":{\n${lines(all)}\n}\n}\n`
}
