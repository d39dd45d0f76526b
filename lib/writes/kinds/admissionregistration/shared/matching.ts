/** The requests that webhooks and policies match: rules about resources, and conditions in CEL. */

import { pathSegment, qualifiedName } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'
import { compilePolicy, type PolicyProblem } from '../../../validation/policy-expressions.ts'
import { checkLabelSelector } from '../../../validation/selectors.ts'

export function checkConditions(conditions: Place, expressions: Expressions): void {
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

export function checkRule(rule: Place): void {
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

/** The expressions of a policy or a webhook, compiled together, since some name others. Each must
 *  have the type that is asked for, which is said where the server comes to it. */
export class Expressions {
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

export function checkMatch(match: Place): void {
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
