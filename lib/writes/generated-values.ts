/** Generated values of new objects: uids, endings of generated names, addresses and ports of
 *  Services. */

import type { ServiceAllocator } from './kinds/kind.ts'

export interface GeneratedValues {
  /** A fresh uid. */
  readonly uid: () => string
  /** Five characters for a generated name. */
  readonly nameSuffix: () => string
  readonly allocator: ServiceAllocator
}

/** A whole number from 0 up to, not including, `end`. */
type RandomInt = (end: number) => number

/** The letters at the end of generated names: no vowels, so that they spell nothing. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5

export function createGenerated(uid: () => string, randomInt: RandomInt): GeneratedValues {
  return {
    uid,
    nameSuffix: () =>
      Array.from(
        { length: suffixLength },
        () => suffixLetters[randomInt(suffixLetters.length)],
      ).join(''),
    allocator: createAllocator(randomInt),
  }
}

/** Addresses of Services out of 10.96.0.0/12, as kubeadm has it, but for the first one, which is
 *  the API server's own; and ports of nodes. Both begin at random places and count up from there;
 *  whoever asks passes over what is in use. */
function createAllocator(randomInt: RandomInt): ServiceAllocator {
  const [addresses, ports] = [2 ** 20 - 3, 2768]
  let [address, port] = [randomInt(addresses), randomInt(ports)]
  return {
    address() {
      address = (address + 1) % addresses
      const place = address + 2
      return `10.${96 + (place >> 16)}.${(place >> 8) & 0xff}.${place & 0xff}`
    },
    port() {
      port = (port + 1) % ports
      return 30_000 + port
    },
  }
}
