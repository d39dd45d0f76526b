/** Gives every expression its type and every call its overloads, as cel-go's checker does it, and
 *  notes what does not fit in its words. */

import {
  type FunctionCall,
  type Comprehension,
  type Expr,
  type Ident,
  type List,
  type MapLiteral,
  operators,
  qualifiedName,
  type Select,
  type Struct,
} from './ast.ts'
import {
  type FunctionDeclaration,
  type Functions,
  type Overload,
  typeNames,
} from './declarations.ts'
import type { Problems } from './problems.ts'
import { fieldNamed } from './schema/names.ts'
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  firstParam,
  intType,
  isDynOrError,
  isOptional,
  listOf,
  mapOf,
  mostGeneral,
  nullType,
  optionalOf,
  paramOf,
  signatureText,
  stringType,
  Substitutions,
  typeOfType,
  bytesType,
  doubleType,
  uintType,
} from './types.ts'
import { CelList, Double, Uint, type Value } from './values/values.ts'
import { isInt } from './values/numbers.ts'

/** The names that an expression is checked with. */
export interface Names {
  readonly functions: Functions
  readonly variables: ReadonlyMap<string, CelType>
  /** Types that can be named beside those of the language. */
  readonly typeNamed?: ((name: string) => CelType | undefined) | undefined
  /** The namespace in which names are looked up first. */
  readonly container?: string
  /** Lists and maps may have items of several types. */
  readonly areLiteralsMixed?: boolean
}

/** Checks an expression; types and overloads are noted in it. Returns the type of the result. */
export function check(expr: Expr, names: Names, problems: Problems): CelType {
  const checker = new Checker(names, problems)
  checker.check(expr)
  checker.finish()
  return expr.type ?? errorType
}

interface Scope {
  readonly parent: Scope | undefined
  readonly variables: ReadonlyMap<string, CelType>
}

class Checker {
  readonly #names: Names
  readonly #problems: Problems
  readonly #mappings = new Substitutions()
  readonly #checked: Expr[] = []
  #scope: Scope | undefined
  #variableCount = 0

  constructor(names: Names, problems: Problems) {
    this.#names = names
    this.#problems = problems
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr)
    expr.type = type
    this.#checked.push(expr)
    return type
  }

  /** Types that are still open become dyn. */
  finish(): void {
    for (const expr of this.#checked) {
      expr.type = this.#mappings.replace(expr.type ?? dynType, true)
    }
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'struct':
        return this.#struct(expr)
      case 'comprehension':
        return this.#comprehension(expr)
    }
  }

  #undeclared(offset: number, name: string): CelType {
    const container = this.#names.container ?? ''
    this.#problems.add(offset, `undeclared reference to '${name}' (in container '${container}')`)
    return errorType
  }

  /** The names that a name may mean, from the inner namespace to the outer. */
  #candidates(name: string): readonly string[] {
    if (name.startsWith('.')) return [name.slice(1)]
    const candidates: string[] = []
    for (let within = this.#names.container ?? ''; within !== '';) {
      candidates.push(`${within}.${name}`)
      within = within.slice(0, Math.max(0, within.lastIndexOf('.')))
    }
    return [...candidates, name]
  }

  #lookUp(name: string): readonly [name: string, type: CelType] | undefined {
    if (!name.startsWith('.')) {
      for (let scope = this.#scope; scope !== undefined; scope = scope.parent) {
        const type = scope.variables.get(name)
        if (type !== undefined) return [name, type]
      }
    }
    for (const candidate of this.#candidates(name)) {
      const variable = this.#names.variables.get(candidate)
      if (variable !== undefined) return [candidate, variable]
      const type = this.#names.typeNamed?.(candidate) ?? typeNames.get(candidate)
      if (type !== undefined) return [candidate, typeOfType(type)]
    }
    return undefined
  }

  #function(name: string): FunctionDeclaration | undefined {
    for (const candidate of this.#candidates(name)) {
      const found = this.#names.functions.get(candidate)
      if (found !== undefined) return found
    }
    return undefined
  }

  #ident(expr: Ident): CelType {
    const found = this.#lookUp(expr.name)
    if (found === undefined) return this.#undeclared(expr.offset, expr.name)
    const [name, type] = found
    expr.overloads = [name]
    return type
  }

  #select(expr: Select): CelType {
    const name = qualifiedName(expr)
    const found = name === undefined ? undefined : this.#lookUp(name)
    if (found !== undefined) {
      expr.overloads = [found[0]]
      return found[1]
    }
    const type = this.#field(expr, expr.operand, expr.field)
    return expr.isTest ? boolType : this.#mappings.replace(type, false)
  }

  #field(expr: Expr, operand: Expr, field: string): CelType {
    const type = this.#mappings.replace(this.check(operand), false)
    const isMaybe = isOptional(type)
    const found = this.#fieldOf(expr, isMaybe ? firstParam(type) : type, field)
    return isMaybe ? optionalOf(found) : found
  }

  #fieldOf(expr: Expr, type: CelType, field: string): CelType {
    if (type.kind === 'map') return type.params[1] ?? dynType
    if (type.kind === 'struct') return this.#structField(expr.offset, type, field)
    if (type.kind === 'param') this.#mappings.fit([dynType], [type])
    else if (!isDynOrError(type)) {
      this.#problems.add(expr.offset, `type '${type.text}' does not support field selection`)
    }
    return dynType
  }

  #structField(offset: number, type: CelType, field: string): CelType {
    const found = type.fields && fieldNamed(type.fields, field)
    if (found !== undefined) return found
    this.#problems.add(offset, `undefined field '${field}'`)
    return errorType
  }

  #call(expr: FunctionCall): CelType {
    if (expr.name === operators.optSelect) return this.#optionalSelect(expr)
    for (const arg of expr.args) this.check(arg)
    const { target } = expr
    if (target === undefined) {
      const found = this.#function(expr.name)
      if (found === undefined) return this.#undeclared(expr.offset, expr.name)
      expr.name = found.name
      return this.#resolve(expr, found, undefined)
    }
    const prefix = qualifiedName(target)
    const global = prefix === undefined ? undefined : this.#function(`${prefix}.${expr.name}`)
    if (global !== undefined) {
      expr.target = undefined
      expr.name = global.name
      return this.#resolve(expr, global, undefined)
    }
    this.check(target)
    const found = this.#function(expr.name)
    if (found === undefined) return this.#undeclared(expr.offset, expr.name)
    return this.#resolve(expr, found, target)
  }

  #optionalSelect(expr: FunctionCall): CelType {
    const [operand, field] = expr.args as [Expr, Expr]
    const name = field.kind === 'literal' && typeof field.value === 'string' ? field.value : ''
    const type = this.#field(expr, operand, name)
    expr.overloads = ['select_optional_field']
    // The field of an optional object is optional already.
    const isMaybe = isOptional(operand.type ?? errorType)
    return this.#mappings.replace(isMaybe ? type : optionalOf(type), false)
  }

  #resolve(
    expr: FunctionCall,
    { name, overloads }: FunctionDeclaration,
    target: Expr | undefined,
  ): CelType {
    const args = target === undefined ? expr.args : [target, ...expr.args]
    const types = args.map(arg => arg.type ?? errorType)
    if (name === operators.and || name === operators.or) return this.#logic(expr, types)
    let result: CelType | undefined
    const ids: string[] = []
    for (const overload of overloads) {
      if (overload.isMember !== (target !== undefined)) continue
      if (overload.args.length !== types.length) continue
      const form = this.#instance(overload)
      if (!this.#mappings.fit(types, form.args)) continue
      ids.push(overload.id)
      const type = this.#mappings.replace(form.result, false)
      if (result === undefined) result = type
      else if (result.kind !== 'dyn' && !type.isExactly(result)) result = dynType
    }
    expr.overloads = ids
    if (result !== undefined) return result
    const signature = signatureText(
      types.map(type => this.#mappings.replace(type, true)),
      target !== undefined,
    )
    this.#problems.add(
      expr.offset,
      `found no matching overload for '${name}' applied to '${signature}'`,
    )
    return errorType
  }

  /** An overload with type variables of its own. */
  #instance(overload: Overload): Pick<Overload, 'args' | 'result'> {
    if (overload.variables.length === 0) return overload
    const fresh = new Substitutions()
    for (const variable of overload.variables) fresh.add(paramOf(variable), this.#variable())
    return {
      args: overload.args.map(arg => fresh.replace(arg, false)),
      result: fresh.replace(overload.result, false),
    }
  }

  #logic(expr: FunctionCall, types: readonly CelType[]): CelType {
    let isWrong = false
    for (const [i, type] of types.entries()) {
      if (this.#mappings.fit([type], [boolType])) continue
      this.#mismatch(expr.args[i] as Expr, boolType, type)
      isWrong = true
    }
    expr.overloads = [expr.name === operators.and ? 'logical_and' : 'logical_or']
    return isWrong ? errorType : boolType
  }

  #mismatch({ offset }: { readonly offset: number }, expected: CelType, actual: CelType): void {
    this.#problems.add(offset, `expected type '${expected.text}' but found '${actual.text}'`)
  }

  #variable(): CelType {
    return paramOf(`_var${this.#variableCount++}`)
  }

  /** The type of an item that may be missing. */
  #unwrapped(expr: Expr, type: CelType): CelType {
    if (isOptional(type)) return firstParam(type)
    if (type.kind !== 'dyn') this.#mismatch(expr, optionalOf(type), type)
    return type
  }

  #list(expr: List): CelType {
    let items: CelType | undefined
    for (const [i, item] of expr.items.entries()) {
      const type = this.check(item)
      items = this.#join(item, items, expr.optionals.has(i) ? this.#unwrapped(item, type) : type)
    }
    return listOf(items ?? this.#variable())
  }

  #map(expr: MapLiteral): CelType {
    let keys: CelType | undefined
    let values: CelType | undefined
    for (const { key, value, isOptional: isMaybe } of expr.entries) {
      keys = this.#join(key, keys, this.check(key))
      const type = this.check(value)
      values = this.#join(value, values, isMaybe ? this.#unwrapped(value, type) : type)
    }
    return mapOf(keys ?? this.#variable(), values ?? this.#variable())
  }

  #join(expr: Expr, before: CelType | undefined, type: CelType): CelType {
    if (before === undefined) return type
    if (this.#mappings.fit([before], [type])) return mostGeneral(before, type)
    if (this.#names.areLiteralsMixed === true) return dynType
    this.#mismatch(expr, before, type)
    return errorType
  }

  #struct(expr: Struct): CelType {
    const found = this.#lookUp(expr.name)
    if (found === undefined) return this.#undeclared(expr.offset, expr.name)
    const [name, type] = found
    expr.overloads = [name]
    let result: CelType = errorType
    if (type.kind !== 'type') this.#problems.add(expr.offset, `'${type.text}' is not a type`)
    else if (firstParam(type).kind !== 'struct') {
      this.#problems.add(expr.offset, `'${firstParam(type).text}' is not a message type`)
    } else result = firstParam(type)
    for (const entry of expr.entries) {
      const given = this.check(entry.value)
      const value = entry.isOptional ? this.#unwrapped(entry.value, given) : given
      if (result.kind === 'error') continue
      const field = result.fields?.get(entry.name)
      if (field !== undefined && this.#mappings.fit([field], [value])) continue
      this.#problems.add(
        entry.offset,
        `expected type of field '${entry.name}' is '${field?.text ?? ''}' but provided type is '${value.text}'`,
      )
    }
    return result
  }

  #comprehension(expr: Comprehension): CelType {
    const range = this.check(expr.range)
    const accumulated = this.check(expr.start)
    const [first, second] = this.#variablesOf(expr, this.#mappings.replace(range, false))
    const outer = this.#scope
    const own: Scope = { parent: outer, variables: new Map([[expr.accumulator, accumulated]]) }
    const variables = new Map([[expr.variable, first]])
    if (expr.variable2 !== undefined) variables.set(expr.variable2, second)
    this.#scope = { parent: own, variables }
    this.#assert(expr.condition, boolType)
    this.#assert(expr.step, accumulated)
    this.#scope = own
    const result = this.check(expr.result)
    this.#scope = outer
    return this.#mappings.replace(result, false)
  }

  #assert(expr: Expr, expected: CelType): void {
    const type = this.check(expr)
    if (!this.#mappings.fit([expected], [type])) this.#mismatch(expr, expected, type)
  }

  /** The types of the variables of a loop. */
  #variablesOf(expr: Comprehension, range: CelType): readonly [CelType, CelType] {
    if (range.kind === 'list') {
      const item = firstParam(range)
      return expr.variable2 === undefined ? [item, dynType] : [intType, item]
    }
    if (range.kind === 'map') return [firstParam(range), range.params[1] ?? dynType]
    if (range.kind === 'param' || isDynOrError(range)) {
      this.#mappings.fit([dynType], [range])
      return [dynType, dynType]
    }
    this.#problems.add(
      expr.range.offset,
      `expression of type '${range.text}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    )
    return [errorType, errorType]
  }
}

function literalType(value: Value): CelType {
  if (typeof value === 'string') return stringType
  if (typeof value === 'boolean') return boolType
  if (value === null) return nullType
  if (isInt(value)) return intType
  if (value instanceof Double) return doubleType
  if (value instanceof Uint) return uintType
  return value instanceof CelList ? listOf(dynType) : bytesType
}
