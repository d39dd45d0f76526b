/** Ids of requests, for the Audit-Id header and the audit log: unique UUIDs. */

import { randomBytes } from 'node:crypto'

/** Makes ids: the first two thirds are random and the same for the whole process, the rest is a
 *  counter. Making each id at random costs a twentieth of a small response, and an id does not have
 *  to be unguessable. */
export function createAuditIds(): () => string {
  const random = randomBytes(16)
  random[6] = 0x40 | (random[6]! & 0x0f)
  random[8] = 0x80 | (random[8]! & 0x3f)
  const hex = random.toString('hex')
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)]
  const start = `${a}-${b}-${c}-${d}-`
  let count = random.readUIntBE(10, 6)
  let high = ''
  return () => {
    count = (count + 1) % 2 ** 48
    const low = count % endings.length
    // What changes seldom is kept: to write the whole number each time costs twice as much as all
    // else here.
    if (low === 0 || high === '') high = start + hexOf(Math.floor(count / endings.length), 9)
    return high + endings[low]!
  }
}

function hexOf(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}

/** The last three digits. */
const endings: readonly string[] = Array.from({ length: 0x1000 }, (_, i) => hexOf(i, 3))
