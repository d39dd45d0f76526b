/** The page for people, as one HTML document. Its tables need no script. */

import { Figures } from './figures.ts'
import { html, Html, type HtmlValue } from './html.ts'
import { objects, type Shows, withoutObjects } from './objects.ts'
import type { PageSource } from './page-source.ts'
import { faults, health, keyFigures, passThrough, plots, threadNote } from './overview.ts'
import { memory, processSection } from './process.ts'
import { resources } from './resources.ts'
import { etcdCalls, reads, slowRequests, watches } from './traffic.ts'
import { evidence, upstream } from './upstream.ts'
import { scriptOf } from './script.ts'
import { style } from './style.ts'

/** The document of now. Where callers are authorized it has no figures of the process, which are
 *  for operators, and nothing of anybody: its script asks as the caller. */
export async function renderPage(source: PageSource, shows: Shows): Promise<string> {
  const figures = shows === 'objects' ? undefined : await renderFigures(source, shows)
  return `<!doctype html>
${page([figures, objects(shows), withoutObjects(shows, source)], { source, shows }).text}
`
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

interface Frame {
  readonly source: PageSource
  readonly shows: Shows
}

function page(parts: HtmlValue, { source, shows }: Frame): Html {
  const links = [...(shows === 'figures' ? [] : [['/', 'Objects']]), ...linksToFigures(source)]
  return html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>Watchglass</title>
      <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />
      ${new Html(`<style>${style}</style>`)}
    </head>
    <body>
      <a class="skip" href="#main">${shows === 'objects' ? 'To the objects' : 'To the figures'}</a>
      <header>
        ${logo}
        <h1>Watchglass</h1>
        <p class="soft">${source.version}</p>
        ${shows === 'objects' ? undefined : liveAndLinks(links)}
      </header>
      <main id="main">${parts}</main>
      <footer class="soft">${footers[shows]}</footer>
      ${new Html(`<script>${scriptOf(shows)}</script>`)}
    </body>
  </html>`
}

const ofMetrics = html`These are the figures of <a href="/metrics">/metrics</a>. `
const ofApi = html`Objects come from this server's own API, as for any other client.`
const footers: Readonly<Record<Shows, HtmlValue>> = {
  figures: html`${ofMetrics}No object's contents and no user's name are shown here.`,
  objects: ofApi,
  all: html`${ofMetrics}${ofApi}`,
}

function liveAndLinks(links: readonly (readonly string[])[]): Html {
  return html`<div class="live">
      <span class="soft" id="live-state" role="status">Reload for newer figures</span>
      <button type="button" id="pause" hidden>Pause</button>
    </div>
    <nav aria-label="Parts of the page">
      <ul>
        ${links.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}
      </ul>
    </nav>`
}

function linksToFigures(source: PageSource): readonly (readonly string[])[] {
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

/** A watch glass: a dish with something in it to look at. */
const logo = new Html(
  '<svg viewBox="0 0 34 34" aria-hidden="true"><circle class="line line0" cx="17" cy="17" r="14"/>' +
    '<path class="line line0" d="M8 17c3-6 15-6 18 0c-3 6-15 6-18 0z"/><circle class="part1" cx="17" cy="17" r="3.2"/></svg>',
)

/** The logo beside the name of the page in a browser. Its colors stand out on light and on dark. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 34 34"><g fill="none" stroke="#14938a" stroke-width="3">' +
  '<circle cx="17" cy="17" r="14"/><path d="M8 17c3-6 15-6 18 0c-3 6-15 6-18 0z"/></g>' +
  '<circle cx="17" cy="17" r="4" fill="#e0642d"/></svg>'
