/** The process: its memory against the budget, its processor, its certificates. */

import type { Figures } from './figures.ts'
import { bytes, seconds } from './format.ts'
import { html, Html, type HtmlValue } from './html.ts'
import type { PageSource } from './page-source.ts'
import { badge, section, table } from './table.ts'

const budgeted = [
  ['Objects', 'watchglass_memory_mirror_bytes', 'part0'],
  ['History', 'watchglass_memory_history_bytes', 'part1'],
  ['Encoded segments', 'watchglass_memory_segment_bytes', 'part2'],
] as const

export function memory(figures: Figures): Html {
  const uses: readonly (readonly [string, string, string])[] = [
    ['Process, all together', 'process_resident_memory_bytes', 'what the system has given it'],
    ['Heap', 'nodejs_heap_size_used_bytes', 'keys, trees and work under way'],
    ['Outside of the heap', 'nodejs_external_memory_bytes', 'stored objects, and bytes on the way'],
    ['Stored values', 'watchglass_slabs_bytes', 'of the mirror and its history'],
    ['Encoded segments', 'watchglass_segments_bytes', 'objects as they were last sent'],
    ['Encoded events', 'watchglass_watch_frame_bytes', 'for watches that come next'],
  ]
  // One of several clusters in a process has no figures of the process.
  const rows: (readonly HtmlValue[])[] = uses
    .filter(([, name]) => figures.has(name))
    .map(([title, name, note]) => [title, figures.show(name, { as: bytes }), note])
  return section(
    { id: 'memory', title: 'Memory' },
    budgetBar(figures),
    table({
      caption: 'Memory by use',
      columns: [{ title: 'Use' }, { title: 'Bytes', isFigure: true }, { title: 'What it is' }],
      rows,
    }),
  )
}

function budgetBar(figures: Figures): Html {
  const name = 'watchglass_memory_budget_bytes'
  if (!figures.has(name)) {
    return html`<p class="soft">There is no budget: <code>--memory-budget</code> sets one.</p>`
  }
  const budget = figures.sum(name)
  let x = 0
  const parts = budgeted.map(([, metric, kind]) => {
    const width = Math.min(100 - x, (figures.sum(metric) / budget) * 100)
    const rect = `<rect class="${kind}" x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="8"/>`
    x += width
    return new Html(rect)
  })
  return html`<div class="card" id="budget">
    <p>
      ${budgeted.map(
        ([title, metric, kind]) =>
          html`<span class="key ${kind}" aria-hidden="true"></span>${title}
            <b>${figures.show(metric, { as: bytes })}</b> `,
      )}
      of <b>${figures.show(name, { as: bytes })}</b>
    </p>
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      ${parts}
    </svg>
    <p class="soft">
      History and segments are given up first.
      ${figures.show('watchglass_memory_dropped_keyspaces')} kinds did not fit and pass to the
      upstream.
    </p>
  </div>`
}

export function processSection(
  figures: Figures,
  { nowMs, startedMs, version, versions, threads }: PageSource,
): Html {
  const node = figures.all('watchglass_build_info')[0]?.labels['node'] ?? ''
  const ends = figures.all('watchglass_certificate_expiry_timestamp_seconds')
  return section(
    { id: 'process', title: 'Process' },
    table({
      caption: 'The process',
      columns: [{ title: 'What' }, { title: 'Value', isFigure: true }],
      rows: [
        ['Version', node === '' ? version : `${version}, on Node ${node}`],
        ['Version of Kubernetes', versions().join(', ') || 'not known yet'],
        ['Running for', seconds((nowMs() - startedMs) / 1000)],
        ['Threads that serve clients', String(threads)],
        ...ofWholeProcess(figures),
        ['Requests under way', figures.show('watchglass_requests_in_flight')],
        ['Reads that wait for the mirror', figures.show('watchglass_mirror_waiting_reads')],
        ['Events of etcd out of order', figures.show('watchglass_mirror_violations_total')],
        ['Streams of etcd opened again', figures.show('watchglass_mirror_reconnects_total')],
        ['Internal errors', figures.show('watchglass_internal_errors_total')],
        ...ends.map(({ labels, value }) => [
          `Certificate of --${labels['option']} ends in`,
          endBadge(value - nowMs() / 1000),
        ]),
      ],
    }),
  )
}

function ofWholeProcess(figures: Figures): HtmlValue[][] {
  if (!figures.has('process_cpu_seconds_total')) return []
  return [
    ['Processor time', figures.show('process_cpu_seconds_total', { as: seconds })],
    ['Event loop late, p99', figures.show('nodejs_eventloop_lag_p99_seconds', { as: seconds })],
    ['Open files', figures.show('process_open_fds')],
  ]
}

const soonSeconds = 7 * 86_400

function endBadge(left: number): Html {
  return badge(seconds(left), left < soonSeconds ? 'bad' : 'good')
}
