/** The rules that Events of both groups keep. */

import { byteLength, dnsSubdomain, qualifiedName } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'

export interface EventNames {
  readonly subject: string
  readonly controller: string
  readonly text: string
}

/** Errors name fields as the core group has them, but for the controller. */
export function checkEvent(object: Place, names: EventNames): void {
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

function checkNewEvent(object: Place, names: EventNames): void {
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
