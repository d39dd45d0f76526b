/** Guards of functions: the values of a call are looked at before it, as their types may not be
 *  known when an expression is compiled. A call that no form of the function takes is told with
 *  the types that it was made with. */

import type { FunctionDeclaration, Implementation } from './declarations.ts'
import { standard } from './functions/standard.ts'
import type { CelType } from './types.ts'
import { noOverload } from './values/errors.ts'
import { CelList, CelMap, typeName, type Value } from './values/values.ts'

/** The function with its guard, by the one form that the checker has found, or by all. Those of the
 *  standard tell by themselves what they do not take: cel-go has one implementation of each, for
 *  all types. */
export function withGuard(
  call: Implementation,
  declaration: FunctionDeclaration | undefined,
  overload: string,
): Implementation {
  if (declaration === undefined || isUnguarded(declaration.name)) return call
  const { name, overloads } = declaration
  const forms = overloads
    .filter(({ id }) => overload === '' || id === overload)
    .map(({ args }) => args.map(shapeOf))
  return (...args) => {
    if (forms.some(form => takes(form, args))) return call(...args)
    throw noOverload(`${name}(${args.map(typeName).join(', ')})`)
  }
}

/** Patterns of these are compiled with the expression, in a form that has no guard. */
const unguarded: ReadonlySet<string> = new Set(['find', 'findAll', 'flatten', 'sort'])

function isUnguarded(name: string): boolean {
  return unguarded.has(name) || Object.hasOwn(standard.signatures, name)
}

/** The part of a type that can be told of a value; no name is any. */
interface Shape {
  readonly name: string | undefined
  readonly params: readonly Shape[]
}

function shapeOf(type: CelType): Shape {
  const { kind } = type
  if (kind === 'dyn' || kind === 'param') return { name: undefined, params: [] }
  const params = type.params.map(shapeOf)
  return { name: params.length === 0 ? type.runtimeText : type.name, params }
}

function takes(form: readonly Shape[], values: readonly Value[]): boolean {
  return form.length === values.length && form.every((shape, i) => fits(shape, values[i] as Value))
}

/** True if the value is of the type, by the first item of a list or a map, as in cel-go. */
function fits({ name, params }: Shape, value: Value): boolean {
  if (name === undefined) return true
  if (name !== typeName(value)) return false
  const [first, second] = params
  if (value instanceof CelList) {
    return value.size === 0 || first === undefined || fits(first, value.at(0))
  }
  if (!(value instanceof CelMap) || first === undefined || second === undefined) return true
  const [key] = value.keys()
  return key === undefined || (fits(first, key) && fits(second, value.get(key) ?? null))
}
