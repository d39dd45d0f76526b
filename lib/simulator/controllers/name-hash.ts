/** The short names of templates. */

import { hashOf } from '../runtime/objects.ts'

/** Letters that spell nothing. */
const letters = 'bcdfghjklmnpqrstvwxz2456789'

export function nameHash(text: string): string {
  let left = hashOf(text)
  let name = ''
  while (name.length < 9 && left > 0) {
    name += letters.charAt(left % letters.length)
    left = Math.floor(left / letters.length)
  }
  return name
}
