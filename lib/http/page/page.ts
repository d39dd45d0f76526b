/** The page for people, as one HTML document. Its tables need no script. */

import { Figures } from './figures.ts'
import { html, Html, type HtmlValue } from './html.ts'
import type { PageSource } from './page-source.ts'
import { faults, health, keyFigures, passThrough, plots, threadNote } from './overview.ts'
import { memory, processSection } from './process.ts'
import { resources } from './resources.ts'
import { reads, watches } from './traffic.ts'
import { evidence, upstream } from './upstream.ts'
import { script } from './script.ts'
import { style } from './style.ts'

/** The document of now. */
export async function renderPage(source: PageSource): Promise<string> {
  const [metrics, { recent, clients }] = await Promise.all([source.metrics(), source.traffic()])
  const figures = new Figures(metrics)
  const parts: readonly (readonly [id: string, content: HtmlValue])[] = [
    ['live-health', health(source)],
    ['live-figures', keyFigures(figures, recent)],
    ['live-threads', threadNote(source)],
    ['live-plots', plots(recent)],
    ['live-faults', faults(source)],
    ['live-resources', resources(figures, source)],
    ['live-reads', reads(figures)],
    ['live-watches', watches(figures, source, clients)],
    ['live-memory', memory(figures)],
    ['live-upstream', upstream(figures, source)],
    ['live-evidence', evidence(figures, source)],
    ['live-switch', passThrough(source)],
    ['live-process', processSection(figures, source)],
  ]
  return `<!doctype html>
${
  page(
    parts.map(([id, content]) => html`<div id="${id}" data-live>${content}</div>`),
    source,
  ).text
}
`
}

function page(parts: HtmlValue, source: PageSource): Html {
  const links = [
    ['resources', 'Kinds'],
    ['reads', 'Requests'],
    ['watches', 'Watches'],
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
  return html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>Watchglass</title>
      ${new Html(`<style>${style}</style>`)}
    </head>
    <body>
      <a class="skip" href="#main">To the figures</a>
      <header>
        ${logo}
        <h1>Watchglass</h1>
        <p class="soft">${source.version}</p>
        <div class="live">
          <span class="soft" id="live-state" role="status">Reload for newer figures</span>
          <button type="button" id="pause" hidden>Pause</button>
        </div>
        <nav aria-label="Parts of the page">
          <ul>
            ${links.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}
          </ul>
        </nav>
      </header>
      <main id="main">${parts}</main>
      <footer class="soft">
        These are the figures of <a href="/metrics">/metrics</a>. No object's contents and no user's
        name are shown here.
      </footer>
      ${new Html(`<script>${script}</script>`)}
    </body>
  </html>`
}

/** A watch glass: a dish with something in it to look at. */
const logo = new Html(
  '<svg viewBox="0 0 34 34" aria-hidden="true"><circle class="line line0" cx="17" cy="17" r="14"/>' +
    '<path class="line line0" d="M8 17c3-6 15-6 18 0c-3 6-15 6-18 0z"/><circle class="part1" cx="17" cy="17" r="3.2"/></svg>',
)
