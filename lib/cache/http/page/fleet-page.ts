/** The page of a process that serves many clusters: the state of each, what it holds, and the reads
 *  that its own servers were saved. Operators see all of it, callers no more than `GET /clusters`
 *  tells them. Reasons are messages of servers and of files, and stay text. */

import { type Clock, Slice } from '@watchglass/base'
import type { ShownCluster } from './shown-cluster.ts'
import { bytes, count, seconds, share } from './format.ts'
import { framed } from './frame.ts'
import { html, type Html, type HtmlValue } from './html.ts'
import { badge, type Column, section, tableOf, tableRow } from './table.ts'

export interface FleetPageSource {
  readonly version: string
  readonly clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'yield'>
  /** The clusters that whoever looks may see, in the order of their names. */
  readonly clusters: () => Promise<readonly ShownCluster[]>
  /** Facts that only operators are told; undefined for callers. */
  readonly process: FleetProcessFacts | undefined
  /** Whether a cluster has a page below its path of the same listener. */
  readonly hasPage: (name: string) => boolean
}

export interface FleetProcessFacts {
  readonly residentBytes: number
  /** Undefined: unbounded. */
  readonly budgetBytes: number | undefined
}

/** Rows of a page that is asked for every two seconds. */
const rowsMax = 1_000
/** More idle clusters than these are folded away. */
const idleShownMax = 20
/** The broken clusters that the top of the page names. */
const namedMax = 10
const sliceMs = 5

type Standing = 'broken' | 'not ready' | 'starting' | 'stopping' | 'ready' | 'idle'

const order: readonly Standing[] = ['broken', 'not ready', 'starting', 'stopping', 'ready', 'idle']

const moods = {
  broken: 'bad',
  'not ready': 'warn',
  starting: 'warn',
  stopping: 'calm',
  ready: 'good',
  idle: 'calm',
} as const

interface Standings {
  readonly all: readonly ShownCluster[]
  readonly by: ReadonlyMap<Standing, readonly ShownCluster[]>
}

/** The document of now. Many rows are made in slices. */
export async function renderFleetPage(source: FleetPageSource): Promise<string> {
  const all = await source.clusters()
  const by = new Map<Standing, ShownCluster[]>()
  for (const one of all) {
    const standing = standingOf(one)
    const known = by.get(standing)
    if (known === undefined) by.set(standing, [one])
    else known.push(one)
  }
  const standings = { all, by }
  const parts: readonly (readonly [id: string, content: HtmlValue])[] = [
    ['live-health', health(standings, source)],
    ['live-figures', keyFigures(standings, source)],
    ['live-clusters', await clusters(standings, source)],
  ]
  const content = html`<div id="figures">
    ${parts.map(([id, part]) => html`<div id="${id}" data-live>${part}</div>`)}
  </div>`
  const footer =
    source.process === undefined
      ? html`<a href="clusters">/clusters</a> has the same as JSON.`
      : html`<a href="clusters">/clusters</a> has the same as JSON,
          <a href="metrics">/metrics</a> the figures of each cluster. No object's contents and no
          user's name are shown here.`
  return framed(content, { version: source.version, shows: 'figures', links: [], footer })
}

function standingOf({ state, isReady }: ShownCluster): Standing {
  if (state === 'failed') return 'broken'
  if (state === 'awake') return isReady ? 'ready' : 'not ready'
  return state === 'starting' || state === 'stopping' ? state : 'idle'
}

function health({ all, by }: Standings, { clock, process }: FleetPageSource): Html {
  const broken = by.get('broken') ?? []
  if (broken.length === 0) {
    return html`<p class="state good" role="status">
      <span class="dot" aria-hidden="true"></span>
      ${all.length === 0 ? noneText(process !== undefined) : 'No cluster is broken'}
    </p>`
  }
  const named = broken.slice(0, namedMax)
  const why = (one: ShownCluster): string =>
    process === undefined ? '' : withColon(reasonOf(one, clock.wallMs()))
  const left = broken.length - named.length
  return html`<div class="state bad" role="status">
    <p>
      <span class="dot" aria-hidden="true"></span>
      ${broken.length === 1 ? 'One cluster is broken' : `${count(broken.length)} clusters are broken`}
    </p>
    <ul>
      ${named.map(one => html`<li><b>${one.name}</b>${why(one)}</li>`)}
      ${left > 0 ? html`<li>${count(left)} more</li>` : undefined}
    </ul>
  </div>`
}

function noneText(isForOperators: boolean): string {
  return isForOperators
    ? 'There are no clusters yet: --clusters names a folder or a file for them'
    : 'No cluster has accepted you in the last twelve hours'
}

function withColon(text: string): string {
  return text === '' ? '' : `: ${text}`
}

function keyFigures({ all, by }: Standings, { process }: FleetPageSource): Html {
  const sum = (valueOf: (one: ShownCluster) => number): number =>
    all.reduce((total, one) => total + valueOf(one), 0)
  const ready = by.get('ready')?.length ?? 0
  const idle = by.get('idle')?.length ?? 0
  const objects = card('Objects', count(sum(one => one.objects)), 'of clusters that are awake')
  const known = card('Clusters', count(all.length), `${count(ready)} ready, ${count(idle)} idle`)
  if (process === undefined) return cards(known, objects)
  const reads = sum(one => one.reads)
  const fromMemory = sum(one => one.readsFromMemory)
  const { residentBytes, budgetBytes } = process
  const budget = budgetBytes === undefined ? 'of the process' : `budget ${bytes(budgetBytes)}`
  return cards(
    known,
    objects,
    card('Reads', count(reads), 'gets, lists, watches'),
    card('Saved', count(fromMemory), html`${shareOf(fromMemory, reads)} answered from memory`),
    card('Requests', count(sum(one => one.requestsInFlight)), 'under way'),
    card('Memory', bytes(residentBytes), budget),
  )
}

function cards(...all: readonly Html[]): Html {
  return html`<ul class="cards" id="key-figures" aria-label="Key figures">
    ${all}
  </ul>`
}

function card(title: string, value: string, note: HtmlValue): Html {
  return html`<li class="card">
    <span class="soft">${title}</span><strong>${value}</strong><span class="soft">${note}</span>
  </li>`
}

function shareOf(part: number, whole: number): string {
  return whole === 0 ? '–' : share(part / whole)
}

async function clusters({ by }: Standings, source: FleetPageSource): Promise<Html> {
  const sorted = order.flatMap(standing => by.get(standing) ?? [])
  const shown = sorted.slice(0, rowsMax)
  const idle = by.get('idle')?.length ?? 0
  const folds = idle > idleShownMax
  const isFolded = (one: ShownCluster): boolean => folds && standingOf(one) === 'idle'
  const columns = columnsOf(source)
  const rows: Html[] = []
  const folded: Html[] = []
  const slice = new Slice(source.clock, sliceMs)
  for (const one of shown) {
    const made = tableRow(columns, cellsOf(one, source))
    if (isFolded(one)) folded.push(made)
    else rows.push(made)
    await slice.giveWay()
  }
  const left = sorted.length - shown.length
  return section(
    { id: 'clusters', title: 'Clusters' },
    rows.length > 0 ? tableOf({ caption: 'Clusters', columns }, rows) : undefined,
    folded.length > 0
      ? html`<details id="idle-clusters">
          <summary>${count(idle)} idle clusters</summary>
          ${tableOf({ caption: 'Idle clusters', columns }, folded)}
        </details>`
      : undefined,
    left > 0 ? html`<p class="soft">${count(left)} more are not shown.</p>` : undefined,
  )
}

function columnsOf({ process }: FleetPageSource): readonly Column[] {
  const forAll = [{ title: 'Cluster' }, { title: 'State' }, { title: 'Objects', isFigure: true }]
  if (process === undefined) return forAll
  return [
    ...forAll,
    { title: 'Memory', isFigure: true },
    { title: 'Under way', isFigure: true },
    { title: 'Reads', isFigure: true },
    { title: 'Saved', isFigure: true },
    { title: 'Why' },
  ]
}

function cellsOf(one: ShownCluster, { clock, process, hasPage }: FleetPageSource): HtmlValue[] {
  const { name, objects, memoryBytes, requestsInFlight, reads, readsFromMemory } = one
  const standing = standingOf(one)
  const isAwake = standing === 'ready' || standing === 'not ready'
  const whenAwake = (text: string): string => (isAwake ? text : '–')
  const forAll = [
    hasPage(name) ? html`<a href="clusters/${name}/">${name}</a>` : name,
    badge(standing, moods[standing]),
    whenAwake(count(objects)),
  ]
  if (process === undefined) return forAll
  const saved = reads === 0 ? '–' : `${count(readsFromMemory)} (${shareOf(readsFromMemory, reads)})`
  return [
    ...forAll,
    whenAwake(bytes(memoryBytes)),
    count(requestsInFlight),
    count(reads),
    saved,
    reasonOf(one, clock.wallMs()),
  ]
}

/** Why it is not served, and since when; empty if it is. */
function reasonOf({ problem, problemSinceMs }: ShownCluster, nowMs: number): string {
  if (problem === undefined) return ''
  if (problemSinceMs === undefined) return problem
  return `${problem}, for ${seconds(Math.max(0, nowMs - problemSinceMs) / 1000)}`
}
