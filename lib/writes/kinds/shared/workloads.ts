/** The selector and the template of workloads. */

import type { JsonValue } from '@watchglass/go'
import type { Place } from '../../validation/place.ts'
import { checkTemplate } from '../../validation/pods/pod-spec.ts'
import { checkLabelSelector, isEmptySelector, selects } from '../../validation/selectors.ts'

/** The selector of a workload; false if it is none, so that nothing can be selected by it. */
export function checkSelector(spec: Place, kind: string): boolean {
  const selector = spec.in('selector')
  if (!selector.isSet) {
    selector.required()
    return true
  }
  const before = selector.errors.length
  checkLabelSelector(selector)
  const isBroken = selector.errors.length > before
  if (isEmptySelector(selector)) selector.invalid(`empty selector is invalid for ${kind}`)
  if (isBroken) selector.invalid(kind === 'statefulset' ? '' : 'invalid label selector')
  return !isBroken
}

/** @param old the stored workload, of a change */
export function checkSelectedTemplate(spec: Place, kind: string, old?: Place): void {
  const template = spec.in('template')
  checkMatch(template, spec.in('selector'))
  checkAlwaysRunning(template, kind, old?.in('spec', 'template'))
}

/** A selector that is absent selects nothing, an empty one everything. */
export function checkMatch(template: Place, selector: Place): void {
  const labels = template.in('metadata', 'labels')
  const isMet = selector.isSet && selects(selector, labels.object ?? new Map())
  if (!isMet) {
    labels.invalid('`selector` does not match template `labels`', labels.shown)
  }
}

export function checkAlwaysRunning(template: Place, kind: string, old?: Place): void {
  checkTemplate(template, old)
  checkRestarts(template, kind)
}

export function checkRestarts(template: Place, kind: string): void {
  const [policy, deadline] = [
    template.in('spec', 'restartPolicy'),
    template.in('spec', 'activeDeadlineSeconds'),
  ]
  if (policy.text !== 'Always') policy.notSupported(['Always'], policy.text)
  if (deadline.isSet) {
    deadline.forbidden(`activeDeadlineSeconds in ${kind} is not Supported`)
  }
}

/** The server's own types of strategies, as errors show them. */
export function strategyValue(strategy: Place): JsonValue {
  const rolling = strategy.in('rollingUpdate')
  const isOfSet = rolling.in('partition').isSet
  const names = isOfSet ? ['partition', 'maxUnavailable'] : ['maxUnavailable', 'maxSurge']
  const members = names.map((name): [string, JsonValue] => [
    name.replace(/^./, first => first.toUpperCase()),
    rolling.in(name).value ?? null,
  ])
  return new Map<string, JsonValue>([
    ['Type', strategy.in('type').text],
    ['RollingUpdate', rolling.isSet ? new Map(members) : null],
  ])
}
