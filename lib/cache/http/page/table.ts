/** A table in a card, which scrolls by itself on a small screen. */

import { html, type Html, type HtmlValue } from './html.ts'

export interface Column {
  readonly title: string
  /** Figures are set to the right. */
  readonly isFigure?: boolean
}

export interface TableHead {
  readonly caption: string
  readonly columns: readonly Column[]
}

export interface PageTable extends TableHead {
  /** The first cell of each row names it. */
  readonly rows: readonly (readonly HtmlValue[])[]
}

export function table({ rows, ...head }: PageTable): Html {
  return tableOf(
    head,
    rows.map(cells => tableRow(head.columns, cells)),
  )
}

/** A table of rows that are made already: one after the other, where there may be many. */
export function tableOf({ caption, columns }: TableHead, rows: readonly Html[]): Html {
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(column => html`<th scope="col" class="${kindOf(column)}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`
}

export function tableRow(columns: readonly Column[], cells: readonly HtmlValue[]): Html {
  return html`<tr>
    ${cells.map((cell, i) =>
      i === 0
        ? html`<th scope="row" class="${kindOf(columns[i])}">${cell}</th>`
        : html`<td class="${kindOf(columns[i])}">${cell}</td>`,
    )}
  </tr>`
}

function kindOf(column: Column | undefined): string {
  return column?.isFigure === true ? 'figure' : 'text'
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
