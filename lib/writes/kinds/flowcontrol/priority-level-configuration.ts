/** PriorityLevelConfigurations: how many requests of a level may run at once (KEP 1040). */

import { internalValue } from '../../validation/internal-types.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { problemOfLevel } from './shared/mandatory-flows.ts'
import { checkTypes, keepAllMetadata } from './shared/statuses.ts'

export const priorityLevelConfiguration: BuiltInKind = kind({
  group: 'flowcontrol.apiserver.k8s.io',
  kind: 'PriorityLevelConfiguration',
  plural: 'prioritylevelconfigurations',
  hasStatus: true,
  counted: ['spec'],
  hasFreeUpdate: true,
  hasFreeStatusMetadata: true,
  validateCreate: checkLevel,
  validateUpdate: object => {
    checkNewMeta(object, false)
    checkLevel(object)
  },
  subresources: {
    status: {
      resets: ['metadata', 'spec'],
      prepare: keepAllMetadata,
      validate: checkTypes,
    },
  },
})

function checkLevel(object: Place): void {
  const spec = object.in('spec')
  checkLevelType(object)
  const problem = problemOfLevel(object.in('metadata', 'name').text, spec)
  if (problem === undefined) return
  spec.invalid(problem, internalValue('PriorityLevelConfigurationSpec', spec.value))
}

function checkLevelType(object: Place): void {
  const spec = object.in('spec')
  const [type, limited, exempt] = [spec.in('type'), spec.in('limited'), spec.in('exempt')]
  const isExempt = object.in('metadata', 'name').text === 'exempt'
  if (isExempt !== (type.text === 'Exempt')) {
    type.invalid("must be 'Exempt' if and only if `name` is 'exempt'", type.text)
  }
  if (type.text === 'Exempt') {
    if (limited.isSet) limited.forbidden('must be nil if the type is not Limited')
    checkShares(exempt)
  } else if (type.text === 'Limited') {
    if (exempt.isSet) exempt.forbidden('must be nil if the type is Limited')
    if (limited.isSet) checkLimited(limited)
    else limited.required('must not be empty when type is Limited')
  } else type.oneOf(['Exempt', 'Limited'], 'required')
}

function checkShares(level: Place): void {
  const [shares, percent] = [level.in('nominalConcurrencyShares'), level.in('lendablePercent')]
  if (shares.number < 0) shares.invalid('must be a non-negative integer')
  if (percent.number < 0 || percent.number > 100) {
    percent.invalid('must be between 0 and 100, inclusive')
  }
}

function checkLimited(limited: Place): void {
  const shares = limited.in('nominalConcurrencyShares')
  if (shares.number < 0) shares.invalid('must be a non-negative integer')
  const response = limited.in('limitResponse')
  const [type, queuing] = [response.in('type'), response.in('queuing')]
  if (type.text === 'Reject') {
    if (queuing.isSet) {
      queuing.forbidden('must be nil if limited.limitResponse.type is not Limited')
    }
  } else if (type.text === 'Queue') {
    if (queuing.isSet) checkQueuing(queuing)
    else queuing.required('must not be empty if limited.limitResponse.type is Limited')
  } else type.oneOf(['Queue', 'Reject'], 'required')
  const [percent, borrowed] = [limited.in('lendablePercent'), limited.in('borrowingLimitPercent')]
  if (percent.number < 0 || percent.number > 100) {
    percent.invalid('must be between 0 and 100, inclusive')
  }
  if (borrowed.number < 0) borrowed.invalid('if specified, must be a non-negative integer')
}

function checkQueuing(queuing: Place): void {
  const [length, queues, hand] = [
    queuing.in('queueLengthLimit'),
    queuing.in('queues'),
    queuing.in('handSize'),
  ]
  if (length.number <= 0) length.invalid('must be positive', length.number)
  if (queues.number <= 0) queues.invalid('must be positive', queues.number)
  else if (queues.number > 1e7) queues.invalid('must not be greater than 10000000')
  if (hand.number <= 0) hand.invalid('must be positive', hand.number)
  else if (hand.number > queues.number) {
    hand.invalid(`should not be greater than queues (${queues.number})`)
  } else if (entropyOf(queues.number, hand.number) > 60) {
    hand.invalid(
      `required entropy bits of deckSize ${queues.number} and handSize ${hand.number} should not be greater than 60`,
    )
  }
}

/** Bits that it takes to choose a hand of queues. */
function entropyOf(queues: number, hand: number): number {
  return Math.ceil(Math.log2(queues) * hand)
}
