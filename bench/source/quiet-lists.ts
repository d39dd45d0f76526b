/** The wait of consistent lists of a resource that nobody writes to, while something else is
 *  written: the revision that they must not be older than moves, and no event says that nothing was
 *  missed. */

import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../bench.ts'
import { ApiClient } from './api-client.ts'
import { namespace, podsPath } from './churn.ts'

export interface QuietListsOptions {
  readonly url: string
  readonly token: string
  /** Writes, past the mirror. */
  readonly client: ApiClient
  readonly rare: number
  readonly pauseMs: number
  readonly often: number
}

export interface ListWaits {
  readonly lists: number
  readonly mirrored: number
  readonly meanMs: number
  readonly p50Ms: number
  readonly maxMs: number
}

export interface QuietLists {
  readonly objects: number
  readonly rare: ListWaits
  readonly often: ListWaits
}

const written = { metadata: { name: 'watchglass-bench' }, data: { written: '' } }
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`
const protobuf = 'application/vnd.kubernetes.protobuf'
/** The pause between lists that come one after the other, at most: twice the time after which the
 *  upstream hands out bookmarks, so that lists come at moments which do not depend on those. */
const oftenPauseMs = 2400
/** So many lists, one after the other, make the mirror ask before somebody waits. */
const primingLists = 4

export async function quietLists(options: QuietListsOptions): Promise<QuietLists> {
  const { client, url, token, rare, pauseMs, often } = options
  const reader = new ApiClient(url, token)
  try {
    await client.create(configMaps, written)
    const list = async (): Promise<{ readonly waitedMs: number; readonly by: string }> => {
      await writeOther(client)
      return await reader.ask({ path: podsPath, accept: protobuf })
    }
    const rareLists = []
    for (let i = 0; i < rare; i++) {
      await sleep(pauseMs)
      rareLists.push(await list())
    }
    for (let i = 0; i < primingLists; i++) await list()
    const oftenLists = []
    for (let i = 0; i < often; i++) {
      await sleep(Math.random() * oftenPauseMs)
      oftenLists.push(await list())
    }
    const { body } = await reader.ask({ path: `${podsPath}?resourceVersion=0` })
    const { items } = JSON.parse(body.toString()) as { items: unknown[] }
    return { objects: items.length, rare: waitsOf(rareLists), often: waitsOf(oftenLists) }
  } finally {
    reader.close()
  }
}

async function writeOther(client: ApiClient): Promise<void> {
  const path = `${configMaps}/${written.metadata.name}`
  const body = { data: { written: String(Math.random()) } }
  await client.ask({ path, method: 'PATCH', body, type: 'application/merge-patch+json' })
}

function waitsOf(lists: readonly { readonly waitedMs: number; readonly by: string }[]): ListWaits {
  const waits = lists.map(({ waitedMs }) => waitedMs)
  return {
    lists: waits.length,
    mirrored: lists.filter(({ by }) => by.startsWith('mirror')).length,
    meanMs: waits.reduce((sum, ms) => sum + ms, 0) / waits.length,
    p50Ms: median(waits),
    maxMs: Math.max(...waits),
  }
}
