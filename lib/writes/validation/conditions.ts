/** Conditions of the common type, metav1.Condition. */

import { byteLength, conditionReason, qualifiedName } from './formats.ts'
import type { Place } from './place.ts'

const reasonMaxBytes = 1024
const messageMaxBytes = 32 * 1024

const statuses = ['False', 'True', 'Unknown']

export function checkConditions(conditions: Place): void {
  const seen = new Set<string>()
  for (const condition of conditions.items) {
    const type = condition.in('type')
    if (seen.has(type.text)) type.duplicate(type.text)
    seen.add(type.text)
    checkCondition(condition)
  }
}

function checkCondition(condition: Place): void {
  const [type, generation, time, reason, message] = [
    condition.in('type'),
    condition.in('observedGeneration'),
    condition.in('lastTransitionTime'),
    condition.in('reason'),
    condition.in('message'),
  ]
  type.mustBe(qualifiedName)
  condition.in('status').oneOf(statuses, 'unsupported')
  if (generation.number < 0) generation.invalid('must be greater than or equal to zero')
  if (!time.isSet) time.required()
  if (reason.text === '') reason.required()
  else reason.mustBe(conditionReason)
  if (byteLength(reason.text) > reasonMaxBytes) reason.tooLong(reasonMaxBytes)
  if (byteLength(message.text) > messageMaxBytes) message.tooLong(messageMaxBytes)
}
