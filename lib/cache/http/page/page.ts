/** The page for people, as one HTML document. Its tables need no script. */

import { Figures } from './figures.ts'
import { framed, type PageFrame } from './frame.ts'
import { html, type Html, type HtmlValue } from './html.ts'
import { objects, type Shows, withoutObjects } from './objects.ts'
import type { PageSource } from './page-source.ts'
import { faults, health, keyFigures, passThrough, plots, threadNote } from './overview.ts'
import { memory, processSection } from './process.ts'
import { resources } from './resources.ts'
import { etcdCalls, reads, slowRequests, watches } from './traffic.ts'
import { evidence, upstream } from './upstream.ts'

/** The document of now. Where callers are authorized it has no figures of the process, which are
 *  for operators, and nothing of anybody: its script asks as the caller. */
export async function renderPage(source: PageSource, shows: Shows): Promise<string> {
  const figures = shows === 'objects' ? undefined : await renderFigures(source, shows)
  return framed([figures, objects(shows), withoutObjects(shows, source)], {
    version: source.version,
    cluster: source.cluster,
    shows,
    links: [...(shows === 'figures' ? [] : [objectsLink]), ...linksToFigures(source)],
    footer: footers[shows],
  })
}

async function renderFigures(source: PageSource, shows: Shows): Promise<Html> {
  const [metrics, { recent, clients, slow }] = await Promise.all([
    source.metrics(),
    source.traffic(),
  ])
  const figures = new Figures(metrics)
  const parts: readonly (readonly [id: string, content: HtmlValue])[] = [
    ['live-health', health(source)],
    ['live-figures', keyFigures(figures, recent, source)],
    ['live-threads', threadNote(source)],
    ['live-plots', plots(recent)],
    ['live-faults', faults(source)],
    ['live-resources', resources(figures, source, shows)],
    ['live-reads', reads(figures)],
    ['live-etcd-calls', etcdCalls(figures)],
    ['live-slow', slowRequests(slow, source)],
    ['live-watches', watches(figures, source, clients)],
    ['live-memory', memory(figures)],
    ['live-upstream', upstream(figures, source)],
    ['live-evidence', evidence(figures, source)],
    ['live-switch', passThrough(source)],
    ['live-process', processSection(figures, source)],
  ]
  const isHidden = (id: string): boolean => source.isEtcdOnly === true && ofKubernetes.has(id)
  return html`<div id="figures">
    ${parts.filter(([id]) => !isHidden(id)).map(([id, content]) => html`<div id="${id}" data-live>${content}</div>`)}
  </div>`
}

const ofKubernetes = new Set(['live-reads', 'live-slow', 'live-watches'])

const ofMetrics = html`These are the figures of <a href="metrics">/metrics</a>. `
const ofApi = html`Objects come from this server's own API, as for any other client.`
const footers: Readonly<Record<Shows, HtmlValue>> = {
  figures: html`${ofMetrics}No object's contents and no user's name are shown here.`,
  objects: ofApi,
  all: html`${ofMetrics}${ofApi}`,
}

const objectsLink: readonly string[] = ['/', 'Objects']

function linksToFigures(source: PageSource): PageFrame['links'] {
  return [
    ['resources', 'Kinds'],
    ...(source.isEtcdOnly === true
      ? [['etcd-calls', 'Calls']]
      : [
          ['reads', 'Requests'],
          ['watches', 'Watches'],
        ]),
    ['memory', 'Memory'],
    ...(source.isSwitchedOff === undefined
      ? []
      : [
          ['upstream', 'Upstream'],
          ['evidence', 'Evidence'],
          ['pass-through', 'Pass-through'],
        ]),
    ['process', 'Process'],
  ]
}
