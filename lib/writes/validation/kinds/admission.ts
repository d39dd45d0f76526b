/** Webhooks and policies of admission, with their expressions. */

import type { JsonValue } from '@watchglass/go'
import { isIdentifier } from '@watchglass/cel'
import { parseJsonPath } from '@watchglass/codec'
import { fullyQualifiedName } from '../domain-names.ts'
import { dns1035Label, dnsSubdomain, pathSegment, qualifiedName } from '../formats.ts'
import { checkConditions as checkStatusConditions } from '../conditions.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkFreeMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'
import { compilePolicy, type PolicyProblem } from '../policy-expressions.ts'
import { checkLabelSelector } from '../selectors.ts'
import { checkWebhookService, checkWebhookUrl } from '../webhook-clients.ts'

const webhookRules: KindRules = {
  hasFreeFinalizers: true,
  hasFreeUpdate: true,
  create: object => checkWebhooks(object.in('webhooks')),
  update: (object, old) => {
    checkFreeMeta(object, false)
    checkWebhooks(object.in('webhooks'), old.in('webhooks'))
  },
}

export const admissionRules: Readonly<Record<string, KindRules>> = {
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': webhookRules,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': webhookRules,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': {
    hasFreeFinalizers: true,
    hasFreeUpdate: true,
    hasFreeStatusMetadata: true,
    create: object => checkPolicy(object),
    update: (object, old) => {
      checkFreeMeta(object, false)
      checkPolicy(object, old)
    },
    subresources: {
      status: object => {
        const warnings = object.in('status', 'typeChecking', 'expressionWarnings')
        for (const warning of warnings.items) {
          if (warning.in('warning').text === '') warning.in('warning').required()
          checkFieldPath(warning.in('fieldRef'))
        }
        checkStatusConditions(object.in('status', 'conditions'))
      },
    },
  },
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': bindingRules(spec => {
    checkBinding(spec)
    checkActions(spec.in('validationActions'))
  }),
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': {
    hasFreeFinalizers: true,
    hasFreeUpdate: true,
    create: object => checkMutatingPolicy(object.in('spec')),
    update: (object, old) => {
      checkFreeMeta(object, false)
      checkMutatingPolicy(object.in('spec'), old.in('spec'))
    },
  },
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': bindingRules(spec => {
    checkBinding(spec)
    checkMutating(spec.in('matchResources', 'resourceRules'))
  }),
}

/** The path of an expression that a warning is about. */
function checkFieldPath(reference: Place): void {
  const path = reference.text.trim()
  if (path === '') reference.required()
  else {
    const problem = parseJsonPath(`{${path}}`)
    if (typeof problem === 'string') reference.invalid(`invalid JSONPath: ${problem}`, path)
  }
}

function bindingRules(check: (spec: Place) => void): KindRules {
  return {
    hasFreeFinalizers: true,
    hasFreeUpdate: true,
    create: object => check(object.in('spec')),
    update: object => {
      checkFreeMeta(object, false)
      check(object.in('spec'))
    },
  }
}

const harmless = ['None', 'NoneOnDryRun']
const reviewVersions = ['v1', 'v1beta1']

/** Old objects may keep values that new ones may not have. */
function checkWebhooks(webhooks: Place, old?: Place): void {
  const areHarmless = old?.items.every(hook => harmless.includes(hook.in('sideEffects').text))
  const conditionsOf = (hook: Place): JsonValue => hook.in('matchConditions').value ?? null
  const [now, before] = [webhooks, old].map(list => list?.items.map(conditionsOf) ?? null)
  const keepsConditions = old !== undefined && isSame(now, before)
  const names = new Set<string>()
  for (const hook of webhooks.items) {
    checkWebhook(hook, { areHarmless: areHarmless !== false, keepsConditions })
    checkReviewVersions(hook.in('admissionReviewVersions'))
    const name = hook.in('name')
    if (name.text !== '' && names.has(name.text)) name.duplicate()
    names.add(name.text)
  }
}

interface WebhookOptions {
  readonly areHarmless: boolean
  readonly keepsConditions: boolean
}

function checkWebhook(hook: Place, { areHarmless, keepsConditions }: WebhookOptions): void {
  fullyQualifiedName(hook.in('name'))
  for (const rule of hook.in('rules').items) checkRule(rule)
  checkChoices(hook)
  const effects = hook.in('sideEffects')
  const allowed = areHarmless ? harmless : [...harmless, 'Some', 'Unknown']
  if (effects.isSet) effects.oneOf(allowed, 'unsupported')
  else effects.required(`must specify one of ${allowed.join(', ')}`)
  const seconds = hook.in('timeoutSeconds')
  if (seconds.isSet && (seconds.number > 30 || seconds.number < 1)) {
    seconds.invalid('the timeout value must be between 1 and 30 seconds')
  }
  checkLabelSelector(hook.in('namespaceSelector'))
  checkLabelSelector(hook.in('objectSelector'))
  const reinvocation = hook.in('reinvocationPolicy')
  if (reinvocation.isSet) reinvocation.oneOf(['IfNeeded', 'Never'], 'unsupported')
  const client = hook.in('clientConfig')
  const [url, service] = [client.in('url'), client.in('service')]
  if (url.isSet === service.isSet) client.required('exactly one of url or service is required')
  else if (url.isSet) checkWebhookUrl(url)
  else checkWebhookService(service)
  if (!keepsConditions) checkConditions(hook.in('matchConditions'), new Expressions(hook))
}

function checkChoices(hook: Place): void {
  for (const [name, values] of [
    ['failurePolicy', ['Fail', 'Ignore']],
    ['matchPolicy', ['Equivalent', 'Exact']],
  ] as const) {
    if (hook.in(name).isSet) hook.in(name).oneOf(values, 'unsupported')
  }
}

function checkReviewVersions(versions: Place): void {
  if (versions.size === 0) {
    versions.required(`must specify one of ${reviewVersions.join(', ')}`)
    return
  }
  const seen = new Set<string>()
  for (const version of versions.items) {
    if (seen.has(version.text)) version.invalid('duplicate version')
    else version.mustBe(dns1035Label)
    seen.add(version.text)
  }
  if (!versions.texts.some(text => reviewVersions.includes(text))) {
    versions.invalid(`must include at least one of ${reviewVersions.join(', ')}`)
  }
}

function checkConditions(conditions: Place, expressions: Expressions): void {
  if (conditions.size > 64) conditions.tooMany(64)
  const names = new Set<string>()
  for (const condition of conditions.items) {
    const [expression, name] = [condition.in('expression'), condition.in('name')]
    if (expression.text.trim() === '') expression.required()
    else expressions.check(expression)
    if (name.text === '') {
      name.required()
      continue
    }
    name.mustBe(qualifiedName)
    if (names.has(name.text)) name.duplicate()
    names.add(name.text)
  }
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

function checkRule(rule: Place): void {
  const places = [rule.in('operations'), rule.in('apiGroups'), rule.in('apiVersions')] as const
  const [verbs, groups, versions] = places
  if (verbs.size === 0) verbs.required()
  checkAlone(verbs, 'operations')
  for (const verb of verbs.items) verb.oneOf(operations, 'unsupported')
  if (groups.size === 0) groups.required()
  checkAlone(groups, 'API groups')
  if (versions.size === 0) versions.required()
  checkAlone(versions, 'API versions')
  for (const version of versions.items) if (version.text === '') version.required()
  checkResources(rule.in('resources'))
  const scope = rule.in('scope')
  if (scope.isSet) scope.oneOf(['*', 'Cluster', 'Namespaced'], 'unsupported')
}

function checkAlone(list: Place, words: string): void {
  if (list.size < 2 || !list.texts.includes('*')) return
  list.invalid(`if '*' is present, must not specify other ${words}`)
}

/** `pods`, `pods/status`, and stars for either. */
function checkResources(resources: Place): void {
  if (resources.size === 0) resources.required()
  const [whole, everywhere] = [new Set<string>(), new Set<string>()]
  let hasPlain = false
  for (const resource of resources.items) {
    const { text } = resource
    if (text === '') {
      resource.required()
      continue
    }
    const slash = text.indexOf('/')
    if (slash < 0) {
      hasPlain = text !== '*'
      continue
    }
    const [name, part] = [text.slice(0, slash), text.slice(slash + 1)]
    if (whole.has(name)) resource.invalid(`if '${name}/*' is present, must not specify ${text}`)
    if (everywhere.has(part)) {
      resource.invalid(`if '*/${part}' is present, must not specify ${text}`)
    }
    if (part === '*') whole.add(name)
    if (name === '*') everywhere.add(part)
  }
  if (resources.size > 1 && resources.texts.includes('*/*')) {
    resources.invalid("if '*/*' is present, must not specify other resources")
  }
  if (resources.texts.includes('*') && hasPlain) {
    resources.invalid("if '*' is present, must not specify other resources without subresources")
  }
}

/** The part that both kinds of policies have. */
function checkCommon(
  spec: Place,
  old: Place | undefined,
  checkMore?: (rules: Place) => void,
): Expressions {
  const expressions = new Expressions(spec)
  spec.in('failurePolicy').oneOf(['Fail', 'Ignore'], 'unsupported')
  if (spec.in('paramKind').isSet) checkParamKind(spec.in('paramKind'))
  const constraints = spec.in('matchConstraints')
  if (constraints.isSet) {
    checkMatch(constraints)
    const rules = constraints.in('resourceRules')
    if (rules.size === 0) rules.required()
    checkMore?.(rules)
  } else constraints.required()
  const names = ['paramKind', 'matchConditions']
  const isKept = names.every(name => isSame(spec.in(name).value, old?.in(name).value))
  if (old === undefined || !isKept) checkConditions(spec.in('matchConditions'), expressions)
  for (const variable of spec.in('variables').items) checkVariable(variable, expressions)
  return expressions
}

const mutatingOperations = ['*', 'CONNECT', 'CREATE', 'UPDATE']

function checkMutatingPolicy(spec: Place, old?: Place): void {
  const expressions = checkCommon(spec, old, checkMutating)
  const mutations = spec.in('mutations')
  if (mutations.size === 0) mutations.required('mutations must contain at least one item')
  for (const mutation of mutations.items) checkMutation(mutation, expressions)
  spec.in('reinvocationPolicy').oneOf(['IfNeeded', 'Never'], 'required')
}

/** Who deletes is not mutated. */
function checkMutating(rules: Place): void {
  for (const { text } of rules.items.flatMap(rule => rule.in('operations').items)) {
    if (!mutatingOperations.includes(text)) {
      rules.in('operations').notSupported(mutatingOperations, text)
    }
  }
}

function checkMutation(mutation: Place, expressions: Expressions): void {
  const type = mutation.in('patchType')
  const members = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const
  type.oneOf(Object.keys(members), 'required')
  if (type.text !== 'ApplyConfiguration' && type.text !== 'JSONPatch') return
  const own = members[type.text]
  const other = own === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch'
  const [place, unwanted] = [mutation.in(own), mutation.in(other)]
  if (!place.isSet) place.required(`must be specified when patchType is ${type.text}`)
  else if (place.in('expression').text.trim() === '') place.in('expression').required()
  else expressions.check(place.in('expression'))
  if (unwanted.isSet) {
    unwanted.invalid(`must not be specified when patchType is ${type.text}`, `{${other}}`)
  }
}

function checkPolicy(object: Place, old?: Place): void {
  const spec = object.in('spec')
  const expressions = checkCommon(spec, old?.in('spec'))
  const [validations, annotations] = [spec.in('validations'), spec.in('auditAnnotations')]
  if (validations.size === 0 && annotations.size === 0) {
    for (const place of [validations, annotations]) {
      place.required('validations or auditAnnotations must contain at least one item')
    }
    return
  }
  for (const validation of validations.items) checkValidation(validation, expressions)
  checkAnnotations(annotations, object.in('metadata', 'name').text, expressions)
}

/** The expressions of a policy or a webhook, compiled together, since some name others. Each must
 *  have the type that is asked for, which is said where the server comes to it. */
class Expressions {
  readonly #problems = new Map<string, PolicyProblem>()

  constructor(root: Place) {
    for (const problem of compilePolicy(root.value).problems) {
      let place = root
      for (const step of problem.path) {
        place = typeof step === 'number' ? place.item(step) : place.in(step)
      }
      this.#problems.set(place.path, problem)
    }
  }

  check(expression: Place): void {
    const problem = this.#problems.get(expression.path)
    if (problem?.isInternal === true) expression.failed(problem.detail)
    else if (problem !== undefined) expression.invalid(problem.detail, problem.source)
  }
}

function checkParamKind(kind: Place): void {
  const [version, name] = [kind.in('apiVersion'), kind.in('kind')]
  if (version.text === '') version.required()
  else {
    const parts = version.text.split('/')
    const [group, number = ''] = parts.length === 1 ? ['', ...parts] : parts
    if (parts.length > 2) {
      version.invalid(`unexpected GroupVersion string: ${version.text}`)
    } else {
      const groupErrors = group === '' || group === undefined ? [] : dnsSubdomain(group)
      if (groupErrors.length > 0) version.invalid(groupErrors.join(','), group ?? '')
      const errors = dns1035Label(number)
      if (number === '') version.invalid('version must be specified')
      else if (errors.length > 0) version.invalid(errors.join(','), number)
    }
  }
  const errors = dns1035Label(name.text.toLowerCase())
  if (name.text === '') name.required()
  else if (errors.length > 0) {
    name.invalid(`may have mixed case, but should otherwise match: ${errors.join(',')}`)
  }
}

function checkMatch(match: Place): void {
  const policy = match.in('matchPolicy')
  if (policy.isSet) policy.oneOf(['Equivalent', 'Exact'], 'unsupported')
  else policy.required()
  for (const name of ['namespaceSelector', 'objectSelector']) {
    const selector = match.in(name)
    if (selector.isSet) checkLabelSelector(selector)
    else selector.required()
  }
  const rules = ['resourceRules', 'excludeResourceRules'].flatMap(name => match.in(name).items)
  for (const rule of rules) {
    const seen = new Set<string>()
    for (const name of rule.in('resourceNames').items) {
      name.mustBe(pathSegment)
      if (seen.has(name.text)) name.duplicate()
      seen.add(name.text)
    }
    checkRule(rule)
  }
}

function checkVariable(variable: Place, expressions: Expressions): void {
  const [name, expression] = [variable.in('name'), variable.in('expression')]
  if (name.text.trim() === '') name.required('name is not specified')
  else if (!isIdentifier(name.text)) name.invalid('must be a valid CEL identifier')
  if (expression.text.trim() === '') expression.required('expression is not specified')
  else expressions.check(expression)
}

function checkValidation(validation: Place, expressions: Expressions): void {
  const [expression, message, own, reason] = [
    validation.in('expression'),
    validation.in('message'),
    validation.in('messageExpression'),
    validation.in('reason'),
  ]
  if (expression.text.trim() === '') expression.required('expression is not specified')
  else expressions.check(expression)
  const isBlank = (place: Place): boolean => place.text !== '' && place.text.trim() === ''
  if (isBlank(own)) own.invalid('must be non-empty if specified')
  else expressions.check(own)
  if (isBlank(message)) message.invalid('must be non-empty if specified')
  else if (/[\n\r]/.test(message.text.trim())) message.invalid('must not contain line breaks')
  if (reason.isSet) reason.oneOf(['Forbidden', 'Invalid', 'RequestEntityTooLarge'], 'unsupported')
}

/** Bytes of the expression of an audit annotation. */
const annotationMaxBytes = 5 * 1024

function checkAnnotations(annotations: Place, policy: string, expressions: Expressions): void {
  if (annotations.size > 20) {
    // The server shows its own form of the list, which has no names of JSON.
    const shown = annotations.items.map(
      one =>
        new Map([
          ['Key', one.in('key').text],
          ['ValueExpression', one.in('valueExpression').text],
        ]),
    )
    annotations.invalid('must not have more than 20 auditAnnotations', shown)
  }
  const keys = new Set<string>()
  for (const annotation of annotations.items) {
    const [key, value] = [annotation.in('key'), annotation.in('valueExpression')]
    const name = `${policy}/${key.text}`
    if (policy === '') key.invalid('requires metadata.name be non-empty', key.text)
    else key.invalidFor(qualifiedName(name), name)
    const expression = value.text.trim()
    if (expression === '') value.required('valueExpression is not specified')
    else if (Buffer.byteLength(expression) > annotationMaxBytes) {
      value.required(`must not exceed ${annotationMaxBytes} bytes in length`)
    } else expressions.check(value)
    if (keys.has(key.text)) key.duplicate(key.text)
    keys.add(key.text)
  }
}

const actions = ['Audit', 'Deny', 'Warn']

function checkBinding(spec: Place): void {
  const [policy, parameters] = [spec.in('policyName'), spec.in('paramRef')]
  if (policy.text === '') policy.required()
  else policy.mustBe(dnsSubdomain)
  if (parameters.isSet) checkParameters(parameters)
  if (spec.in('matchResources').isSet) checkMatch(spec.in('matchResources'))
}

function checkActions(list: Place): void {
  const seen = new Set<string>()
  for (const action of list.items) {
    action.oneOf(actions, 'unsupported')
    if (seen.has(action.text)) action.duplicate()
    seen.add(action.text)
  }
  if (seen.has('Deny') && seen.has('Warn')) {
    list.invalid(
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (seen.size === 0) list.required('at least one validation action is required')
}

function checkParameters(reference: Place): void {
  const [name, selector, action] = [
    reference.in('name'),
    reference.in('selector'),
    reference.in('parameterNotFoundAction'),
  ]
  const both = 'name and selector are mutually exclusive'
  if (name.text !== '') {
    name.mustBe(pathSegment)
    if (selector.isSet) name.forbidden(both)
  }
  if (selector.isSet) {
    checkLabelSelector(selector)
    if (name.text !== '') selector.forbidden(both)
  }
  if (name.text === '' && !selector.isSet) {
    reference.required('one of name or selector must be specified')
  }
  action.oneOf(['Deny', 'Allow'], 'required')
}
