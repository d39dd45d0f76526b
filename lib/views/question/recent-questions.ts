/** The questions of late, as they were understood: who looks at a page asks for it again and again,
 *  and to take its parameters apart took a seventh of a warm page (bench/views, November 2026). */

import { LRUCache } from 'lru-cache'
import type { ObjectEncoder } from '@watchglass/codec'
import type { Query, ResourceRoute } from '@watchglass/kube'
import { parseView, type ViewQuestion } from './parse-view.ts'

const keptMax = 500
/** Longer ones are seldom asked for twice, and a client could fill much memory with them. */
const keptLineMaxLength = 1024

interface KnownQuestion {
  /** Another one once the resource has another definition, as is the encoder. */
  readonly resource: ResourceRoute['resource']
  readonly encoder: ObjectEncoder
  readonly question: ViewQuestion
}

interface AskedLine {
  /** Path and query as they were sent. */
  readonly raw: string
  readonly query: Query
}

export class RecentQuestions {
  readonly #kept = new LRUCache<string, KnownQuestion>({ max: keptMax })

  /** The question of a request line. Refuses what `parseView` refuses. */
  of({ raw, query }: AskedLine, route: ResourceRoute, encoder: ObjectEncoder): ViewQuestion {
    const { resource } = route
    const known = this.#kept.get(raw)
    if (known?.encoder === encoder && known.resource === resource) return known.question
    const question = parseView(route, query, encoder)
    if (raw.length <= keptLineMaxLength) this.#kept.set(raw, { resource, encoder, question })
    return question
  }
}
