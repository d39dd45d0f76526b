/** The nodes that a pod may run on: affinities, tolerations, spread. */

import type { FieldError } from '../../field-errors.ts'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../formats.ts'
import type { Place } from '../place.ts'
import { checkLabelSelector, checkOperator, isWrongSelector, refuseOperator } from '../selectors.ts'

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
export const taintEffects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** @param old the stored spec, of a change */
export function checkAffinity(affinity: Place, old?: Place): void {
  const node = affinity.in('nodeAffinity')
  const oldTerms = old?.in('affinity', 'nodeAffinity', required, 'nodeSelectorTerms')
  const areNodeValuesFree = oldTerms !== undefined && hasWrongValue(oldTerms)
  if (node.in(required).isSet) checkNodeSelector(node.in(required), areNodeValuesFree)
  const areValuesFree = hasWrongTerms(old)
  for (const term of node.in(preferred).items) {
    checkWeight(term.in('weight'))
    checkNodeTerm(term.in('preference'), { areValuesFree: true })
  }
  for (const name of ['podAffinity', 'podAntiAffinity']) {
    const pods = affinity.in(name)
    for (const term of pods.in(required).items) checkPodTerm(term, areValuesFree)
    for (const term of pods.in(preferred).items) {
      checkWeight(term.in('weight'))
      checkPodTerm(term.in('podAffinityTerm'), areValuesFree)
    }
  }
}

/** Whether the terms of a stored spec that select pods have errors
 *  (hasInvalidLabelValueInAffinitySelector). */
export function hasWrongTerms(spec: Place | undefined): boolean {
  if (spec === undefined) return false
  return ['podAffinity', 'podAntiAffinity'].some(name => {
    const pods = spec.in('affinity', name)
    const terms = [
      ...pods.in(required).items,
      ...pods.in(preferred).items.map(term => term.in('podAffinityTerm')),
    ]
    return terms.some(
      term =>
        isWrongSelector(term.in('labelSelector')) || isWrongSelector(term.in('namespaceSelector')),
    )
  })
}

/** Whether terms that choose nodes have values that no label has. */
export function hasWrongValue(terms: Place): boolean {
  return terms.items.some(term =>
    term
      .in('matchExpressions')
      .items.some(item => item.in('values').texts.some(value => labelValue(value).length > 0)),
  )
}

function checkWeight(weight: Place): void {
  if (weight.number <= 0 || weight.number > 100) {
    weight.invalid('must be in the range 1-100', weight.number)
  }
}

export function checkNodeSelector(selector: Place, areValuesFree = false): void {
  const terms = selector.in('nodeSelectorTerms')
  if (terms.size === 0) terms.required('must have at least one node selector term')
  for (const term of terms.items) checkNodeTerm(term, { areValuesFree })
}

function checkNodeTerm(term: Place, { areValuesFree }: { readonly areValuesFree: boolean }): void {
  for (const item of term.in('matchExpressions').items) {
    checkNodeOperator(item)
    item.in('key').mustBe(qualifiedName)
    if (areValuesFree) continue
    for (const value of item.in('values').items) value.mustBe(labelValue)
  }
  for (const item of term.in('matchFields').items) checkNodeField(item)
}

/** The operators of nodes also compare numbers. */
function checkNodeOperator(item: Place): void {
  checkOperator(item, (operator, values) => {
    if (operator.text !== 'Gt' && operator.text !== 'Lt') refuseOperator(operator)
    else if (values.size !== 1) {
      values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    }
  })
}

function checkNodeField(item: Place): void {
  const [operator, values, key] = [item.in('operator'), item.in('values'), item.in('key')]
  if (!['In', 'NotIn'].includes(operator.text)) {
    operator.invalidName('not a valid selector operator')
  } else if (values.size !== 1) {
    values.required(
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    )
  }
  if (key.text !== 'metadata.name') key.invalid('not a valid field selector key', key.text)
  else for (const value of values.items) value.mustBe(dnsSubdomain)
}

function checkPodTerm(term: Place, areValuesFree: boolean): void {
  checkLabelSelector(term.in('labelSelector'), { areValuesFree })
  checkLabelSelector(term.in('namespaceSelector'), { areValuesFree })
  const namespaces = term.in('namespaces')
  for (const name of namespaces.texts) {
    namespaces.as(`${term.path}.namespace`).invalidFor(dnsLabel(name), name)
  }
  checkLabelKeys(term)
  const key = term.in('topologyKey')
  if (key.text === '') key.required('can not be empty')
  key.mustBe(qualifiedName)
}

/** Labels of the pod whose values are added to the selector. */
export function checkLabelKeys(term: Place): void {
  const selector = term.in('labelSelector')
  const [match, mismatch] = [term.in('matchLabelKeys'), term.in('mismatchLabelKeys')]
  for (const keys of [match, mismatch]) {
    if (keys.size === 0) continue
    if (!selector.isSet) keys.forbidden('must not be specified when labelSelector is not set')
    else for (const key of keys.items) key.mustBe(qualifiedName)
  }
  const selected = new Set(selector.in('matchLabels').entries.map(([key]) => key))
  for (const item of selector.in('matchExpressions').items) {
    const key = item.in('key').text
    const i = match.texts.lastIndexOf(key)
    if (i >= 0 && selected.has(key)) {
      term.as(`${term.path}[${i}]`).invalid('exists in both matchLabelKeys and labelSelector', key)
    }
    selected.add(key)
  }
  for (const key of match.items) {
    if (!mismatch.texts.includes(key.text)) continue
    key.invalid('exists in both matchLabelKeys and mismatchLabelKeys')
  }
}

export function checkTolerations(tolerations: Place): void {
  for (const toleration of tolerations.items) {
    const [key, operator, effect] = [
      toleration.in('key'),
      toleration.in('operator'),
      toleration.in('effect'),
    ]
    if (key.text !== '') key.mustBe(qualifiedName)
    else if (operator.text !== 'Exists') {
      operator.invalid(
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        operator.text,
      )
    }
    if (toleration.in('tolerationSeconds').isSet && effect.text !== 'NoExecute') {
      effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set", effect.text)
    }
    checkTolerationValue(toleration)
    if (effect.text !== '') effect.oneOf(taintEffects, 'unsupported')
  }
}

function checkTolerationValue(toleration: Place): void {
  const [operator, value] = [toleration.in('operator'), toleration.in('value')]
  switch (operator.text) {
    case 'Equal':
    case '': {
      const errors = labelValue(value.text)
      if (errors.length > 0) operator.invalid(errors.join(';'), value.text)
      break
    }
    case 'Exists':
      if (value.text !== '') {
        operator.invalid("value must be empty when `operator` is 'Exists'", value.text)
      }
      break
    case 'Lt':
    case 'Gt':
      operator.notSupported(['Equal', 'Exists', 'Lt', 'Gt'])
      break
    default:
      operator.notSupported(['Equal', 'Exists'])
  }
}

/** Tolerations compare numbers only behind an alpha gate: a pod that has such ones from a cluster
 *  where it is on keeps them, and may get others. */
export function withoutKnownComparisons(errors: FieldError[], before: Place): FieldError[] {
  return errors.filter(({ field, reason }) => {
    const path = /^(.*\bspec\.tolerations)\[\d+\]\.operator$/.exec(field)?.[1]
    if (reason !== 'FieldValueNotSupported' || path === undefined) return true
    const known = before.in(...path.split('.')).items
    return !known.some(toleration => ['Lt', 'Gt'].includes(toleration.in('operator').text))
  })
}

/** @param old the stored spec, of a change */
export function checkSpread(constraints: Place, old?: Place): void {
  const known = old?.in('topologySpreadConstraints').items ?? []
  const areSelectorsFree = known.some(one => isWrongSelector(one.in('labelSelector')))
  const items = constraints.items
  for (const [i, constraint] of items.entries()) {
    const [skew, key, when] = [
      constraint.in('maxSkew'),
      constraint.in('topologyKey'),
      constraint.in('whenUnsatisfiable'),
    ]
    if (skew.number <= 0) skew.invalid('must be greater than zero', skew.number)
    if (key.text === '') key.required('can not be empty')
    when.oneOf(['DoNotSchedule', 'ScheduleAnyway'], 'unsupported')
    const isRepeated = items
      .slice(i + 1)
      .some(
        other =>
          other.in('topologyKey').text === key.text &&
          other.in('whenUnsatisfiable').text === when.text,
      )
    if (isRepeated) {
      constraint.in('{topologyKey, whenUnsatisfiable}').duplicate(`{${key.text}, ${when.text}}`)
    }
    checkSpreadOptions(constraint, when.text)
    if (!areSelectorsFree) checkLabelSelector(constraint.in('labelSelector'))
  }
}

function checkSpreadOptions(constraint: Place, when: string): void {
  const domains = constraint.in('minDomains')
  if (domains.isSet) {
    if (domains.number <= 0) domains.invalid('must be greater than zero')
    if (when !== 'DoNotSchedule') {
      domains.invalid(`can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${when}`)
    }
  }
  for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy']) {
    if (constraint.in(name).isSet) constraint.in(name).oneOf(['Honor', 'Ignore'], 'unsupported')
  }
  checkLabelKeys(constraint)
}
