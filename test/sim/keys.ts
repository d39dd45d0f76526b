/** The keys of the simulated etcd: three mirrored keyspaces, one prefix that is nobody's, and keys
 *  outside of everything. */

import { type Key, keyFromText } from '../../lib/base/keys.ts'
import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'

export const keyspaceNames: readonly string[] = ['a', 'b', 'c']

const places = ['/r/a/', '/r/a/', '/r/b/', '/r/c/', '/r/c/', '/r/nobody/', '/other/']

/** `/r/NAME/...` belongs to `NAME`, if that is a keyspace. */
export function nameOf(key: Key): string | undefined {
  if (!key.startsWith('/r/') || key.charAt(4) !== '/') return undefined
  const name = key.charAt(3)
  return keyspaceNames.includes(name) ? name : undefined
}

/** One of about a hundred keys. */
export function anyKey(random: Random): Key {
  return keyFromText(`${randomItem(random, places)}${randomInt(random, 10, 29)}`)
}

export function anyPlace(random: Random): Key {
  return keyFromText(randomItem(random, places))
}
