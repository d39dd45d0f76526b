/** Reads single keys and folders of the mirrored etcds, for the search of where something is
 *  stored. */

import { type Key, keyFromText, prefixEnd, singleKey, textFromKey } from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'

export class KeyFolders {
  readonly #clients: readonly Client[]

  constructor(clients: readonly Client[]) {
    this.#clients = clients
  }

  /** The entry of a key, of the first etcd that has it. */
  async entry(key: Key, signal: AbortSignal): Promise<KeyValue | undefined> {
    for (const client of this.#clients) {
      const { entries } = await client.range({ range: singleKey(key), limit: 1 }, signal)
      if (entries[0] !== undefined) return entries[0]
    }
    return undefined
  }

  /** The folders directly below a prefix that ends with a slash, each with its final slash; at most
   *  `max` of each etcd. */
  async folders(prefix: Key, max: number, signal: AbortSignal): Promise<Key[]> {
    const found = new Set<Key>()
    for (const client of this.#clients) await collect(client, { prefix, max, found }, signal)
    return [...found]
  }
}

interface Collected {
  readonly prefix: Key
  readonly max: number
  readonly found: Set<Key>
}

/** One small range for each folder: it is looked for behind the last one. */
async function collect(
  client: Client,
  { prefix, max, found }: Collected,
  signal: AbortSignal,
): Promise<void> {
  const end = prefixEnd(prefix)
  let start: Key | undefined = prefix
  for (let looked = 0; start !== undefined && looked < max; looked++) {
    const range: { start: Key; end: Key | undefined } = { start, end }
    const { entries } = await client.range({ range, limit: 1, keysOnly: true }, signal)
    const [entry] = entries
    if (entry === undefined) return
    const name = textFromKey(entry.key).slice(textFromKey(prefix).length)
    const slash = name.indexOf('/')
    // An entry right below the prefix is in no folder.
    const next = keyFromText(textFromKey(prefix) + (slash < 0 ? name : name.slice(0, slash + 1)))
    if (slash >= 0) found.add(next)
    start = slash < 0 ? ((next + '\0') as Key) : prefixEnd(next)
  }
}
