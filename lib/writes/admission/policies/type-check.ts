/** Checks the expressions of a policy by the types of the objects that it is about, as the
 *  controller manager does it: admission takes every object as one of which nothing is known. */

import type { Steps } from '@watchglass/base'
import { itemsOf, type JsonValue, memberOf } from '@watchglass/go'
import type { Registry } from '@watchglass/kube'
import { type CelType, dynType, opaqueOf } from '@watchglass/cel'
import { ruleLanguage } from '../../custom/cel/language.ts'
import {
  namespaceType,
  requestType,
  variablesType,
  variableType,
} from '../../validation/policy-expressions.ts'
import { type TypedKind, typeOfKind } from './kind-types.ts'

/** A warning about one expression. */
export interface ExpressionWarning {
  readonly fieldRef: string
  readonly warning: string
}

type Kinds = Pick<Registry, 'schema' | 'resources'>

/** Kinds of one rule. */
const kindsMax = 10
/** Characters of all expressions that are checked, each with every kind. */
const checkedMax = 3_000_000
/** Characters of all warnings: the policy has to be stored with them. */
const warningsMax = 500_000

/** The warnings about a policy's spec. Names of types end with the number, which tells those of
 *  several checks apart. */
export function* typeWarnings(
  spec: JsonValue | undefined,
  kinds: Kinds,
  number: number,
): Steps<ExpressionWarning[]> {
  const scopes: Scope[] = []
  const paramKind = paramKindOf(spec)
  const paramType =
    paramKind && (typeOfKind(kinds, paramKind, `${paramKind.kind}${number}`) ?? dynType)
  const expressions = expressionsOf(spec)
  const variables = itemsOf(memberOf(spec, 'variables'))
  let left = checkedMax
  for (const kind of kindsToCheck(spec, kinds)) {
    const objectType = typeOfKind(kinds, kind, `${kind.kind}${number}`)
    yield
    if (objectType === undefined) continue
    for (const { source } of expressions) left -= source.length
    const scope = new Scope(kind, objectType ?? dynType, paramType)
    for (const variable of variables) {
      const source = textAt(variable, 'expression')
      left -= source.length
      if (left < 0) break
      scope.declare(textAt(variable, 'name'), source)
      yield
    }
    if (left < 0) break
    scopes.push(scope)
  }
  return yield* warningsIn(expressions, scopes)
}

function* warningsIn(
  expressions: readonly CheckedExpression[],
  scopes: readonly Scope[],
): Steps<ExpressionWarning[]> {
  const warnings: ExpressionWarning[] = []
  let left = warningsMax
  for (const { fieldRef, source } of expressions) {
    const texts: string[] = []
    for (const scope of scopes) {
      const problems = scope.problems(source)
      yield
      if (problems === undefined) continue
      left -= problems.length
      if (left < 0) break
      texts.push(`${scope.title}: ${problems}\n`)
    }
    if (texts.length > 0) warnings.push({ fieldRef, warning: texts.join('\n') })
    if (left < 0) break
  }
  return warnings
}

/** The kinds that the rules name, sorted; not those of rules with stars. */
export function kindsToCheck(
  spec: JsonValue | undefined,
  { resources }: Pick<Registry, 'resources'>,
): readonly TypedKind[] {
  const found = new Map<string, TypedKind>()
  for (const rule of itemsOf(memberOf(memberOf(spec, 'matchConstraints'), 'resourceRules'))) {
    const texts = (name: string): string[] => textsOf(memberOf(rule, name)).toSorted()
    const [groups, versions] = [texts('apiGroups'), texts('apiVersions')]
    const names = texts('resources').filter(name => !/[*/]/.test(name))
    if ([...groups, ...versions].some(text => text.includes('*'))) continue
    let count = 0
    for (const kind of namedBy(groups, versions, names, resources)) {
      found.set(titleOf(kind), kind)
      if (++count === kindsMax) return sorted(found)
    }
  }
  return sorted(found)
}

function* namedBy(
  groups: readonly string[],
  versions: readonly string[],
  names: readonly string[],
  resources: Registry['resources'],
): Generator<TypedKind> {
  for (const group of groups) {
    for (const version of versions) {
      for (const name of names) {
        const plain = name.toLowerCase()
        for (const one of resources) {
          // A rule of the core group means every group to whoever looks its kinds up.
          const isMeant = one.version === version && (group === '' || one.group === group)
          if (isMeant && (one.resource === plain || one.singular === plain)) yield one
        }
      }
    }
  }
}

function sorted(kinds: ReadonlyMap<string, TypedKind>): readonly TypedKind[] {
  const places = [...kinds.values()].map(
    kind => [`${kind.group}\0${kind.version}\0${kind.kind}`, kind] as const,
  )
  return places.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind)
}

function titleOf({ group, version, kind }: TypedKind): string {
  return `${group}/${version}, Kind=${kind}`
}

/** The names of expressions where objects are of one kind. */
class Scope {
  readonly title: string
  readonly #names: ReadonlyMap<string, CelType>
  readonly #declared = new Map<string, CelType>()

  constructor(kind: TypedKind, object: CelType, params: CelType | undefined) {
    this.title = titleOf(kind)
    // Nobody declares authorizer.requestResource here.
    this.#names = new Map([
      ['namespaceObject', namespaceType],
      ['request', requestType],
      ['object', object],
      ['oldObject', object],
      ...(params === undefined ? [] : [['params', params] as const]),
      ['authorizer', opaqueOf('kubernetes.authorization.Authorizer')],
      ['variables', variablesType(this.#declared)],
    ])
  }

  declare(name: string, source: string): void {
    const { expression } = ruleLanguage().compile(source, this.#names)
    this.#declared.set(name, variableType(expression?.type))
  }

  problems(source: string): string | undefined {
    return ruleLanguage().compile(source, this.#names).problems
  }
}

interface CheckedExpression {
  readonly fieldRef: string
  readonly source: string
}

function expressionsOf(spec: JsonValue | undefined): readonly CheckedExpression[] {
  return itemsOf(memberOf(spec, 'validations')).flatMap((validation, i) => {
    const place = `spec.validations[${i}]`
    const own = textAt(validation, 'messageExpression')
    const condition = {
      fieldRef: `${place}.expression`,
      source: textAt(validation, 'expression'),
    }
    return own === ''
      ? [condition]
      : [condition, { fieldRef: `${place}.messageExpression`, source: own }]
  })
}

/** Undefined if there is none, or its version is none. */
function paramKindOf(spec: JsonValue | undefined): TypedKind | undefined {
  const paramKind = memberOf(spec, 'paramKind')
  const parts = textAt(paramKind, 'apiVersion').split('/')
  const kind = textAt(paramKind, 'kind')
  const [version = '', group = ''] = parts.reverse()
  return kind === '' || parts.length > 2 ? undefined : { group, version, kind }
}

function textAt(value: JsonValue | undefined, name: string): string {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : ''
}

function textsOf(value: JsonValue | undefined): string[] {
  return itemsOf(value).filter(item => typeof item === 'string')
}
