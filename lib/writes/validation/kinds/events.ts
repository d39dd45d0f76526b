/** Events: those of the core group as old clients write them, and those of events.k8s.io, which
 *  names fields differently. */

import { byteLength, dnsSubdomain, qualifiedName } from '../formats.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { checkChangedMeta, checkNewMeta, isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'

export const eventRules: Readonly<Record<string, KindRules>> = {
  Event: {
    hasOwnMetadata: true,
    create: object => checkEvent(object, coreNames),
    update: object => checkEvent(object, coreNames),
  },
  'Event.events.k8s.io': {
    hasOwnMetadata: true,
    create: object => {
      checkEvent(object, newNames)
      checkNewMeta(object)
      checkStrictly(object)
    },
    update: (object, old) => {
      checkEvent(object, newNames)
      checkChangedMeta(object, old)
      if (!isSame(object.in('series').value, old.in('series').value)) checkSeries(object)
      checkKept(object, old)
    },
  },
}

interface Names {
  readonly subject: string
  readonly controller: string
  readonly text: string
}

const coreNames: Names = {
  subject: 'involvedObject',
  controller: 'reportingComponent',
  text: 'message',
}
const newNames: Names = { subject: 'regarding', controller: 'reportingController', text: 'note' }

/** Errors name fields as the core group has them, but for the controller. */
function checkEvent(object: Place, names: Names): void {
  const namespace = object.in('metadata', 'namespace').text
  const subject = object.in(names.subject, 'namespace').as('involvedObject.namespace')
  const isNew = object.in('eventTime').isSet
  const isOfCluster = subject.text === ''
  const allowed = isNew ? ['default', 'kube-system'] : ['', 'default']
  const agrees = isOfCluster ? allowed.includes(namespace) : isNew || subject.text === namespace
  if (!agrees) subject.invalid('does not match event.namespace', subject.text)
  if (isNew) checkNewEvent(object, names)
  object.as('namespace').invalidFor(dnsSubdomain(namespace), namespace)
}

function checkNewEvent(object: Place, names: Names): void {
  const controller = object.in(names.controller)
  if (controller.text === '') controller.required()
  controller.mustBe(qualifiedName)
  for (const name of ['reportingInstance', 'action', 'reason']) {
    const place = object.in(name)
    if (place.text === '') place.required()
    if (byteLength(place.text) > 128) place.invalid('can have at most 128 characters', '')
  }
  if (byteLength(object.in(names.text).text) > 1024) {
    object.as('message').invalid('can have at most 1024 characters', '')
  }
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
