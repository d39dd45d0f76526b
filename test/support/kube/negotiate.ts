/** Negotiates for a watch, as answering a read does. */

import {
  type MediaType,
  negotiate,
  type NotAcceptable,
  type Offer,
  type Preference,
  streamed,
} from '../../../lib/codec/negotiate/negotiate.ts'

export function negotiateWatch(preference: Preference, offer: Offer): MediaType | NotAcceptable {
  const mediaType = negotiate(preference, offer)
  return 'refusal' in mediaType ? mediaType : streamed(mediaType, offer)
}
