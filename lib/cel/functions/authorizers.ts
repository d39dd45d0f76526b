/** May a user do something: `authorizer.group('').resource('pods').check('get').allowed()`. */

import type { Library } from '../declarations.ts'
import type { FormatChecks } from './formats.ts'
import { failure, noOverload } from '../values/errors.ts'
import { Opaque, type Value } from '../values/values.ts'

/** The thing that is asked about. */
export interface AuthorizerQuestion {
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly verb: string
  /** Another user than the one of the request. */
  readonly serviceAccount?: string
}

export interface AuthorizerDecision {
  readonly isAllowed: boolean
  readonly reason: string
}

export type Decide = (question: AuthorizerQuestion) => AuthorizerDecision

type Kind = 'Authorizer' | 'PathCheck' | 'GroupCheck' | 'ResourceCheck'

/** A question that is not asked yet. */
export class AuthorizerCheck extends Opaque {
  readonly typeName: string
  readonly kind: Kind
  readonly question: Omit<AuthorizerQuestion, 'verb'>
  readonly decide: Decide

  constructor(kind: Kind, question: Omit<AuthorizerQuestion, 'verb'>, decide: Decide) {
    super()
    this.kind = kind
    this.typeName = `kubernetes.authorization.${kind}`
    this.question = question
    this.decide = decide
  }

  equals(other: Opaque): boolean {
    return (
      other instanceof AuthorizerCheck &&
      JSON.stringify(other.question) === JSON.stringify(this.question)
    )
  }
}

class Decided extends Opaque {
  readonly typeName = 'kubernetes.authorization.Decision'
  readonly decision: AuthorizerDecision

  constructor(decision: AuthorizerDecision) {
    super()
    this.decision = decision
  }

  equals(other: Opaque): boolean {
    return other instanceof Decided && other.decision.isAllowed === this.decision.isAllowed
  }
}

function narrowed(
  from: Kind,
  to: Kind,
  add: (text: string) => Partial<AuthorizerQuestion>,
): (of: Value, text: Value) => Value {
  return (of, text) => {
    if (!(of instanceof AuthorizerCheck) || of.kind !== from || typeof text !== 'string') {
      throw noOverload()
    }
    return new AuthorizerCheck(to, { ...of.question, ...add(text) }, of.decide)
  }
}

function decisionOf(value: Value): AuthorizerDecision {
  if (!(value instanceof Decided)) throw noOverload()
  return value.decision
}

const type = (kind: string): string => `kubernetes.authorization.${kind}`
const [authorizer, path, group, resource, decision] = [
  type('Authorizer'),
  type('PathCheck'),
  type('GroupCheck'),
  type('ResourceCheck'),
  type('Decision'),
]

function pathCheck(of: Value, text: Value): Value {
  if (text === '') throw failure('path must not be empty')
  return narrowed('Authorizer', 'PathCheck', given => ({ path: given }))(of, text)
}

export function authorizersOf(names: FormatChecks): Library {
  return { signatures, implementations: implementationsFor(names) }
}

const signatures = {
  path: [`authorizer_path: ${authorizer}.(string) ${path}`],
  group: [`authorizer_group: ${authorizer}.(string) ${group}`],
  serviceAccount: [`authorizer_serviceaccount: ${authorizer}.(string, string) ${authorizer}`],
  resource: [`groupcheck_resource: ${group}.(string) ${resource}`],
  subresource: [`resourcecheck_subresource: ${resource}.(string) ${resource}`],
  namespace: [`resourcecheck_namespace: ${resource}.(string) ${resource}`],
  name: [`resourcecheck_name: ${resource}.(string) ${resource}`],
  check: [
    `pathcheck_check: ${path}.(string) ${decision}`,
    `resourcecheck_check: ${resource}.(string) ${decision}`,
  ],
  errored: [`decision_errored: ${decision}.() bool`],
  error: [`decision_error: ${decision}.() string`],
  allowed: [`decision_allowed: ${decision}.() bool`],
  reason: [`decision_reason: ${decision}.() string`],
  fieldSelector: [`authorizer_fieldselector: ${resource}.(string) ${resource}`],
  labelSelector: [`authorizer_labelselector: ${resource}.(string) ${resource}`],
}

function implementationsFor({
  dns1123Label,
  dns1123Subdomain,
}: FormatChecks): Library['implementations'] {
  return {
    path: pathCheck,
    group: narrowed('Authorizer', 'GroupCheck', text => ({ group: text })),
    serviceAccount: (of: Value, namespace: Value, name: Value) => {
      if (
        !(of instanceof AuthorizerCheck) ||
        typeof namespace !== 'string' ||
        typeof name !== 'string'
      ) {
        throw noOverload()
      }
      if (dns1123Subdomain?.(name).length !== 0) throw failure('Invalid service account name')
      if (dns1123Label?.(namespace).length !== 0) {
        throw failure('Invalid service account namespace')
      }
      const account = `system:serviceaccount:${namespace}:${name}`
      return new AuthorizerCheck(
        'Authorizer',
        { ...of.question, serviceAccount: account },
        of.decide,
      )
    },
    resource: narrowed('GroupCheck', 'ResourceCheck', text => ({ resource: text })),
    subresource: narrowed('ResourceCheck', 'ResourceCheck', text => ({ subresource: text })),
    namespace: narrowed('ResourceCheck', 'ResourceCheck', text => ({ namespace: text })),
    name: narrowed('ResourceCheck', 'ResourceCheck', text => ({ name: text })),
    fieldSelector: narrowed('ResourceCheck', 'ResourceCheck', () => ({})),
    labelSelector: narrowed('ResourceCheck', 'ResourceCheck', () => ({})),
    check: (of: Value, verb: Value) => {
      if (!(of instanceof AuthorizerCheck) || typeof verb !== 'string') throw noOverload()
      return new Decided(of.decide({ ...of.question, verb }))
    },
    errored: (value: Value) => decisionOf(value) === undefined,
    error: (value: Value) => (decisionOf(value) === undefined ? 'none' : ''),
    allowed: (value: Value) => decisionOf(value).isAllowed,
    reason: (value: Value) => decisionOf(value).reason,
  }
}
