/** The short names of templates: eight to ten letters as upstream's ComputeHash gives them. */

import { hashOf } from '../runtime/objects.ts'

/** Letters that spell nothing (rand.SafeEncodeString). */
const letters = 'bcdfghjklmnpqrstvwxz2456789'

/** A letter for each digit of the hash. The hash is not upstream's, which is over a dump of Go's
 *  structs. */
export function nameHash(text: string): string {
  const digits = String(hashOf(text))
  return digits.replace(/\d/g, digit => letters.charAt(digit.charCodeAt(0) % letters.length))
}
