/** Reviews: objects that are answered at once and never stored. They ask who the caller is and
 *  what somebody may do. In a server that authorizes nothing everything is allowed, and everybody
 *  is who the server takes the caller for. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { type Attributes, badRequest, type Identity } from '@watchglass/kube'
import {
  type FieldError,
  child,
  forbidden,
  index,
  invalid,
  invalidObject,
  required,
} from '../field-errors.ts'
import { metadataOf, textOf } from '../metadata.ts'
import { labelValue, qualifiedName } from '../validation/formats.ts'
import type { PolicyRule } from '../rbac/policy.ts'
import { joinedErrors } from '../rbac/rbac.ts'
import type { WriteAccess } from '../write-access.ts'
import { ignoredSelectors } from './ignored-selectors.ts'
import type { WriteSession } from './session.ts'

/** The part of a session that answers a review. */
type Reviewer = Pick<WriteSession, 'kind' | 'namespace' | 'user' | 'now'> & {
  readonly services?: Pick<WriteSession['services'], 'access'>
}

/** The answer to a decoded review; undefined if the kind is no review. */
export function review(session: Reviewer, object: JsonObject): JsonObject | undefined {
  switch (session.kind.kind) {
    case 'SelfSubjectAccessReview':
    case 'SubjectAccessReview':
    case 'LocalSubjectAccessReview':
      checkAccessReview(session, object)
      return withStatus(object, accessStatus(session, object))
    case 'SelfSubjectRulesReview':
      return rulesReview(session, object)
    case 'SelfSubjectReview':
      return selfReview(session, object)
    case 'TokenReview':
      return tokenReview(session, object)
    default:
      return undefined
  }
}

function accessStatus(session: Reviewer, object: JsonObject): [string, JsonValue][] {
  const access = session.services?.access
  if (access === undefined) return [['allowed', true]]
  const spec = object.get('spec')
  const isOwn = session.kind.kind === 'SelfSubjectAccessReview'
  const user = isOwn ? session.user : subjectOf(spec)
  const { isAllowed, reason } = access.authorize(user, attributesOf(spec))
  const ignored = ignoredSelectors(memberOf(spec, 'resourceAttributes'), session.kind.schema)
  return [
    ['allowed', isAllowed],
    ...(reason === '' ? [] : ([['reason', reason]] as [string, JsonValue][])),
    ...(ignored === '' ? [] : ([['evaluationError', ignored]] as [string, JsonValue][])),
  ]
}

/** The user of a SubjectAccessReview. */
function subjectOf(spec: JsonValue | undefined): Identity {
  const extra = memberOf(spec, 'extra')
  const entries = extra instanceof Map ? [...extra] : []
  return {
    user: textOf(memberOf(spec, 'user')),
    uid: textOf(memberOf(spec, 'uid')),
    groups: itemsOf(memberOf(spec, 'groups')).map(textOf),
    extra: Object.fromEntries(entries.map(([key, all]) => [key, itemsOf(all).map(textOf)])),
  }
}

/** The request that a review asks about. Rules know nothing of selectors. */
function attributesOf(spec: JsonValue | undefined): Attributes {
  const resource = memberOf(spec, 'resourceAttributes')
  const text = (name: string): string => textOf(memberOf(resource, name))
  if (resource === undefined) {
    const other = memberOf(spec, 'nonResourceAttributes')
    return { verb: textOf(memberOf(other, 'verb')), path: textOf(memberOf(other, 'path')) }
  }
  return {
    verb: text('verb'),
    group: text('group'),
    version: text('version'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
    fields: [],
    labels: [],
  }
}

function checkAccessReview({ kind, namespace }: Reviewer, object: JsonObject): void {
  const spec = object.get('spec')
  const isLocal = kind.kind === 'LocalSubjectAccessReview'
  const errors = specErrors(spec, kind.kind !== 'SelfSubjectAccessReview')
  const metadata = metadataOf(object)
  const allowed = isLocal ? ['managedFields', 'namespace'] : ['managedFields']
  if ([...metadata.keys()].some(name => !allowed.includes(name))) {
    const detail = isLocal ? 'must be empty except for namespace' : 'must be empty'
    errors.push(invalid('metadata', inGoOrder(metadata), detail))
  }
  if (isLocal) errors.push(...localErrors(spec, textOf(metadata.get('namespace'))))
  // The decoded object has no kind: upstream leaves it out here.
  if (errors.length > 0) throw invalidObject({ group: kind.group, kind: '' }, '', errors)
  if (isLocal && namespace !== textOf(metadata.get('namespace'))) {
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`)
  }
}

/** The order in which Go writes the metadata of an object. */
const metadataOrder = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
]

function inGoOrder(metadata: JsonObject): JsonObject {
  const placeOf = ([name]: [string, JsonValue]): number => metadataOrder.indexOf(name)
  return new Map([...metadata].sort((a, b) => placeOf(a) - placeOf(b)))
}

function specErrors(spec: JsonValue | undefined, isOfSubject: boolean): FieldError[] {
  const errors: FieldError[] = []
  const resource = memberOf(spec, 'resourceAttributes')
  const other = memberOf(spec, 'nonResourceAttributes')
  if (resource !== undefined && other !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    errors.push(invalid('spec.nonResourceAttributes', internalForm(other), detail))
  }
  if (resource === undefined && other === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    errors.push(invalid('spec.resourceAttributes', null, detail))
  }
  const hasSubject =
    textOf(memberOf(spec, 'user')) !== '' || itemsOf(memberOf(spec, 'groups')).length > 0
  if (isOfSubject && !hasSubject) {
    errors.push(invalid('spec.user', '', 'at least one of user or group must be specified'))
  }
  errors.push(
    ...selectorErrors(memberOf(resource, 'fieldSelector'), `${attributes}.fieldSelector`),
    ...selectorErrors(memberOf(resource, 'labelSelector'), `${attributes}.labelSelector`),
  )
  return errors
}

function localErrors(spec: JsonValue | undefined, namespace: string): FieldError[] {
  const errors: FieldError[] = []
  const resource = memberOf(spec, 'resourceAttributes')
  const other = memberOf(spec, 'nonResourceAttributes')
  const named = textOf(memberOf(resource, 'namespace'))
  if (resource !== undefined && named !== namespace) {
    errors.push(invalid(`${attributes}.namespace`, named, 'must match metadata.namespace'))
  }
  if (other !== undefined) {
    const detail = 'disallowed on this kind of request'
    errors.push(invalid('spec.nonResourceAttributes', internalForm(other), detail))
  }
  return errors
}

const attributes = 'spec.resourceAttributes'

function selectorErrors(selector: JsonValue | undefined, path: string): FieldError[] {
  if (selector === undefined) return []
  const errors: FieldError[] = []
  const raw = textOf(memberOf(selector, 'rawSelector'))
  const requirements = itemsOf(memberOf(selector, 'requirements'))
  if (raw !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements'
    errors.push(invalid(child(path, 'rawSelector'), raw, detail))
  }
  if (raw === '' && requirements.length === 0) {
    const detail = `when ${path} is specified, requirements or rawSelector is required`
    errors.push(required(child(path, 'requirements'), detail))
  }
  const isOfLabels = path.endsWith('labelSelector')
  for (const [i, requirement] of requirements.entries()) {
    const place = index(child(path, 'requirements'), i)
    const key = textOf(memberOf(requirement, 'key'))
    if (!isOfLabels && key === '') errors.push(required(`${place}.key`, 'must be specified'))
    errors.push(...valuesErrors(requirement, place))
    if (isOfLabels) errors.push(...labelErrors(requirement, place))
  }
  return errors
}

function valuesErrors(requirement: JsonValue, place: string): FieldError[] {
  const operator = textOf(memberOf(requirement, 'operator'))
  const values = itemsOf(memberOf(requirement, 'values'))
  if (['In', 'NotIn'].includes(operator) && values.length === 0) {
    return [required(`${place}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
  }
  if (['Exists', 'DoesNotExist'].includes(operator) && values.length > 0) {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
    return [forbidden(`${place}.values`, detail)]
  }
  return []
}

function labelErrors(requirement: JsonValue, place: string): FieldError[] {
  const key = textOf(memberOf(requirement, 'key'))
  return [
    ...qualifiedName(key).map(problem => invalid(`${place}.key`, key, problem)),
    ...itemsOf(memberOf(requirement, 'values')).flatMap((value, i) =>
      labelValue(textOf(value)).map(problem =>
        invalid(index(`${place}.values`, i), textOf(value), problem),
      ),
    ),
  ]
}

/** Errors show these attributes with the names of Go's fields. */
function internalForm(other: JsonValue): JsonObject {
  return new Map([
    ['Path', textOf(memberOf(other, 'path'))],
    ['Verb', textOf(memberOf(other, 'verb'))],
  ])
}

function rulesReview({ services, user }: Reviewer, object: JsonObject): JsonObject {
  const namespace = textOf(memberOf(object.get('spec'), 'namespace'))
  if (namespace === '') throw badRequest('no namespace on request')
  const { access } = services ?? {}
  const status = access === undefined ? everything() : held(access, user, namespace)
  return withStatus(object, status).set('metadata', new Map()).set('spec', new Map())
}

function held(access: WriteAccess, user: Identity, namespace: string): [string, JsonValue][] {
  const { rules, problems } = access.rulesFor(user, namespace)
  const status: [string, JsonValue][] = [
    ['resourceRules', shownRules(rules, 'resources', ['apiGroups', 'resources', 'resourceNames'])],
    ['nonResourceRules', shownRules(rules, 'nonResourceURLs', ['nonResourceURLs'])],
    ['incomplete', false],
  ]
  return problems.length === 0 ? status : [...status, ['evaluationError', joinedErrors(problems)]]
}

/** The rules that have such members, with these members. */
function shownRules(
  rules: readonly PolicyRule[],
  needed: keyof PolicyRule,
  members: readonly (keyof PolicyRule)[],
): JsonValue[] {
  return rules
    .filter(rule => rule[needed].length > 0)
    .map(
      rule =>
        new Map(
          (['verbs', ...members] as const)
            .filter(member => rule[member].length > 0)
            .map(member => [member, [...rule[member]]]),
        ),
    )
}

function everything(): [string, JsonValue][] {
  const all = (...names: string[]): JsonValue[] => [new Map(names.map(name => [name, ['*']]))]
  return [
    ['resourceRules', all('verbs', 'apiGroups', 'resources')],
    ['nonResourceRules', all('verbs', 'nonResourceURLs')],
    ['incomplete', false],
  ]
}

function selfReview({ user, now }: Reviewer, object: JsonObject): JsonObject {
  const answer = withStatus(object, [['userInfo', userInfo(user)]])
  return answer.set('metadata', new Map([['creationTimestamp', now]]))
}

function tokenReview({ user, services }: Reviewer, object: JsonObject): JsonObject {
  const spec = object.get('spec')
  // It is read as the header of a request would be, which ends at a space.
  const [token = ''] = textOf(memberOf(spec, 'token')).split(' ')
  if (textOf(memberOf(spec, 'token')) === '') {
    throw badRequest('token is required for TokenReview in authentication')
  }
  const audiences = itemsOf(memberOf(spec, 'audiences'))
  if (services?.access !== undefined) {
    if (token === '') return anonymousReview(object, audiences, services.access.audiences)
    const reviewed = services.access.reviewToken(token, audiences.map(textOf))
    if ('error' in reviewed) {
      return withStatus(object, [
        ['user', new Map()],
        ['error', reviewed.error],
      ])
    }
    return withStatus(object, [
      ['authenticated', true],
      ['user', userInfo(reviewed.user)],
      ['audiences', [...reviewed.audiences]],
    ])
  }
  return withStatus(object, [
    ['authenticated', true],
    ['user', userInfo(user)],
    ['audiences', audiences.length > 0 ? [...audiences] : [defaultAudience]],
  ])
}

/** A header without a token is nobody's. */
function anonymousReview(
  object: JsonObject,
  wanted: readonly JsonValue[],
  own: readonly string[],
): JsonObject {
  const anonymous = { user: 'system:anonymous', groups: ['system:unauthenticated'] }
  return withStatus(object, [
    ['authenticated', true],
    ['user', userInfo({ ...anonymous, uid: '', extra: {} })],
    ['audiences', [...(wanted.length > 0 ? wanted : own)]],
  ])
}

/** The audience of a server that is started without --api-audiences. */
const defaultAudience = 'https://kubernetes.default.svc'

export function userInfo({ user, uid, groups, extra }: Identity): JsonObject {
  const info: JsonObject = new Map()
  if (user !== '') info.set('username', user)
  if (uid !== '') info.set('uid', uid)
  if (groups.length > 0) info.set('groups', [...groups])
  const extras: JsonObject = new Map()
  for (const [key, values] of Object.entries(extra)) extras.set(key, [...values])
  if (extras.size > 0) info.set('extra', extras)
  return info
}

function withStatus(object: JsonObject, members: readonly [string, JsonValue][]): JsonObject {
  return new Map(object).set('status', new Map(members))
}
