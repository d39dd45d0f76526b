/** A live view over several clusters: what was told of it last, and how the page of now differs.
 *  Nothing is merged but the page. Rows that have not changed keep their order among themselves, as
 *  their places do not change, so a change is rows that left and rows at their new indexes, as of
 *  one cluster. The cost of a look is that of the page, times the clusters. */

import type { FollowedCluster, FollowedRow } from './followed-cluster.ts'
import type { FleetQuestion } from './fleet-question.ts'
import type { ClusterGroup, ClusterView, Unanswered } from './merged-view.ts'

/** The most groups, as of one cluster. */
const groupsMax = 10_000

/** A cluster as clients are told of it. */
type ToldCluster = { readonly name: string } & NonNullable<FollowedCluster['counts']>

/** A page that was told, or is to be told. */
interface Page {
  readonly clusters: ReadonlyMap<string, ToldCluster>
  readonly unanswered: readonly Unanswered[]
  readonly total: number
  readonly matched: number
  readonly rows: ReadonlyMap<string, FollowedRow>
  readonly groups: ReadonlyMap<string, ClusterGroup>
}

export class LiveFleetView {
  readonly #question: FleetQuestion
  #told: Page | undefined

  constructor(question: FleetQuestion) {
    this.#question = question
  }

  /** The document of now: the whole page at first, then how it differs. Undefined if it does not,
   *  but perhaps in revisions: a bookmark tells these. */
  next(followed: readonly FollowedCluster[], others: readonly Unanswered[]): object | undefined {
    const before = this.#told
    const now = this.#look(followed, others)
    const document = before === undefined ? this.#whole(now, followed) : this.#change(before, now)
    if (document !== undefined) this.#told = now
    return document
  }

  /** The revision of each cluster. */
  bookmark(followed: readonly FollowedCluster[]): object {
    const clusters = followed.flatMap(({ name, counts }) =>
      counts === undefined ? [] : { name, revision: counts.revision },
    )
    return { type: 'BOOKMARK', clusters }
  }

  #look(followed: readonly FollowedCluster[], others: readonly Unanswered[]): Page {
    const clusters = new Map<string, ToldCluster>()
    const unanswered = [...others]
    let [total, matched] = [0, 0]
    for (const one of followed) {
      const { name, counts } = one
      if (counts !== undefined) {
        clusters.set(name, { name, ...counts })
        total += counts.total
        matched += counts.matched
      }
      if (one.unanswered !== undefined) unanswered.push(one.unanswered)
      else if (counts === undefined) unanswered.push(pending(name))
    }
    unanswered.sort((one, other) => (one.name < other.name ? -1 : 1))
    const { isCount } = this.#question
    const rows = new Map(isCount ? [] : this.#pageOf(followed).map(row => [row.key, row]))
    const groups = isCount ? groupsOf(followed) : noGroups
    return { clusters, unanswered, total, matched, rows, groups }
  }

  /** The rows of all clusters that are on the page: each time the first of the first ones that are
   *  left. */
  #pageOf(followed: readonly FollowedCluster[]): FollowedRow[] {
    const { page, pageSize } = this.#question
    const lists = followed.filter(({ rows }) => rows.length > 0)
    const at = lists.map(() => 0)
    const found: FollowedRow[] = []
    while (found.length < page * pageSize) {
      let first = -1
      let next: FollowedRow | undefined
      for (let i = 0; i < lists.length; i++) {
        const head = lists[i]!.rows[at[i]!]
        if (head === undefined || (next !== undefined && head.place >= next.place)) continue
        first = i
        next = head
      }
      if (next === undefined) break
      at[first]!++
      found.push(next)
    }
    return found.slice((page - 1) * pageSize)
  }

  #whole(now: Page, followed: readonly FollowedCluster[]): object {
    const { page, pageSize, isCount } = this.#question
    const { unanswered, total, matched } = now
    const common = {
      type: 'PAGE',
      kind: 'FleetView',
      apiVersion: 'views.watchglass.dev/v1',
      clusters: [...now.clusters.values()],
      unanswered,
      total,
      matched,
    }
    if (isCount) {
      const by = followed.find(one => one.by !== undefined)?.by ?? []
      return { ...common, by, groups: [...now.groups.values()].sort(byCount) }
    }
    const columns: ClusterView['columns'] =
      followed.find(one => one.columns !== undefined)?.columns ?? []
    const rows = [...now.rows.values()].map(({ row }) => row)
    return { ...common, columns, remaining: this.#remaining(now), page, pageSize, rows }
  }

  #remaining({ matched, rows }: Page): number {
    const { page, pageSize } = this.#question
    return Math.max(0, matched - (page - 1) * pageSize - rows.size)
  }

  #change(before: Page, now: Page): object | undefined {
    const rows = this.#question.isCount ? groupsChange(before, now) : rowsChange(before, now)
    const areSame = before.total === now.total && before.matched === now.matched
    const isSaid = JSON.stringify(before.unanswered) === JSON.stringify(now.unanswered)
    const ended = [...before.clusters.keys()].filter(name => !now.clusters.has(name))
    const begun = [...now.clusters.keys()].some(name => !before.clusters.has(name))
    if (rows.isQuiet && areSame && isSaid && ended.length === 0 && !begun) return undefined
    const { total, matched, unanswered } = now
    const clusters = [...now.clusters.values()].filter(one => {
      const known = before.clusters.get(one.name)
      return (
        known?.revision !== one.revision ||
        known.total !== one.total ||
        known.matched !== one.matched
      )
    })
    return {
      type: 'CHANGE',
      clusters,
      ...(ended.length === 0 ? {} : { ended }),
      ...(isSaid ? {} : { unanswered }),
      total,
      matched,
      ...(this.#question.isCount ? {} : { remaining: this.#remaining(now) }),
      ...rows.document,
    }
  }
}

interface Change {
  readonly isQuiet: boolean
  readonly document: object
}

function rowsChange(before: Page, now: Page): Change {
  const left = [...before.rows.keys()].filter(key => !now.rows.has(key))
  const rows: object[] = []
  let index = 0
  for (const [key, one] of now.rows) {
    if (before.rows.get(key) !== one) rows.push({ index, row: one.row })
    index++
  }
  return { isQuiet: left.length === 0 && rows.length === 0, document: { left, rows } }
}

function groupsChange(before: Page, now: Page): Change {
  const removed = [...before.groups].filter(([key]) => !now.groups.has(key))
  const groups = [...now.groups].filter(
    ([key, { count }]) => before.groups.get(key)?.count !== count,
  )
  return {
    isQuiet: removed.length === 0 && groups.length === 0,
    document: {
      groups: groups.map(([, group]) => group),
      removed: removed.map(([, { values }]) => values),
    },
  }
}

const noGroups: Page['groups'] = new Map()

function groupsOf(followed: readonly FollowedCluster[]): Page['groups'] {
  const sums = new Map<string, ClusterGroup>()
  for (const { groups } of followed) {
    for (const [key, { values, count }] of groups) {
      const known = sums.get(key)
      if (known === undefined && sums.size >= groupsMax) continue
      sums.set(key, { values, count: count + (known?.count ?? 0) })
    }
  }
  return sums
}

function byCount(one: ClusterGroup, other: ClusterGroup): number {
  const [a, b] = [one, other].map(({ values }) => JSON.stringify(values))
  return other.count - one.count || (a! < b! ? -1 : 1)
}

function pending(name: string): Unanswered {
  return { name, code: 503, reason: 'Pending', message: 'the cluster has not answered yet' }
}
