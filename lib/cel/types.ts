/** The types that the checker knows, as cel-go prints them in its errors, and which of them may
 *  stand where another is expected. */

export type TypeKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint'

/** Types that are larger are refused: a short expression can double one in each step. */
const typeMaxSize = 5_000

export class TypeTooLarge extends Error {}

export class CelType {
  readonly kind: TypeKind
  readonly name: string
  readonly params: readonly CelType[]
  /** The fields of an object, by their escaped names. */
  readonly fields: ReadonlyMap<string, CelType> | undefined
  /** Types in it and itself. */
  readonly size: number

  constructor(
    kind: TypeKind,
    name: string,
    params: readonly CelType[] = [],
    fields?: ReadonlyMap<string, CelType>,
  ) {
    this.kind = kind
    this.name = name
    this.params = params
    this.fields = fields
    this.size = params.reduce((sum, param) => sum + param.size, 1)
    if (this.size > typeMaxSize) throw new TypeTooLarge('a type is too large')
  }

  /** As cel-go writes it. */
  get text(): string {
    if (this.kind === 'error') return '!error!'
    if (this.params.length === 0) return this.name
    return `${this.name}(${this.params.map(({ text }) => text).join(', ')})`
  }

  /** As cel-go names the type of what an expression makes. */
  get runtimeText(): string {
    const name = runtimeNames[this.kind === 'dyn' ? this.name : this.kind] ?? this.name
    if (this.params.length === 0) return name
    return `${name}(${this.params.map(({ runtimeText }) => runtimeText).join(', ')})`
  }

  isExactly(other: CelType): boolean {
    if (this === other) return true
    return (
      this.kind === other.kind &&
      this.name === other.name &&
      this.params.length === other.params.length &&
      this.params.every((param, i) => param.isExactly(other.params[i] as CelType))
    )
  }
}

const runtimeNames: Partial<Record<string, string>> = {
  any: 'google.protobuf.Any',
  duration: 'google.protobuf.Duration',
  null: 'null_type',
  timestamp: 'google.protobuf.Timestamp',
}

const plain = (kind: TypeKind, name: string = kind): CelType => new CelType(kind, name)

export const boolType: CelType = plain('bool')
export const bytesType: CelType = plain('bytes')
export const doubleType: CelType = plain('double')
export const durationType: CelType = plain('duration')
export const dynType: CelType = plain('dyn')
export const errorType: CelType = plain('error')
export const intType: CelType = plain('int')
export const nullType: CelType = plain('null')
export const stringType: CelType = plain('string')
export const timestampType: CelType = plain('timestamp')
export const typeType: CelType = plain('type')
export const uintType: CelType = plain('uint')

export function listOf(item: CelType): CelType {
  return new CelType('list', 'list', [item])
}

export function mapOf(key: CelType, value: CelType): CelType {
  return new CelType('map', 'map', [key, value])
}

export function typeOfType(type: CelType): CelType {
  return new CelType('type', 'type', [type])
}

export function optionalOf(type: CelType): CelType {
  return new CelType('opaque', 'optional_type', [type])
}

export function paramOf(name: string): CelType {
  return new CelType('param', name)
}

/** A type of a library, as `net.IP`. */
export function opaqueOf(name: string): CelType {
  return new CelType('opaque', name)
}

export function isOptional(type: CelType): boolean {
  return type.kind === 'opaque' && type.name === 'optional_type'
}

export function isDynOrError({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error'
}

/** The first parameter: the item of a list, the value of an optional. */
export function firstParam(type: CelType): CelType {
  return type.params[0] ?? dynType
}

/** The signature in an error: `(int, string)`, `string.(int)`. */
export function signatureText(types: readonly CelType[], isMember: boolean): string {
  const [first, ...rest] = types
  if (!isMember || first === undefined) return `(${textsOf(types)})`
  return `${first.text}.(${textsOf(rest)})`
}

function textsOf(types: readonly CelType[]): string {
  return types.map(({ text }) => text).join(', ')
}

/** The types that variables of types stand for. What a failed try has noted is taken back. */
export class Substitutions {
  readonly #types = new Map<string, CelType>()
  readonly #changes: (readonly [string, CelType | undefined])[] = []

  find(type: CelType): CelType | undefined {
    return type.kind === 'param' ? this.#types.get(type.name) : undefined
  }

  add(from: CelType, to: CelType): void {
    this.#changes.push([from.name, this.#types.get(from.name)])
    this.#types.set(from.name, to)
  }

  /** Returns true and keeps what was noted if all types fit. */
  fit(types: readonly CelType[], expected: readonly CelType[]): boolean {
    const { length } = this.#changes
    const fits =
      types.length === expected.length &&
      types.every((type, i) => this.#isAssignable(type, expected[i] as CelType))
    if (fits) return true
    while (this.#changes.length > length) {
      const [name, before] = this.#changes.pop() as readonly [string, CelType | undefined]
      if (before === undefined) this.#types.delete(name)
      else this.#types.set(name, before)
    }
    return false
  }

  /** The type with all variables replaced; those that are open become dyn if `isFinal`. */
  replace(type: CelType, isFinal: boolean): CelType {
    const found = this.find(type)
    if (found !== undefined) return this.replace(found, isFinal)
    if (type.kind === 'param') return isFinal ? dynType : type
    if (type.params.length === 0) return type
    const params = type.params.map(param => this.replace(param, isFinal))
    const isSame = params.every((param, i) => param === type.params[i])
    return isSame ? type : new CelType(type.kind, type.name, params, type.fields)
  }

  #isAssignable(a: CelType, b: CelType): boolean {
    if (b.kind === 'param') {
      const [isValid, isKnown] = this.#stands(a, b)
      if (isValid) return true
      if (isKnown) return false
    }
    if (a.kind === 'param') return this.#stands(b, a)[0]
    if (isDynOrError(a) || isDynOrError(b)) return true
    if (a.kind === 'null') return isNullable(b)
    if (b.kind === 'null') return isNullable(a)
    if (a.kind !== b.kind) return false
    if (a.kind === 'type') return true
    return (
      a.name === b.name &&
      a.params.length === b.params.length &&
      a.params.every((param, i) => this.#isAssignable(param, b.params[i] as CelType))
    )
  }

  /** True if the variable may stand for the type; and if it stood for one before. */
  #stands(type: CelType, variable: CelType): readonly [isValid: boolean, isKnown: boolean] {
    if (type.isExactly(variable)) return [true, true]
    const known = this.find(variable)
    if (known !== undefined) {
      if (type.isExactly(known)) return [true, true]
      if (!this.#isAssignable(type, known)) return [false, true]
      const general = mostGeneral(type, known)
      if (this.#isNotIn(variable, general)) this.add(variable, general)
      return [true, true]
    }
    if (!this.#isNotIn(variable, type)) return [false, false]
    this.add(variable, type)
    return [true, false]
  }

  #isNotIn(variable: CelType, type: CelType): boolean {
    if (variable.isExactly(type)) return false
    if (type.kind === 'param') {
      const known = this.find(type)
      return known === undefined || this.#isNotIn(variable, known)
    }
    return type.params.every(param => this.#isNotIn(variable, param))
  }
}

function isNullable({ kind }: CelType): boolean {
  return ['null', 'opaque', 'struct', 'duration', 'timestamp'].includes(kind)
}

/** The one of two that is less specific. */
export function mostGeneral(a: CelType, b: CelType): CelType {
  return isLessSpecific(a, b) ? a : b
}

function isLessSpecific(a: CelType, b: CelType): boolean {
  if (a.kind === 'dyn' || a.kind === 'param') return true
  if (b.kind === 'dyn' || b.kind === 'param') return false
  if (a.kind !== b.kind) return false
  if (a.kind === 'type') return true
  return (
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => isLessSpecific(param, b.params[i] as CelType))
  )
}
