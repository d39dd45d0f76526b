/** The media types in which things are offered: CBOR only where it is switched on, as upstream. */

import { builtinEncodings, type Encoding, type Offer } from '../codec/negotiate.ts'
import type { Resource } from '../kube/resource.ts'

/** What built-in resources and documents are offered in. */
export function builtinOffer(hasCbor: boolean): Offer {
  return hasCbor ? cborOffer : plainOffer
}

/** What a resource is offered in. Custom resources have no protobuf form. */
export function offerOf({ routing, custom }: Resource, isList: boolean, hasCbor: boolean): Offer {
  const encodings = hasCbor ? withCbor : builtinEncodings
  const customEncodings = hasCbor ? customWithCbor : plainCustom
  return {
    encodings,
    objectEncodings: custom === undefined ? encodings : customEncodings,
    hasRouter: routing === 'installed',
    isList,
  }
}

const withCbor: readonly Encoding[] = [...builtinEncodings, 'cbor']
const plainOffer: Offer = {
  encodings: builtinEncodings,
  objectEncodings: builtinEncodings,
  hasRouter: true,
  isList: false,
}
const cborOffer: Offer = { ...plainOffer, encodings: withCbor, objectEncodings: withCbor }
const plainCustom: readonly Encoding[] = ['json', 'yaml']
const customWithCbor: readonly Encoding[] = [...plainCustom, 'cbor']
