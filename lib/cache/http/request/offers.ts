/** The media types that are offered. CBOR is one of them only if it is switched on, as in
 *  kube-apiserver. */

import { builtinEncodings, type Encoding, type Offer } from '@watchglass/codec'
import { hasTables, type ResourceRoute } from '@watchglass/kube'

/** Media types of built-in resources and documents. */
export function builtinOffer(hasCbor: boolean): Offer {
  return hasCbor ? cborOffer : plainOffer
}

/** Forms that are switched on. */
export interface OfferedForms {
  readonly hasCbor: boolean
  /** Objects may be had without their managed fields. */
  readonly hasDrop?: boolean | undefined
}

/** Media types of a resource. Custom resources have no protobuf form, and some subresources and
 *  what is never stored no Tables. */
export function offerOf(
  { resource, verb, subresource }: Pick<ResourceRoute, 'resource' | 'verb' | 'subresource'>,
  { hasCbor, hasDrop = false }: OfferedForms,
): Offer {
  const { routing, custom } = resource
  const isBuiltIn = custom === undefined
  const isBare = !hasTables(resource, subresource)
  const bits =
    (verb === 'get' ? 0 : isListBit) |
    (routing === 'installed' ? hasRouterBit : 0) |
    (isBuiltIn ? isBuiltInBit : 0) |
    (hasCbor ? hasCborBit : 0) |
    (isBare ? lacksTablesBit : 0) |
    (hasDrop ? hasDropBit : 0)
  return offers[bits]!
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

const isListBit = 1
const hasRouterBit = 2
const isBuiltInBit = 4
const hasCborBit = 8
const lacksTablesBit = 16
const hasDropBit = 32

/** Each offer is one object that is made once, so that results of negotiation can be cached with
 *  it. */
const offers: readonly Offer[] = Array.from({ length: 64 }, (_, bits) => {
  const encodings = (bits & hasCborBit) === 0 ? builtinEncodings : withCbor
  const customEncodings = (bits & hasCborBit) === 0 ? plainCustom : customWithCbor
  return {
    encodings,
    objectEncodings: (bits & isBuiltInBit) === 0 ? customEncodings : encodings,
    hasRouter: (bits & hasRouterBit) !== 0,
    isList: (bits & isListBit) !== 0,
    lacksTables: (bits & lacksTablesBit) !== 0,
    hasDrop: (bits & hasDropBit) !== 0,
  }
})
