/** The top of the page: whether all is well, the figures that matter most, and the plots. */

import type { Figures } from './figures.ts'
import { bytes, count, rate, seconds, share } from './format.ts'
import { html, type Html, type HtmlValue } from './html.ts'
import type { PageSource, PlottedPercentiles, RecentFigures } from './page-source.ts'
import { plot } from './plot.ts'
import { badge, section, table } from './table.ts'

/** The problems, if there are any. */
export function health({ checks }: PageSource): Html {
  const failing = checks.flatMap(({ name, problem }) => {
    const text = problem()
    return text === undefined ? [] : [{ name, text }]
  })
  if (failing.length === 0) {
    return html`<p class="state good" role="status">
      <span class="dot" aria-hidden="true"></span> Ready: everything is mirrored
    </p>`
  }
  return html`<div class="state bad" role="status">
    <p><span class="dot" aria-hidden="true"></span> Not ready</p>
    <ul>
      ${failing.map(({ name, text }) => html`<li><b>${name}</b>: ${text}</li>`)}
    </ul>
  </div>`
}

export function keyFigures(
  figures: Figures,
  { requests }: RecentFigures,
  { isEtcdOnly = false }: PageSource,
): Html {
  const newest = [...requests.values()].reduce((sum, course) => sum + (course.at(-1) ?? 0), 0)
  const worstLag = Math.max(
    0,
    ...figures.all('watchglass_keyspace_lag_seconds').map(({ value }) => value),
  )
  const keyspaces = figures.all('watchglass_keyspace_entries').length
  const lagging = figures.show('watchglass_watches_lagging')
  return html`<ul class="cards" id="key-figures" aria-label="Key figures">
    ${card('Objects', figures.show('watchglass_keyspace_entries'), `of ${count(keyspaces)} kinds`)}
    ${card('Requests a second', rate(newest), 'in the last seconds')}
    ${card('From memory', hereShare(figures, isEtcdOnly), isEtcdOnly ? 'of all calls' : 'of gets, lists, watches')}
    ${
      isEtcdOnly
        ? card('Open watches', figures.show('watchglass_etcd_watchers'), 'for which etcd has one')
        : card('Open watches', figures.show('watchglass_watches'), html`${lagging} behind`)
    }
    ${card('Lag behind etcd', seconds(worstLag), 'of the kind furthest behind')}
    ${memoryCard(figures)}
  </ul>`
}

/** The process's; what one of several clusters in it takes is on the page of all of them. */
function memoryCard(figures: Figures): Html | undefined {
  const name = 'process_resident_memory_bytes'
  if (!figures.has(name)) return undefined
  return card('Memory', figures.show(name, { as: bytes }), 'of the process')
}

function card(title: string, value: HtmlValue, note: HtmlValue): Html {
  return html`<li class="card">
    <span class="soft">${title}</span><strong>${value}</strong><span class="soft">${note}</span>
  </li>`
}

function hereShare(figures: Figures, isEtcdOnly: boolean): string {
  const name = isEtcdOnly ? 'watchglass_etcd_calls_total' : 'watchglass_requests_total'
  let [all, here] = [0, 0]
  for (const { labels, value } of figures.all(name)) {
    if (!isEtcdOnly && !['get', 'list', 'watch'].includes(labels['verb'] ?? '')) continue
    all += value
    if (labels['source'] === 'mirror') here += value
  }
  return all === 0 ? '–' : share(here / all)
}

export function plots(recent: RecentFigures): Html {
  const { latencies, lag, requests, events, stepMs } = recent
  const steps = lag.p50.length
  const spanText = `${Math.round((steps * stepMs) / 60_000)} min ago`
  const linesOf = (one: PlottedPercentiles | undefined) => [
    { label: 'p50', course: one?.p50 ?? [] },
    { label: 'p99', course: one?.p99 ?? [] },
  ]
  const latency = { spanText, format: seconds }
  return html`<div class="plots">
    ${plot({
      id: 'plot-rate',
      title: 'Requests a second',
      about: 'By who answered them.',
      lines: [...requests].map(([label, course]) => ({ label: answerers[label] ?? label, course })),
      spanText,
      format: rate,
    })}
    ${(['get', 'list'] as const)
      .filter(verb => latencies.has(verb))
      .map(verb =>
        plot({
          ...latency,
          id: `plot-${verb}`,
          title: `Latency of ${verb}s`,
          about: 'Until the end of the answer, however long it is.',
          lines: linesOf(latencies.get(verb)),
        }),
      )}
    ${plot({
      ...latency,
      id: 'plot-wait',
      title: 'Wait of consistent reads',
      about: 'For etcd to say its revision, and for the mirror to reach it.',
      lines: linesOf(latencies.get('wait')),
    })}
    ${plot({
      ...latency,
      id: 'plot-lag',
      title: 'Lag behind etcd',
      about: 'For how long a kind has not been known to be level with etcd.',
      lines: linesOf(lag),
    })}
    ${plot({
      id: 'plot-events',
      title: 'Events a second',
      about: 'That etcd has sent, and that open watches were sent.',
      lines: [...events].map(([label, course]) => ({ label, course })),
      spanText,
      format: rate,
    })}
  </div>`
}

/** Names of those who answer, for people. */
export const answerers: Readonly<Record<string, string>> = {
  mirror: 'from memory',
  own: 'by this server',
  upstream: 'passed',
  etcd: 'from etcd',
}

/** The faults that are switched on; undefined without any. */
export function faults({ faults: switchedOn }: PageSource): Html | undefined {
  const counts = switchedOn()
  if (counts.length === 0) return undefined
  return section(
    { id: 'faults', title: 'Faults', about: 'Switched on, on purpose, to test clients.' },
    table({
      caption: 'Faults that are switched on',
      columns: [{ title: 'Rule' }, { title: 'Requests that met it', isFigure: true }],
      rows: counts.map(({ rule, met }) => [html`<code>${rule}</code>`, count(met)]),
    }),
  )
}

/** Says whose plots and clients are shown. */
export function threadNote({ threads }: PageSource): Html | undefined {
  if (threads === 1) return undefined
  return html`<p class="soft">
    ${threads} threads serve clients. All figures are those of the process.
  </p>`
}

/** The switch, which asks twice. Without script it says how else to switch. */
export function passThrough({ isSwitchedOff }: PageSource): Html | undefined {
  if (isSwitchedOff === undefined) return undefined
  const isOff = isSwitchedOff()
  const [now, next, does] = isOff
    ? [badge('on: all reads go to the upstream', 'warn'), 'off', 'Answer from memory again']
    : [badge('off: reads are answered from memory', 'good'), 'on', 'Pass all reads']
  const asked =
    next === 'on'
      ? 'All reads will go to the upstream, which has to do all the work. Open watches go on.'
      : 'Reads will be answered from memory again.'
  return html`<section id="pass-through" aria-labelledby="pass-through-title">
    <h2 id="pass-through-title">Pass-through</h2>
    <div class="card">
      <p>${now}</p>
      <div class="switch" hidden data-state="${next}">
        <button type="button" class="ask">${does} …</button>
        <div class="sure" hidden>
          <p>${asked} Sure?</p>
          <button type="button" class="yes">Yes: ${does.toLowerCase()}</button>
          <button type="button" class="no">No</button>
        </div>
        <p class="said" role="alert"></p>
      </div>
      <p class="soft">
        From this machine also: <code>curl -X PUT '…/pass-through?state=${next}'</code>, or
        <code>kill -USR2</code>.
      </p>
    </div>
  </section>`
}
