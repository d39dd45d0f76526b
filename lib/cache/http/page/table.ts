/** A table in a card, which scrolls by itself on a small screen. */

import { html, type Html, type HtmlValue } from './html.ts'

export interface Column {
  readonly title: string
  /** Figures are set to the right. */
  readonly isFigure?: boolean
}

export interface PageTable {
  readonly caption: string
  readonly columns: readonly Column[]
  /** The first cell of each row names it. */
  readonly rows: readonly (readonly HtmlValue[])[]
}

export function table({ caption, columns, rows }: PageTable): Html {
  const kind = (i: number): string => (columns[i]?.isFigure === true ? 'figure' : 'text')
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ title }, i) => html`<th scope="col" class="${kind(i)}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr>
              ${row.map((cell, i) =>
                i === 0
                  ? html`<th scope="row" class="${kind(i)}">${cell}</th>`
                  : html`<td class="${kind(i)}">${cell}</td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** A word with a colour. The word says it all; the colour only helps to find it. */
export function badge(text: string, mood: 'good' | 'bad' | 'warn' | 'calm'): Html {
  return html`<span class="badge ${mood}">${text}</span>`
}

export interface Section {
  readonly id: string
  readonly title: string
  /** A sentence below the title. */
  readonly about?: HtmlValue
}

/** A part of the page with its heading. */
export function section({ id, title, about }: Section, ...content: readonly HtmlValue[]): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${about === undefined ? undefined : html`<p class="soft">${about}</p>`} ${content}
  </section>`
}
