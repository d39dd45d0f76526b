/** Reads single keys and folders of the mirrored etcds, for the search of where something is stored. */

import { type Key, keyFromText, prefixEnd, singleKey, textFromKey } from '../../base/keys.ts'
import type { Client } from '../../etcd/client.ts'
import type { EtcdKeys } from '../../upstream/aggregated/locate.ts'

/** The first of them that has a key is believed. */
export function etcdKeysOf(clients: readonly Client[]): EtcdKeys {
  return {
    async entry(key, signal) {
      for (const client of clients) {
        const { entries } = await client.range({ range: singleKey(key), limit: 1 }, signal)
        if (entries[0] !== undefined) return entries[0]
      }
      return undefined
    },
    async folders(prefix, max, signal) {
      const found = new Set<Key>()
      for (const client of clients) await collect(client, { prefix, max, found }, signal)
      return [...found]
    },
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
