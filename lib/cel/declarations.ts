/** Functions and variables that expressions may name. */

import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  opaqueOf,
  optionalOf,
  paramOf,
  stringType,
  timestampType,
  typeOfType,
  typeType,
  uintType,
} from './types.ts'
import type { Value } from './values/values.ts'

/** One of the forms of a function. */
export interface Overload {
  readonly id: string
  readonly isMember: boolean
  /** With the target of a member first. */
  readonly args: readonly CelType[]
  readonly result: CelType
  /** The names of its type variables. */
  readonly variables: readonly string[]
}

/** The action of a function on values of any types: it throws where it does not take them. */
export type Implementation = (...args: Value[]) => Value

export interface FunctionDeclaration {
  readonly name: string
  readonly overloads: readonly Overload[]
}

export type Functions = ReadonlyMap<string, FunctionDeclaration>

/** A part of the language: signatures by the name of the function, and what they do. Signatures
 *  are written `id: (int, list(A)) bool`, or `id: string.(int) string` for members. */
export interface Library {
  readonly signatures: Readonly<Record<string, readonly string[]>>
  readonly implementations: Readonly<Record<string, Implementation>>
}

/** All functions of several libraries: overloads of one name are joined. */
export function functionsOf(libraries: readonly Library[]): Functions {
  const functions = new Map<string, FunctionDeclaration>()
  for (const { signatures } of libraries) {
    for (const [name, texts] of Object.entries(signatures)) {
      const known = functions.get(name)?.overloads ?? []
      functions.set(name, { name, overloads: [...known, ...texts.map(overloadOf)] })
    }
  }
  return functions
}

function overloadOf(signature: string): Overload {
  const [id, rest] = split(signature, ': ')
  const reader = new TypeReader(rest)
  const isMember = !rest.startsWith('(')
  const target = isMember ? [reader.type()] : []
  if (isMember) reader.take('.')
  const args = [...target, ...reader.types()]
  reader.take(' ')
  const result = reader.type()
  return { id, isMember, args, result, variables: [...reader.variables] }
}

function split(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator)
  return [text.slice(0, at), text.slice(at + separator.length)]
}

const namedTypes: Readonly<Record<string, CelType>> = {
  bool: boolType,
  bytes: bytesType,
  double: doubleType,
  duration: durationType,
  dyn: dynType,
  int: intType,
  null: nullType,
  string: stringType,
  timestamp: timestampType,
  type: typeType,
  uint: uintType,
}

/** Reads the types of a signature. */
class TypeReader {
  readonly variables = new Set<string>()
  #text: string

  constructor(text: string) {
    this.#text = text
  }

  take(text: string): boolean {
    if (!this.#text.startsWith(text)) return false
    this.#text = this.#text.slice(text.length)
    return true
  }

  type(): CelType {
    const name = /^(?:net\.|kubernetes\.|authorization\.)?[\w:/]+(?:\.[\w]+)*/.exec(this.#text)?.[0]
    if (name === undefined) throw new Error(`no type: ${this.#text}`)
    this.take(name)
    const params = this.#text.startsWith('(') ? this.types() : []
    const [first = dynType, second = dynType] = params
    switch (name) {
      case 'list':
        return listOf(first)
      case 'map':
        return mapOf(first, second)
      case 'optional':
        return optionalOf(first)
      case 'type':
        return params.length === 0 ? typeType : typeOfType(first)
    }
    if (/^[A-Z]$/.test(name)) {
      this.variables.add(name)
      return paramOf(name)
    }
    return namedTypes[name] ?? opaqueOf(name)
  }

  types(): CelType[] {
    const types: CelType[] = []
    this.take('(')
    while (!this.take(')')) {
      types.push(this.type())
      this.take(', ')
    }
    return types
  }
}

/** Types that can be named in expressions. */
export const typeNames: ReadonlyMap<string, CelType> = new Map([
  ...['bool', 'bytes', 'double', 'int', 'string', 'uint'].map(
    name => [name, namedTypes[name] as CelType] as const,
  ),
  ['list', listOf(dynType)],
  ['map', mapOf(dynType, dynType)],
  ['null_type', nullType],
  ['type', typeType],
  ['google.protobuf.Timestamp', timestampType],
  ['google.protobuf.Duration', durationType],
  ['optional_type', optionalOf(dynType)],
  ...[
    'net.IP',
    'net.CIDR',
    'kubernetes.URL',
    'kubernetes.Quantity',
    'kubernetes.Semver',
    'kubernetes.NamedFormat',
  ].map(name => [name, opaqueOf(name)] as const),
])
