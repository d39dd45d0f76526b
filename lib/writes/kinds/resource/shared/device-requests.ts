/** The devices that a claim, or the template of a claim, asks for. */

import type { JsonValue } from '@watchglass/go'
import { dnsLabel, dnsSubdomain, labelValue, qualifiedName } from '../../../validation/formats.ts'
import { isSame } from '../../../validation/object-meta.ts'
import type { Place, PlaceRule } from '../../../validation/place.ts'
import {
  checkNames,
  checkOpaque,
  hasSameParameters,
  type Requests,
  requestsOf,
} from './claim-parts.ts'
import { checkDeviceExpression } from './device-expressions.ts'
import { checkMemberName, checkSet } from './device-sets.ts'

export function checkSameSpec(object: Place, old: Place, shown: JsonValue): void {
  const [spec, before] = [object.in('spec'), old.in('spec')]
  const isKept =
    isSame(spec.value, before.value) &&
    hasSameParameters(spec.in('devices'), before.in('devices')) &&
    hasSameParameters(spec.in('spec', 'devices'), before.in('spec', 'devices'))
  if (!isKept) spec.invalid('field is immutable', shown)
}

export function checkDevices(devices: Place): void {
  const requests = requestsOf(devices)
  checkSet(devices.in('requests'), 32, { key: 'name', check: checkRequest })
  checkList(devices.in('constraints'), constraint => checkConstraint(constraint, requests))
  checkList(devices.in('config'), config => {
    checkNames(config.in('requests'), requests)
    checkOpaque(config)
  })
}

/** The lists of claims and classes have at most 32 items. */
export function checkList(list: Place, check: PlaceRule): void {
  if (list.size > 32) list.tooMany(32)
  else for (const item of list.items) check(item)
}

function checkRequest(request: Place): void {
  request.in('name').mustBe(dnsLabel)
  const [exactly, first] = [request.in('exactly'), request.in('firstAvailable')]
  const one = 'exactly one of `exactly` or `firstAvailable` is required'
  if (!exactly.isSet && first.size === 0) request.required(one)
  else if (exactly.isSet && first.size > 0) {
    request.invalid(`${one}, but multiple fields are set`, null)
  } else if (exactly.isSet) checkExactly(exactly)
  else checkSet(first, 8, { key: 'name', check: checkAlternative })
}

function checkAlternative(request: Place): void {
  request.in('name').mustBe(dnsLabel)
  checkExactly(request)
}

function checkExactly(request: Place): void {
  const [name, mode, count] = [
    request.in('deviceClassName'),
    request.in('allocationMode'),
    request.in('count'),
  ]
  if (name.text === '') name.required()
  else name.mustBe(dnsSubdomain)
  checkSelectors(request.in('selectors'))
  if (mode.text === 'All') {
    const detail = "must not be specified when allocationMode is 'All'"
    if (count.number !== 0) count.invalid(detail)
  } else if (mode.text === 'ExactCount') {
    if (count.number <= 0) count.invalid('must be greater than zero')
  } else mode.notSupported(['All', 'ExactCount'], mode.text)
  for (const toleration of request.in('tolerations').items) checkToleration(toleration)
}

export function checkSelectors(selectors: Place): void {
  checkList(selectors, selector => {
    const cel = selector.in('cel')
    if (!cel.isSet) cel.required()
    else checkDeviceExpression(cel.in('expression'))
  })
}

function checkToleration(toleration: Place): void {
  const [key, operator, value, effect] = [
    toleration.in('key'),
    toleration.in('operator'),
    toleration.in('value'),
    toleration.in('effect'),
  ]
  if (key.text !== '') key.mustBe(qualifiedName)
  if (operator.text === 'Exists') {
    if (value.text !== '') value.invalid('must be empty for operator `Exists`')
  } else if (operator.text === 'Equal') value.mustBe(labelValue)
  else operator.oneOf(['Equal', 'Exists'], 'required')
  effect.oneOf(['NoExecute', 'NoSchedule', 'None'], 'fine')
}

function checkConstraint(constraint: Place, requests: Requests): void {
  checkNames(constraint.in('requests'), requests)
  const match = constraint.in('matchAttribute')
  const attribute = match.isSet ? match : constraint.in('distinctAttribute')
  if (attribute.isSet) checkFullName(attribute)
  else {
    constraint.required(
      'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
    )
  }
}

function checkFullName(name: Place): void {
  checkMemberName(name, name.text)
  if (name.text.includes('/')) return
  name.invalid('a fully qualified name must be a domain and a name separated by a slash', name.text)
}
