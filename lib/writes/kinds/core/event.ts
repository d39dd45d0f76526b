/** Events of the core group: kept for an hour, and created by a PUT, too. */

import { type BuiltInKind, kind } from '../kind.ts'
import { checkEvent, type EventNames } from '../shared/events.ts'

export const event: BuiltInKind = kind({
  group: '',
  kind: 'Event',
  plural: 'events',
  createsOnUpdate: true,
  collection: 'unsupported',
  ttlSeconds: 3600,
  hasOwnMetadata: true,
  validateCreate: object => checkEvent(object, coreNames),
  validateUpdate: object => checkEvent(object, coreNames),
})

const coreNames: EventNames = {
  subject: 'involvedObject',
  controller: 'reportingComponent',
  text: 'message',
}
