/** DaemonSets: changes of the template are counted in an annotation, which Go has as a field. */

import { goParseInt, type JsonObject, memberOf } from '@watchglass/go'
import { isEqual, metadataOf, textOf } from '../../metadata.ts'
import { checkImmutable, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { hasWrongTerms } from '../../validation/pods/scheduling.ts'
import { checkLabelSelector, isEmptySelector, isWrongSelector } from '../../validation/selectors.ts'
import { ofPod } from '../../warnings/pods.ts'
import { DecodeError } from '../../decode/typed-decoder.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { amountOf, checkAtMostAll, checkPercent } from '../shared/percents.ts'
import { checkCounts } from '../shared/workload-status.ts'
import { checkAlwaysRunning, checkMatch, strategyValue } from '../shared/workloads.ts'

export const daemonSet: BuiltInKind = kind({
  group: 'apps',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  hasStatus: true,
  complete: checkTemplateGeneration,
  counted: ['spec'],
  podSpec: ['spec', 'template', 'spec'],
  prepareCreate: beginTemplateGeneration,
  prepareUpdate: countTemplate,
  validateCreate: object => checkDaemonSet(object),
  validateUpdate: (object, old) => {
    checkImmutable(object.in('spec', 'selector'), old.in('spec', 'selector'))
    checkDaemonSet(object, old)
  },
  warn: (object, old) => {
    const template = object.in('spec', 'template')
    const before = old?.in('spec', 'template')
    const isNew = before === undefined || !isSame(template.value, before.value)
    return isNew ? ofPod(template, true) : []
  },
  subresources: {
    status: {
      prepare: (object, old) => setTemplateGeneration(object, generationIn(old)),
      validate: checkCounts('daemon'),
    },
  },
})

const templateGeneration = 'deprecated.daemonset.template.generation'

/** DaemonSets count changes of their template in an annotation, which Go has as a field. */
function beginTemplateGeneration(object: JsonObject): void {
  const known = generationIn(object)
  setTemplateGeneration(object, known >= 1 ? known : 1)
}

function countTemplate(object: JsonObject, old: JsonObject): void {
  const known = generationIn(old)
  const isSame = isEqual(
    memberOf(object.get('spec'), 'template'),
    memberOf(old.get('spec'), 'template'),
  )
  setTemplateGeneration(object, isSame ? known : known + 1)
}

function generationIn(object: JsonObject): number {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  return Number(textOf(memberOf(annotations, templateGeneration)))
}

function setTemplateGeneration(object: JsonObject, generation: number): void {
  const metadata = metadataOf(object)
  const known = metadata.get('annotations')
  const annotations: JsonObject = known instanceof Map ? new Map(known) : new Map()
  annotations.set(templateGeneration, String(generation))
  metadata.set('annotations', annotations)
}

function checkDaemonSet(object: Place, old?: Place): void {
  const spec = object.in('spec')
  const [selector, template] = [spec.in('selector'), spec.in('template')]
  const before = selector.errors.length
  const oldTemplate = old?.in('spec', 'template')
  const areValuesFree =
    isWrongSelector(old?.in('spec', 'selector')) || hasWrongTerms(oldTemplate?.in('spec'))
  checkLabelSelector(selector, { areValuesFree })
  if (selector.errors.length === before) checkMatch(template, selector)
  if (selector.isSet && isEmptySelector(selector)) {
    selector.invalid('empty selector is invalid for daemonset')
  }
  checkAlwaysRunning(template, 'DaemonSet', oldTemplate)
  spec.in('minReadySeconds').notNegative()
  checkDaemonStrategy(spec.in('updateStrategy'))
  spec.in('revisionHistoryLimit').notNegative()
}

function checkDaemonStrategy(strategy: Place): void {
  const [type, rolling] = [strategy.in('type').text, strategy.in('rollingUpdate')]
  if (type === 'OnDelete') return
  if (type !== 'RollingUpdate') {
    strategy.notSupported(['RollingUpdate', 'OnDelete'], strategyValue(strategy))
    return
  }
  if (!rolling.isSet) {
    rolling.required()
    return
  }
  const [unavailable, surge] = [rolling.in('maxUnavailable'), rolling.in('maxSurge')]
  for (const place of [unavailable, surge]) checkPercent(place)
  for (const place of [unavailable, surge]) checkAtMostAll(place)
  const [hasUnavailable, hasSurge] = [amountOf(unavailable) !== 0, amountOf(surge) !== 0]
  if (hasUnavailable && hasSurge) {
    surge.invalid('may not be set when maxUnavailable is non-zero')
  } else if (!hasUnavailable && !hasSurge) {
    unavailable.required('cannot be 0 when maxSurge is 0')
  }
}

/** DaemonSets count their templates in an annotation, which is a number of Go's internal type. */
function checkTemplateGeneration(object: JsonObject): void {
  const annotations = memberOf(object.get('metadata'), 'annotations')
  const generation = memberOf(annotations, templateGeneration)
  if (generation === undefined) return
  const { error } = goParseInt(textOf(generation))
  if (error !== undefined) throw new DecodeError(error)
}
