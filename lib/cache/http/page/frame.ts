/** The frame of every page: head, title, links to its parts, footer and script. */

import { html, Html, type HtmlValue } from './html.ts'
import type { Shows } from './objects.ts'
import { scriptOf } from './script.ts'
import { style } from './style.ts'

export interface PageFrame {
  readonly version: string
  /** The cluster that it is about, of several below one address. */
  readonly cluster?: string | undefined
  /** The parts by which the page chooses its script. */
  readonly shows: Shows
  /** Ids of the parts that the head links to, and their titles. */
  readonly links: readonly (readonly string[])[]
  readonly footer: HtmlValue
}

/** The whole document. */
export function framed(parts: HtmlValue, page: PageFrame): string {
  const { version, cluster, shows, links, footer } = page
  const document = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>${cluster === undefined ? '' : `${cluster} · `}Watchglass</title>
      <link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}" />
      ${new Html(`<style>${style}</style>`)}
    </head>
    <body>
      <a class="skip" href="#main">${shows === 'objects' ? 'To the objects' : 'To the figures'}</a>
      <header>
        ${logo}
        <h1>Watchglass</h1>
        <p class="soft">${version}</p>
        ${cluster === undefined ? undefined : clusterName(cluster)}
        ${shows === 'objects' ? undefined : liveAndLinks(links)}
      </header>
      <main id="main">${parts}</main>
      <footer class="soft">${footer}</footer>
      ${new Html(`<script>${scriptOf(shows)}</script>`)}
    </body>
  </html>`
  return `<!doctype html>\n${document.text}\n`
}

/** Below `clusters/NAME/` of the address that lists all. */
function clusterName(name: string): Html {
  return html`<p>Cluster <b>${name}</b>, of <a href="../../">all clusters</a></p>`
}

function liveAndLinks(links: PageFrame['links']): Html {
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
