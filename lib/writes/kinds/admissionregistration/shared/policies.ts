/** Policies that mutate and that validate. */

import { isIdentifier } from '@watchglass/cel'
import { dns1035Label, dnsSubdomain } from '../../../validation/formats.ts'
import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'
import { checkConditions, checkMatch, Expressions } from './matching.ts'

/** The part that both kinds of policies have. */
export function checkCommon(
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

/** Refuses rules about DELETE: there is no object to mutate. */
export function checkMutating(rules: Place): void {
  for (const { text } of rules.items.flatMap(rule => rule.in('operations').items)) {
    if (!mutatingOperations.includes(text)) {
      rules.in('operations').notSupported(mutatingOperations, text)
    }
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

function checkVariable(variable: Place, expressions: Expressions): void {
  const [name, expression] = [variable.in('name'), variable.in('expression')]
  if (name.text.trim() === '') name.required('name is not specified')
  else if (!isIdentifier(name.text)) name.invalid('must be a valid CEL identifier')
  if (expression.text.trim() === '') expression.required('expression is not specified')
  else expressions.check(expression)
}
