/** Each kind of object: what is mirrored of it, and whether it is answered here. */

import type { Figures } from './figures.ts'
import { bytes, seconds } from './format.ts'
import { html, type Html, type HtmlValue } from './html.ts'
import type { Shows } from './objects.ts'
import type { ReportedResource } from './page-source.ts'
import type { PageSource } from './page-source.ts'
import { badge, type Column, section, table } from './table.ts'

function columnsOf(figures: Figures): readonly Column[] {
  return [
    { title: 'Kind' },
    { title: 'State' },
    { title: 'Objects', isFigure: true },
    ...(figures.has(bytesMetric) ? [{ title: 'Bytes', isFigure: true }] : []),
    { title: 'Revision', isFigure: true },
    { title: 'Lag', isFigure: true },
    ...(figures.has(watchesMetric) ? [{ title: 'Watches', isFigure: true }] : []),
    { title: 'Answered' },
  ]
}

const bytesMetric = 'watchglass_keyspace_bytes'
const watchesMetric = 'watchglass_keyspace_watches'

interface Row {
  readonly isQuiet: boolean
  readonly isReady: boolean
  readonly entries: number
  readonly cells: readonly HtmlValue[]
}

export function resources(figures: Figures, source: PageSource, shows: Shows): Html {
  const standings = standingsByKey(source.resources?.() ?? [])
  const rows = figures
    .all('watchglass_keyspace_entries')
    .map(({ labels }) => rowOf(labels['keyspace'] ?? '', { figures, source, standings, shows }))
    .toSorted((a, b) => Number(a.isReady) - Number(b.isReady) || b.entries - a.entries)
  const shown = rows.filter(({ isQuiet }) => !isQuiet)
  const quiet = rows.filter(({ isQuiet }) => isQuiet)
  const columns = columnsOf(figures)
  const hidden = figures.sum('watchglass_keyspaces_without_metrics')
  return section(
    { id: 'resources', title: 'Kinds', about: aboutOf(source, hidden) },
    shown.length === 0 ? html`<p class="card">There are no objects yet.</p>` : undefined,
    shown.length > 0
      ? table({ caption: 'Kinds with objects', columns, rows: shown.map(({ cells }) => cells) })
      : undefined,
    quiet.length > 0
      ? html`<details id="quiet-resources">
          <summary>${quiet.length} kinds without objects</summary>
          ${table({ caption: 'Kinds without objects', columns, rows: quiet.map(one => one.cells) })}
        </details>`
      : undefined,
    passing(source),
  )
}

function aboutOf({ resources: standings, isEtcdOnly = false }: PageSource, hidden: number): string {
  const more = hidden === 0 ? '' : ` ${hidden} more kinds are not shown.`
  if (isEtcdOnly) return `What is mirrored from etcd.${more}`
  return standings === undefined
    ? `What is mirrored from etcd. Everything is answered from memory.${more}`
    : `What is mirrored from etcd, and what of it is answered from memory.${more}`
}

interface RowSources {
  readonly figures: Figures
  readonly source: PageSource
  readonly standings: ReadonlyMap<string, readonly ReportedResource[]>
  readonly shows: Shows
}

function rowOf(keyspace: string, { figures, source, standings, shows }: RowSources): Row {
  const where = { keyspace }
  const state =
    figures.all('watchglass_keyspace_state', where).find(({ value }) => value === 1)?.labels[
      'state'
    ] ?? 'starting'
  const entries = figures.sum('watchglass_keyspace_entries', where)
  const watches = figures.sum(watchesMetric, where)
  // Of a keyspace of one namespace: that of its resource.
  const standing =
    standings.get(keyOf(keyspace)) ?? standings.get(keyOf(keyspace.replace(/[^/]+\/$/, '')))
  const isPassing = standing?.some(one => !one.isAnsweredHere) === true
  const hasBytes = figures.has(bytesMetric)
  return {
    isQuiet: entries === 0 && watches === 0 && state === 'ready',
    isReady: state === 'ready' && !isPassing,
    entries,
    cells: [
      nameOf(keyspace, source, shows),
      badge(state, state === 'ready' ? 'good' : 'bad'),
      figures.show('watchglass_keyspace_entries', { where }),
      ...(hasBytes ? [figures.show(bytesMetric, { where, as: bytes })] : []),
      figures.show('watchglass_keyspace_revision', { where, as: String }),
      figures.show('watchglass_keyspace_lag_seconds', { where, as: seconds }),
      ...(figures.has(watchesMetric) ? [figures.show(watchesMetric, { where })] : []),
      answeredBadge(source, standing),
    ],
  }
}

/** The name of a kind; it leads to its objects where there are any to show. */
function nameOf(keyspace: string, source: PageSource, shows: Shows): Html {
  const name = source.nameOf(keyspace)
  const title = html`<span title="${keyspace}">${name}</span>`
  return shows === 'figures' ? title : html`<a href="#/${encodeURIComponent(name)}">${title}</a>`
}

function answeredBadge(
  { resources: standings }: PageSource,
  standing: readonly ReportedResource[] | undefined,
): Html {
  if (standings === undefined) return badge('here', 'good')
  if (standing === undefined) return badge('passed: the upstream does not list it', 'calm')
  const passing = standing.filter(one => !one.isAnsweredHere)
  if (passing.length === 0) return badge('here', 'good')
  const versions = passing.length === standing.length ? '' : `${passing[0]?.groupVersion} `
  return badge(`${versions}passed: ${passing[0]?.reason}`, 'warn')
}

/** Why kinds pass, and what would change that. */
function passing({ resources: standings }: PageSource): Html | undefined {
  const some = (standings?.() ?? []).filter(one => !one.isAnsweredHere)
  if (some.length === 0) return undefined
  return html`<details id="passing-resources">
    <summary>${some.length} kinds pass to the upstream: why</summary>
    ${table({
      caption: 'Kinds that pass to the upstream',
      columns: [{ title: 'Kind' }, { title: 'Why' }, { title: 'What would change that' }],
      rows: some.map(one => [
        `${one.resource} ${one.groupVersion}`,
        one.why ?? one.reason,
        one.whatWouldChangeThat,
      ]),
    })}
  </details>`
}

/** `/registry/pods` and `/registry/pods/` are one. */
function keyOf(prefix: string): string {
  return prefix.replace(/\/$/, '')
}

function standingsByKey(
  all: readonly ReportedResource[],
): ReadonlyMap<string, readonly ReportedResource[]> {
  const groups = new Map<string, ReportedResource[]>()
  for (const one of all) {
    const key = keyOf(one.storedUnder ?? '')
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return groups
}
