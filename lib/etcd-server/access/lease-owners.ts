/** The owner of a lease. etcd does not know who was granted one, so that the number says it: for a
 *  limited name it is chosen here, one half at random and the other a hash of that and the name.
 *  Each replica knows the leases of a name so, also those of before its start, and nothing is
 *  kept. Somebody else's lease has such a number by chance once in four billion. */

import { hash, randomBytes } from 'node:crypto'

/** The bits of a number that are chosen at random; 32 more follow from them. */
const randomBits = 31

/** A number for a lease of that name, which nobody has had. */
export function newLeaseOf(name: string): bigint {
  const random = BigInt.asUintN(randomBits, BigInt(randomBytes(4).readUInt32BE()))
  return markOf(name, random) | random
}

/** True if the number was chosen here for a lease of that name. */
export function isLeaseOf(name: string, id: bigint): boolean {
  const random = BigInt.asUintN(randomBits, id)
  return id === (markOf(name, random) | random)
}

/** The upper bits. */
function markOf(name: string, random: bigint): bigint {
  const digest = hash('sha256', `lease ${random} of ${name}`, 'hex')
  return BigInt(`0x${digest.slice(0, 8)}`) << BigInt(randomBits)
}
