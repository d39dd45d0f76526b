/** ValidatingAdmissionPolicies: rules in CEL (KEP 3488), whose status has the warnings of their
 *  types. */

import { parseJsonPath } from '@watchglass/codec'
import { checkConditions as checkStatusConditions } from '../../validation/conditions.ts'
import { qualifiedName } from '../../validation/formats.ts'
import { checkFreeMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import type { Expressions } from './shared/matching.ts'
import { checkCommon } from './shared/policies.ts'
import { ofStaticName } from './shared/static-names.ts'

export const validatingAdmissionPolicy: BuiltInKind = kind({
  group: 'admissionregistration.k8s.io',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  hasStatus: true,
  keepsMetadata: true,
  createsByStatus: true,
  needsVersion: true,
  counted: ['spec'],
  hasFreeFinalizers: true,
  hasFreeUpdate: true,
  hasFreeStatusMetadata: true,
  validateCreate: object => checkPolicy(object),
  validateUpdate: (object, old) => {
    checkFreeMeta(object, false)
    checkPolicy(object, old)
  },
  warn: ofStaticName,
  subresources: {
    status: {
      validate: object => {
        const warnings = object.in('status', 'typeChecking', 'expressionWarnings')
        for (const warning of warnings.items) {
          if (warning.in('warning').text === '') warning.in('warning').required()
          checkFieldPath(warning.in('fieldRef'))
        }
        checkStatusConditions(object.in('status', 'conditions'))
      },
    },
  },
})

/** The path of an expression that a warning is about. */
function checkFieldPath(reference: Place): void {
  const path = reference.text.trim()
  if (path === '') reference.required()
  else {
    const problem = parseJsonPath(`{${path}}`)
    if (typeof problem === 'string') reference.invalid(`invalid JSONPath: ${problem}`, path)
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
