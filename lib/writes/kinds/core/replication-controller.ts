/** ReplicationControllers: ReplicaSets before there were any, which leave their pods when
 *  they go. */

import { dnsSubdomainInBytes } from '../../validation/formats.ts'
import { isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { ofPod } from '../../warnings/pods.ts'
import { hasChanged, ofPodName, ofTemplate } from '../../warnings/templates.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkCounts } from '../shared/workload-status.ts'
import { checkAlwaysRunning, checkMatch } from '../shared/workloads.ts'

export const replicationController: BuiltInKind = kind({
  group: '',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  hasStatus: true,
  collection: 'orphan',
  counted: ['spec'],
  podSpec: ['spec', 'template', 'spec'],
  nameFormat: dnsSubdomainInBytes,
  hasFreePrefix: true,
  validateCreate: checkReplicationController,
  validateUpdate: (object, old) => {
    checkReplicationController(object, old)
    checkUnconverted(object, old)
  },
  warn: (object, old) => {
    if (old === undefined) return [...ofPodName(object), ...ofTemplate(object, old, 'spec')]
    // The server takes the one for the other: of a change it is the old template.
    return hasChanged(object, old) ? ofPod(old.in('spec', 'template'), true) : []
  },
  subresources: {
    status: {
      validate: checkCounts('replicas'),
    },
  },
})

function checkReplicationController(object: Place, old?: Place): void {
  const spec = object.in('spec')
  spec.in('minReadySeconds').notNegative()
  const [selector, replicas] = [spec.in('selector'), spec.in('replicas')]
  if (selector.size === 0) selector.required()
  if (replicas.isSet) replicas.notNegative()
  else replicas.required()
  const template = spec.in('template')
  if (!template.isSet) {
    template.required()
    return
  }
  const selectorObject = new Map([['matchLabels', selector.value ?? new Map()]])
  checkMatch(template, selector.as(selector.path, selectorObject))
  checkAlwaysRunning(template, 'ReplicationController', old?.in('spec', 'template'))
}

/** Checks fields of another version of the object that this one could not take, and keeps as
 *  annotations. */
function checkUnconverted(object: Place, old: Place): void {
  for (const [key, value] of old.in('metadata', 'annotations').entries) {
    const [prefix = '', field, ...more] = key.split('/')
    const isOne = prefix.startsWith('non-convertible.kubernetes.io') && more.length === 0
    if (field === undefined || !isOne) continue
    const selector = object.in('spec', 'selector')
    if (!field.includes('selector')) {
      object.as(field).notFound(value.text, 'unknown non-convertible field')
    } else if (!isSame(selector.value, old.in('spec', 'selector').value)) {
      selector.invalid('cannot update non-convertible selector')
    }
  }
}
