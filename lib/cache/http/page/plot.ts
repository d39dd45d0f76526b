/** Plots as SVG: lines over the last ten minutes. The figures are in the text below each, too, for
 *  those who cannot see them. */

import type { Format } from './format.ts'
import { html, Html } from './html.ts'
import type { PlottedFigures } from './page-source.ts'

export interface Line {
  readonly label: string
  readonly course: PlottedFigures
}

export interface PlotOptions {
  readonly id: string
  readonly title: string
  /** Subject of the plot, in a sentence. */
  readonly about: string
  readonly lines: readonly Line[]
  readonly format: Format
  /** Time span of the whole plot. */
  readonly spanText: string
}

const width = 480
const height = 150
const left = 8
const right = 8
const top = 14
const bottom = 18

/** A figure with a plot, its legend and its newest values. */
export function plot({ id, title, about, lines, format, spanText }: PlotOptions): Html {
  const values = lines.flatMap(({ course }) => course.filter(value => value !== undefined))
  const most = Math.max(0, ...values)
  const scale = ceilingOf(most)
  const legend = lines.map(({ label, course }, i) => {
    const newest = course.findLast(value => value !== undefined)
    const worst = Math.max(0, ...course.filter(value => value !== undefined))
    const text = newest === undefined ? '–' : format(newest)
    return html`<li>
      <span class="key key${i}" aria-hidden="true"></span>${label} <b>${text}</b>
      <span class="soft">max ${newest === undefined ? '–' : format(worst)}</span>
    </li>`
  })
  return html`<figure class="card plot" id="${id}">
    <figcaption>
      <h3>${title}</h3>
      <p class="soft">${about}</p>
    </figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}, ${spanText}">
      ${grid(scale, format, spanText)}${lines.map(({ course }, i) => line(course, i, scale))}
    </svg>
    <ul class="legend">
      ${legend}
    </ul>
  </figure>`
}

function grid(scale: number, format: Format, spanText: string): Html {
  const steps = [1, 0.5, 0].map(part => {
    const y = yOf(part * scale, scale)
    const text = part === 0 ? '' : format(part * scale)
    return html`<line class="grid" x1="${left}" x2="${width - right}" y1="${y}" y2="${y}" />
      <text x="${left}" y="${y - 3}">${text}</text>`
  })
  const baseline = height - 5
  return html`${steps}<text x="${left}" y="${baseline}">${spanText}</text>
    <text x="${width - right}" y="${baseline}" text-anchor="end">now</text>`
}

/** One path, with a gap where nothing was measured. A lone value is a dot that is seen: a line of
 *  no length is as wide as lines are. */
function line(course: PlottedFigures, index: number, scale: number): Html {
  const step = (width - left - right) / Math.max(1, course.length - 1)
  let path = ''
  let dots = ''
  let isDrawing = false
  course.forEach((value, i) => {
    if (value === undefined) {
      isDrawing = false
      return
    }
    const [x, y] = [(left + i * step).toFixed(1), yOf(value, scale)]
    const isLone = !isDrawing && course[i + 1] === undefined
    if (isLone) dots += `<circle class="part${index}" cx="${x}" cy="${y}" r="3.5"/>`
    else path += `${isDrawing ? 'L' : 'M'}${x} ${y}`
    isDrawing = true
  })
  return new Html(`<path class="line line${index}" d="${path}"/>${dots}`)
}

function yOf(value: number, scale: number): number {
  const share = scale === 0 ? 0 : Math.min(1, value / scale)
  return Math.round((top + (1 - share) * (height - top - bottom)) * 10) / 10
}

/** The next of 1, 2, 5, 10 and so on. */
function ceilingOf(value: number): number {
  if (value <= 0) return 0
  const power = 10 ** Math.floor(Math.log10(value))
  const factor = [1, 2, 5, 10].find(one => one * power >= value * 0.999) ?? 10
  return factor * power
}
