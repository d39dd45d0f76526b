/** Deployments: their annotations count for the generation, too. */

import { goParseInt, JsonNumber, type JsonObject, memberOf } from '@watchglass/go'
import { copyMember, metadataOf, textOf } from '../../metadata.ts'
import { checkImmutable } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofPodName, ofTemplate } from '../../warnings/templates.ts'
import { DecodeError } from '../../decode/typed-decoder.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { amountOf, checkAtMostAll, checkPercent } from '../shared/percents.ts'
import { checkCounts } from '../shared/workload-status.ts'
import { checkSelectedTemplate, checkSelector, strategyValue } from '../shared/workloads.ts'

export const deployment: BuiltInKind = kind({
  group: 'apps',
  kind: 'Deployment',
  plural: 'deployments',
  hasStatus: true,
  complete: readRollback,
  counted: ['spec', 'metadata.annotations'],
  podSpec: ['spec', 'template', 'spec'],
  validateCreate: checkDeployment,
  validateUpdate: (object, old) => {
    checkDeployment(object, old)
    checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
  },
  warn: (object, old) => [
    ...(old === undefined ? ofPodName(object) : []),
    ...ofTemplate(object, old, 'spec'),
  ],
  subresources: {
    status: {
      resets: ['spec', 'metadata.labels'],
      prepare: (object, old) => copyMember(metadataOf(object), metadataOf(old), 'labels'),
      validate: checkCounts('deployment'),
    },
  },
})

function checkDeployment(object: Place, old?: Place): void {
  const spec = object.in('spec')
  spec.in('replicas').notNegative()
  if (checkSelector(spec, 'deployment')) checkSelectedTemplate(spec, 'ReplicaSet', old)
  checkDeploymentStrategy(spec.in('strategy'))
  const [ready, history, deadline] = [
    spec.in('minReadySeconds'),
    spec.in('revisionHistoryLimit'),
    spec.in('progressDeadlineSeconds'),
  ]
  ready.notNegative()
  history.notNegative()
  const rollback = object.in('metadata', 'annotations', rollbackTo).text
  if (rollback.startsWith('-')) {
    spec
      .as('spec.rollback.version', new JsonNumber(rollback))
      .invalid('must be greater than or equal to 0')
  }
  if (!deadline.isSet) return
  deadline.notNegative()
  if (deadline.number <= ready.number) deadline.invalid('must be greater than minReadySeconds')
}

function checkDeploymentStrategy(strategy: Place): void {
  const rolling = strategy.in('rollingUpdate')
  switch (strategy.in('type').text) {
    case 'Recreate':
      if (rolling.isSet) {
        rolling.forbidden("may not be specified when strategy `type` is 'Recreate'")
      }
      break
    case 'RollingUpdate': {
      if (!rolling.isSet) {
        rolling.required('this should be defaulted and never be nil')
        break
      }
      const [unavailable, surge] = [rolling.in('maxUnavailable'), rolling.in('maxSurge')]
      checkPercent(unavailable)
      checkPercent(surge)
      if (amountOf(unavailable) === 0 && amountOf(surge) === 0) {
        unavailable.invalid('may not be 0 when `maxSurge` is 0', unavailable.value ?? zero)
      }
      checkAtMostAll(unavailable)
      break
    }
    default:
      strategy.notSupported(['Recreate', 'RollingUpdate'], strategyValue(strategy))
  }
}

const zero = new JsonNumber('0')

const rollbackTo = 'deprecated.deployment.rollback.to'

/** Deployments of old versions name a revision to go back to, which newer ones have as an
 *  annotation, and Go as a number. */
function readRollback(object: JsonObject): void {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  const text = textOf(memberOf(annotations, rollbackTo))
  if (!(annotations instanceof Map)) return
  if (text === '') {
    annotations.delete(rollbackTo)
    return
  }
  const { value, error } = goParseInt(text)
  if (error !== undefined) {
    throw new DecodeError(`failed to parse annotation[${rollbackTo}]=${text} as int64: ${error}`)
  }
  annotations.set(rollbackTo, String(value))
}
