/** The expressions of a ValidatingAdmissionPolicy, compiled: each with what it may name, in the
 *  order in which variables are declared. */

import { itemsOf, type JsonValue, memberOf } from '../../../codec/json/tree.ts'
import type { Expression } from '../../cel/environment.ts'
import {
  boolType,
  CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  opaqueOf,
  stringType,
  timestampType,
} from '../../cel/types.ts'
import { tooLarge } from '../refusals.ts'
import { ruleLanguage } from '../custom/cel/language.ts'

export interface PolicyExpression {
  readonly source: string
  /** Undefined where it has a problem. */
  readonly program: Expression | undefined
}

export interface Condition extends PolicyExpression {
  readonly name: string
}

export interface Validation extends PolicyExpression {
  readonly message: string
  readonly messageExpression: PolicyExpression | undefined
  readonly reason: string
}

export interface CompiledPolicy {
  readonly conditions: readonly Condition[]
  /** In the order of their declarations. */
  readonly variables: readonly Condition[]
  readonly validations: readonly Validation[]
  readonly annotations: readonly Condition[]
  readonly hasParams: boolean
  readonly problems: readonly PolicyProblem[]
}

/** A problem of an expression at a path below the spec. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[]
  readonly source: string
  readonly detail: string
}

function struct(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return new CelType('struct', name, [], new Map(Object.entries(fields)))
}

const texts = listOf(stringType)
const textMap = mapOf(stringType, stringType)

const kindType = struct('kubernetes.GroupVersionKind', {
  group: stringType,
  version: stringType,
  kind: stringType,
})
const resourceType = struct('kubernetes.GroupVersionResource', {
  group: stringType,
  version: stringType,
  resource: stringType,
})

const requestType = struct('kubernetes.AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: stringType,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: stringType,
  name: stringType,
  namespace: stringType,
  operation: stringType,
  userInfo: struct('kubernetes.UserInfo', {
    username: stringType,
    uid: stringType,
    groups: texts,
    extra: mapOf(stringType, texts),
  }),
  dryRun: boolType,
  options: dynType,
})

const namespaceType = struct('kubernetes.Namespace', {
  metadata: struct('kubernetes.NamespaceMetadata', {
    name: stringType,
    generateName: stringType,
    namespace: stringType,
    labels: textMap,
    annotations: textMap,
    UID: stringType,
    creationTimestamp: timestampType,
    deletionGracePeriodSeconds: intType,
    deletionTimestamp: timestampType,
    generation: intType,
    resourceVersion: stringType,
    finalizers: texts,
  }),
  spec: struct('kubernetes.NamespaceSpec', { finalizers: texts }),
  status: struct('kubernetes.NamespaceStatus', { phase: stringType }),
})

/** Characters of all expressions of a policy. */
const sourceMax = 300_000

class PolicyCompiler {
  readonly problems: PolicyProblem[] = []
  readonly #declared = new Map<string, CelType>()
  readonly #hasParams: boolean
  #length = 0

  constructor(hasParams: boolean) {
    this.#hasParams = hasParams
  }

  /** The names and types; `variables` has those that are declared so far. */
  #names(): ReadonlyMap<string, CelType> {
    const names: [string, CelType][] = [
      ['object', dynType],
      ['oldObject', dynType],
      ['request', requestType],
      ['namespaceObject', namespaceType],
      ['authorizer', opaqueOf('kubernetes.authorization.Authorizer')],
      ['authorizer.requestResource', opaqueOf('kubernetes.authorization.ResourceCheck')],
    ]
    if (this.#hasParams) names.push(['params', dynType])
    names.push(['variables', new CelType('struct', 'kubernetes.variables', [], this.#declared)])
    return new Map(names)
  }

  compile(
    value: JsonValue | undefined,
    path: readonly (string | number)[],
    check: (type: CelType) => string | undefined,
  ): PolicyExpression {
    const source = typeof value === 'string' ? value : ''
    if (source.trim() === '') return { source, program: undefined }
    this.#length += source.length
    if (this.#length > sourceMax) throw tooLarge('the expressions of the policy are too long')
    const { expression, problems } = ruleLanguage().compile(source, this.#names())
    const detail =
      expression === undefined ? `compilation failed: ${problems}` : check(expression.type)
    if (detail === undefined) return { source, program: expression }
    this.problems.push({ path, source, detail })
    return { source, program: undefined }
  }

  declare(name: string, type: CelType): void {
    this.#declared.set(name, type)
  }
}

const anything = (): undefined => undefined

function mustBeBool({ kind, text }: CelType): string | undefined {
  return kind === 'bool' ? undefined : `must evaluate to bool but got ${text}`
}

function mustBeText({ kind, text }: CelType): string | undefined {
  return kind === 'string' ? undefined : `must evaluate to string but got ${text}`
}

function mayBeText({ kind, text }: CelType): string | undefined {
  const isRight = kind === 'string' || kind === 'null'
  return isRight ? undefined : `must evaluate to one of [string null_type] but got ${text}`
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** Compiles all expressions of the spec of a policy. */
export function compilePolicy(spec: JsonValue | undefined): CompiledPolicy {
  const hasParams = (memberOf(spec, 'paramKind') ?? null) !== null
  const compiler = new PolicyCompiler(hasParams)
  const named = (
    list: string,
    member: string,
    [name, check]: readonly [string, (type: CelType) => string | undefined],
  ): Condition[] =>
    itemsOf(memberOf(spec, list)).map((item, i) => ({
      name: textOf(memberOf(item, name)),
      ...compiler.compile(memberOf(item, member), [list, i, member], check),
    }))
  const conditions = named('matchConditions', 'expression', ['name', mustBeBool])
  const variables = itemsOf(memberOf(spec, 'variables')).map((item, i): Condition => {
    const name = textOf(memberOf(item, 'name'))
    const path = ['variables', i, 'expression']
    const compiled = compiler.compile(memberOf(item, 'expression'), path, anything)
    compiler.declare(name, compiled.program?.type ?? dynType)
    return { name, ...compiled }
  })
  const validations = itemsOf(memberOf(spec, 'validations')).map((item, i): Validation => {
    const path = (member: string): readonly (string | number)[] => ['validations', i, member]
    const own = memberOf(item, 'messageExpression')
    return {
      ...compiler.compile(memberOf(item, 'expression'), path('expression'), mustBeBool),
      message: textOf(memberOf(item, 'message')),
      messageExpression:
        textOf(own) === ''
          ? undefined
          : compiler.compile(own, path('messageExpression'), mustBeText),
      reason: textOf(memberOf(item, 'reason')),
    }
  })
  const annotations = named('auditAnnotations', 'valueExpression', ['key', mayBeText])
  return { conditions, variables, validations, annotations, hasParams, problems: compiler.problems }
}
