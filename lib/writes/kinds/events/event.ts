/** Events of their own group: inside of kube-apiserver the same kind as those of the core group,
 *  with stricter rules. */

import { internalValue } from '../../validation/internal-types.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkEvent, type EventNames } from '../shared/events.ts'

export const event: BuiltInKind = kind({
  group: 'events.k8s.io',
  kind: 'Event',
  plural: 'events',
  createsOnUpdate: true,
  collection: 'unsupported',
  ttlSeconds: 3600,
  hasOwnMetadata: true,
  validateCreate: object => {
    checkEvent(object, newNames)
    checkNewMeta(object)
    checkStrictly(object)
  },
  validateUpdate: (object, old) => {
    checkEvent(object, newNames)
    checkChangedMeta(object, old)
    if (!isSame(object.in('series').value, old.in('series').value)) checkSeries(object)
    checkKept(object, old)
  },
})

const newNames: EventNames = {
  subject: 'regarding',
  controller: 'reportingController',
  text: 'note',
}

function checkSeries(object: Place): void {
  const series = object.in('series')
  if (!series.isSet) return
  if (series.in('count').number < 2) series.in('count').invalid('should be at least 2', '')
  if (!series.in('lastObservedTime').isSet) series.in('lastObservedTime').required()
}

function checkStrictly(object: Place): void {
  checkSeries(object)
  if (!object.in('eventTime').isSet) object.in('eventTime').required()
  const type = object.in('type')
  if (type.text !== 'Normal' && type.text !== 'Warning') {
    type.invalid(`has invalid value: ${type.text}`, '')
  }
  const source = object.in('deprecatedSource')
  for (const [name, isUsed] of [
    ['firstTimestamp', object.in('deprecatedFirstTimestamp').isSet],
    ['lastTimestamp', object.in('deprecatedLastTimestamp').isSet],
    ['count', object.in('deprecatedCount').number !== 0],
    ['source', source.in('component').text !== '' || source.in('host').text !== ''],
  ] as const) {
    if (isUsed) object.as(name).invalid('needs to be unset', '')
  }
}

/** Names in the API and as errors have them, and the internal types in which they are shown. */
const kept = [
  ['regarding', 'involvedObject', 'ObjectReference'],
  ['reason', 'reason', 'string'],
  ['note', 'message', 'string'],
  ['deprecatedSource', 'source', 'EventSource'],
  ['deprecatedFirstTimestamp', 'firstTimestamp', '*meta'],
  ['deprecatedLastTimestamp', 'lastTimestamp', '*meta'],
  ['deprecatedCount', 'count', 'int'],
  ['reason', 'reason', 'string'],
  ['type', 'type', 'string'],
  ['eventTime', 'eventTime', '*meta'],
  ['action', 'action', 'string'],
  ['related', 'related', '*ObjectReference'],
  ['reportingController', 'reportingController', 'string'],
  ['reportingInstance', 'reportingInstance', 'string'],
] as const

function checkKept(object: Place, old: Place): void {
  for (const [name, path, type] of kept) {
    const place = object.in(name)
    if (isSame(place.value, old.in(name).value)) continue
    place.as(path).invalid('field is immutable', internalValue(type, place.value))
  }
}
