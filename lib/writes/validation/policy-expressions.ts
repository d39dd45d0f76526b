/** The expressions of an admission policy, compiled: each with what it may name, in the order in
 *  which variables are declared. */

import { itemsOf, type JsonValue, memberOf } from '@watchglass/go'
import {
  boolType,
  CelType,
  dynType,
  type CompiledExpression,
  intType,
  listOf,
  mapOf,
  opaqueOf,
  stringType,
  timestampType,
} from '@watchglass/cel'
import { tooLarge } from '../refusals.ts'
import { mutationLanguage, ruleLanguage } from '../custom/cel/language.ts'

export interface PolicyExpression {
  readonly source: string
  /** Undefined where it has a problem. */
  readonly program: CompiledExpression | undefined
}

export interface NamedExpression extends PolicyExpression {
  readonly name: string
}

export interface Validation extends PolicyExpression {
  readonly message: string
  readonly messageExpression: PolicyExpression | undefined
  readonly reason: string
}

/** One change of an object: an apply configuration, or a JSON patch. */
export interface Mutation extends PolicyExpression {
  readonly isApplied: boolean
}

export interface CompiledPolicy {
  readonly conditions: readonly NamedExpression[]
  /** In the order of their declarations. */
  readonly variables: readonly NamedExpression[]
  readonly validations: readonly Validation[]
  readonly annotations: readonly NamedExpression[]
  readonly mutations: readonly Mutation[]
  readonly hasParams: boolean
  /** An expression names `namespaceObject`. */
  readonly usesNamespace: boolean
  readonly problems: readonly PolicyProblem[]
}

/** A problem of an expression at a path below the spec. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[]
  readonly source: string
  readonly detail: string
  /** The server calls it an error of its own. */
  readonly isInternal: boolean
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

/** The type of `request`. */
export const requestType: CelType = struct('kubernetes.AdmissionRequest', {
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

const conditionType = struct('kubernetes.NamespaceCondition', {
  status: stringType,
  type: stringType,
  lastTransitionTime: timestampType,
  message: stringType,
  reason: stringType,
})

/** The type of `namespaceObject`. */
export const namespaceType: CelType = struct('kubernetes.Namespace', {
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
  status: struct('kubernetes.NamespaceStatus', {
    conditions: listOf(conditionType),
    phase: stringType,
  }),
})

/** The type of `variables`, with those that are declared so far. */
export function variablesType(declared: ReadonlyMap<string, CelType>): CelType {
  return new CelType('struct', 'kubernetes.variables', [], declared)
}

/** The type of a variable whose expression has this type: of objects and of what libraries make
 *  nothing is known any more. */
export function variableType(type: CelType | undefined): CelType {
  if (type === undefined) return dynType
  if (type.kind !== 'list' && type.kind !== 'map') return keptKinds.has(type.kind) ? type : dynType
  const [first = dynType, second] = type.params.map(variableType)
  return second === undefined ? listOf(first) : mapOf(first, second)
}

const keptKinds: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'null',
  'string',
  'timestamp',
  'uint',
])

/** Characters of all expressions of a policy. */
const sourceMax = 300_000

/** The place of an expression, which decides what it may name, and what it must make. */
interface Use {
  readonly path: readonly (string | number)[]
  readonly check: (type: CelType) => string | undefined
  /** Conditions are asked before there are variables. */
  readonly hasVariables?: boolean
  /** Messages are made without asking who may do what. */
  readonly hasAuthorizer?: boolean
  readonly isMutation?: boolean
  /** The source as problems show it, where it was trimmed. */
  readonly shown?: string
}

class PolicyCompiler {
  readonly problems: PolicyProblem[] = []
  usesNamespace = false
  readonly #declared = new Map<string, CelType>()
  readonly #hasParams: boolean
  readonly #hasVariables: boolean
  #length = 0

  constructor({ hasParams, hasVariables }: { hasParams: boolean; hasVariables: boolean }) {
    this.#hasParams = hasParams
    this.#hasVariables = hasVariables
  }

  /** The names and types, in the order of the values that a run is given; `variables` has those
   *  that are declared so far. What may not be named has a place under a name that cannot be. */
  #names({
    hasVariables = true,
    hasAuthorizer = true,
    isMutation = false,
  }: Use): ReadonlyMap<string, CelType> {
    const named = (name: string, isNamed: boolean): string => (isNamed ? name : `@${name}`)
    const authorizer = named('authorizer', hasAuthorizer)
    const names: [string, CelType][] = [
      ['object', dynType],
      ['oldObject', dynType],
      ['request', requestType],
      ['namespaceObject', namespaceType],
      [authorizer, opaqueOf('kubernetes.authorization.Authorizer')],
      [`${authorizer}.requestResource`, opaqueOf('kubernetes.authorization.ResourceCheck')],
    ]
    if (this.#hasParams) names.push(['params', dynType])
    // Nobody can name variables where none are declared; mutations can, and find none.
    const areNamed = hasVariables && (this.#hasVariables || isMutation)
    names.push([named('variables', areNamed), variablesType(this.#declared)])
    return new Map(names)
  }

  compile(value: JsonValue | undefined, use: Use): PolicyExpression {
    const source = textOf(value)
    if (source.trim() === '') return { source, program: undefined }
    this.#length += source.length
    if (this.#length > sourceMax) throw tooLarge('the expressions of the policy are too long')
    const language = use.isMutation === true ? mutationLanguage() : ruleLanguage()
    const { expression, problems } = language.compile(source, this.#names(use))
    if (expression?.uses('namespaceObject') === true) this.usesNamespace = true
    const detail =
      expression === undefined ? `compilation failed: ${problems}` : use.check(expression.type)
    const failure = detail === undefined ? expression?.constantError : undefined
    if (detail === undefined && failure === undefined) return { source, program: expression }
    this.problems.push({
      path: use.path,
      source: use.shown ?? source,
      detail: detail ?? `program instantiation failed: ${failure}`,
      isInternal: detail === undefined,
    })
    return { source, program: undefined }
  }

  declare(name: string, type: CelType): void {
    this.#declared.set(name, type)
  }
}

const anything = (): undefined => undefined

function mustBeBool({ kind, runtimeText: text }: CelType): string | undefined {
  return kind === 'bool' ? undefined : `must evaluate to bool but got ${text}`
}

function mustBeText({ kind, runtimeText: text }: CelType): string | undefined {
  return kind === 'string' ? undefined : `must evaluate to string but got ${text}`
}

function mayBeText({ kind, runtimeText: text }: CelType): string | undefined {
  const isRight = kind === 'string' || kind === 'null'
  return isRight ? undefined : `must evaluate to one of [string null_type] but got ${text}`
}

/** A type with this name and these parameters is what a mutation must make. */
function mustBe(wanted: string): Use['check'] {
  return ({ runtimeText: text }) =>
    text === wanted ? undefined : `must evaluate to ${wanted} but got ${text}`
}

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** Compiles all expressions of the spec of a policy. */
export function compilePolicy(spec: JsonValue | undefined): CompiledPolicy {
  const hasParams = (memberOf(spec, 'paramKind') ?? null) !== null
  const list = (name: string): readonly JsonValue[] => itemsOf(memberOf(spec, name))
  const compiler = new PolicyCompiler({ hasParams, hasVariables: list('variables').length > 0 })
  const conditions = list('matchConditions').map((item, i): NamedExpression => {
    const path = ['matchConditions', i, 'expression']
    const source = textOf(memberOf(item, 'expression')).trim()
    const use = { path, check: mustBeBool, hasVariables: false }
    return { name: textOf(memberOf(item, 'name')), ...compiler.compile(source, use) }
  })
  const variables = list('variables').map((item, i): NamedExpression => {
    const name = textOf(memberOf(item, 'name'))
    const path = ['variables', i, 'expression']
    const compiled = compiler.compile(memberOf(item, 'expression'), { path, check: anything })
    compiler.declare(name, variableType(compiled.program?.type))
    return { name, ...compiled }
  })
  const validations = list('validations').map((item, i) => validationOf(compiler, item, i))
  const annotations = list('auditAnnotations').map((item, i): NamedExpression => {
    const path = ['auditAnnotations', i, 'valueExpression']
    const shown = textOf(memberOf(item, 'valueExpression'))
    const compiled = compiler.compile(shown.trim(), { path, check: mayBeText, shown })
    return { name: textOf(memberOf(item, 'key')), ...compiled }
  })
  const mutations = list('mutations').map((item, i) => mutationOf(compiler, item, i))
  const { problems, usesNamespace } = compiler
  const expressions = { conditions, variables, validations, annotations, mutations }
  return { ...expressions, hasParams, usesNamespace, problems }
}

function validationOf(compiler: PolicyCompiler, item: JsonValue, i: number): Validation {
  const path = (member: string): Use['path'] => ['validations', i, member]
  const own = memberOf(item, 'messageExpression')
  const condition = compiler.compile(memberOf(item, 'expression'), {
    path: path('expression'),
    check: mustBeBool,
  })
  const use = { path: path('messageExpression'), check: mustBeText, hasAuthorizer: false }
  return {
    ...condition,
    message: textOf(memberOf(item, 'message')),
    messageExpression: textOf(own) === '' ? undefined : compiler.compile(own, use),
    reason: textOf(memberOf(item, 'reason')),
  }
}

function mutationOf(compiler: PolicyCompiler, item: JsonValue, i: number): Mutation {
  const type = memberOf(item, 'patchType')
  const isApplied = type === 'ApplyConfiguration'
  const member = isApplied ? 'applyConfiguration' : 'jsonPatch'
  // Of a type that is not known no expression is looked at.
  const wanted = isApplied || type === 'JSONPatch' ? memberOf(item, member) : undefined
  const source = textOf(memberOf(wanted, 'expression')).trim()
  const compiled = compiler.compile(source, {
    path: ['mutations', i, member, 'expression'],
    check: mustBe(isApplied ? 'Object' : 'list(JSONPatch)'),
    isMutation: true,
  })
  return { ...compiled, isApplied }
}
