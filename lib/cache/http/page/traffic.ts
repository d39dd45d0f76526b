/** Reads and watches: who is answered by whom, and who is behind. */

import type { SlowRequest } from '../request/slow-request.ts'
import type { WatchingClient } from '../watch/open-watches.ts'
import type { Figures } from './figures.ts'
import { bytes, seconds } from './format.ts'
import { html, type Html } from './html.ts'
import type { PageSource } from './page-source.ts'
import { answerers } from './overview.ts'
import { badge, section, table } from './table.ts'

export function reads(figures: Figures): Html {
  const requests = 'watchglass_requests_total'
  const verbs = figures.by(requests, 'verb')
  const sources = [...figures.by(requests, 'source').keys()]
  const freshness = [...figures.by('watchglass_mirror_reads_total', 'freshness').keys()]
  const results = ['mirror', 'elsewhere', 'refused']
  return section(
    { id: 'reads', title: 'Requests', about: 'Since the start.' },
    html`<div class="side">
      ${table({
        caption: 'Requests by verb and by who answered',
        columns: [
          { title: 'Verb' },
          ...sources.map(title => ({ title: answerers[title] ?? title, isFigure: true })),
        ],
        rows: [...verbs.keys()].map(verb => [
          verb === '' ? 'not of a resource' : verb,
          ...sources.map(source => figures.show(requests, { where: { verb, source } })),
        ]),
      })}
      ${table({
        caption: 'Reads by freshness and result',
        columns: [
          { title: 'Freshness' },
          ...results.map(title => ({ title: answerers[title] ?? title, isFigure: true })),
        ],
        rows: freshness.map(one => [
          one,
          ...results.map(result =>
            figures.show('watchglass_mirror_reads_total', { where: { freshness: one, result } }),
          ),
        ]),
      })}
    </div>`,
  )
}

/** Calls of etcd's API; undefined where nobody has made one. */
export function etcdCalls(figures: Figures): Html | undefined {
  const calls = 'watchglass_etcd_calls_total'
  const methods = [...figures.by(calls, 'method').keys()]
  if (methods.length === 0 && figures.sum('watchglass_etcd_watchers') === 0) return undefined
  return section(
    {
      id: 'etcd-calls',
      title: "Calls of etcd's API",
      about: html`Since the start. Clients have ${figures.show('watchglass_etcd_watchers')} watchers
      open, for which etcd has one.`,
    },
    table({
      caption: "Calls of etcd's API by method and by who answered",
      columns: [
        { title: 'Method' },
        ...['mirror', 'etcd'].map(one => ({ title: answerers[one] ?? one, isFigure: true })),
      ],
      rows: methods.map(method => [
        method,
        ...['mirror', 'etcd'].map(source => figures.show(calls, { where: { method, source } })),
      ]),
    }),
  )
}

/** The slowest of the last ten minutes, with where their time went. */
export function slowRequests(all: readonly SlowRequest[], { nowMs }: PageSource): Html {
  const shown = all.toSorted((a, b) => b.tookMs - a.tookMs).slice(0, slowShown)
  const time = (ms: number): string => (ms === 0 ? '–' : seconds(ms / 1000))
  return section(
    {
      id: 'slow',
      title: 'Slowest requests',
      about:
        'Of the last ten minutes, longer than a second, and not by the upstream; watches until they began. The log has each, as "a request was slow".',
    },
    shown.length === 0
      ? html`<p class="card">None took longer than a second.</p>`
      : table({
          caption: 'Slowest requests',
          columns: [
            { title: 'Request' },
            { title: 'Code', isFigure: true },
            { title: 'Ended', isFigure: true },
            { title: 'Took', isFigure: true },
            ...timesOfSlow.map(([, title]) => ({ title, isFigure: true })),
          ],
          rows: shown.map(one => [
            one.verb === ''
              ? 'not of a resource'
              : `${one.verb} ${one.resource}${one.group === '' ? '' : `.${one.group}`}`,
            String(one.code),
            `${seconds(Math.max(0, nowMs() - one.endedAtMs) / 1000)} ago`,
            time(one.tookMs),
            ...timesOfSlow.map(([name]) => time(one[name])),
          ]),
        }),
  )
}

const timesOfSlow = [
  ['reviewMs', 'Asking about its caller'],
  ['etcdMs', 'Waiting for etcd'],
  ['turnMs', 'Waiting for its turn'],
  ['encodeMs', 'Making the answer'],
  ['socketMs', 'Client reading'],
] as const
const slowShown = 20

export function watches(
  figures: Figures,
  { nameOf }: PageSource,
  all: readonly WatchingClient[],
): Html {
  const shown = all
    .toSorted((a, b) => b.lagging - a.lagging || b.watches - a.watches)
    .slice(0, clientsShown)
  const more = all.length - shown.length
  return section(
    {
      id: 'watches',
      title: 'Watches',
      about: html`${figures.show('watchglass_watches')} are open,
      ${figures.show('watchglass_watches_lagging')} of them behind.
      ${figures.show('watchglass_watch_sent_events_total')} events
      (${figures.show('watchglass_watch_sent_bytes_total', { as: bytes })}) were sent since the
      start. A client that reads slowly costs no memory: it keeps its place in the history, and gets
      410 when the history has gone past it, as
      ${figures.show('watchglass_watches_ended_total', { where: { reason: 'expired' } })} did.`,
    },
    shown.length === 0
      ? html`<p class="card">No watch is open.</p>`
      : table({
          caption: 'Watches by client',
          columns: [
            { title: 'Client' },
            { title: 'Kind' },
            { title: 'Watches', isFigure: true },
            { title: 'Behind', isFigure: true },
            { title: 'Revisions behind', isFigure: true },
          ],
          rows: shown.map(({ client, keyspace, watches: open, lagging, behind }) => [
            html`<span class="client">${client}</span>`,
            nameOf(keyspace),
            String(open),
            lagging === 0 ? '0' : badge(String(lagging), 'warn'),
            String(behind),
          ]),
        }),
    more > 0 ? html`<p class="soft">${more} more clients have watches.</p>` : undefined,
  )
}

const clientsShown = 20
