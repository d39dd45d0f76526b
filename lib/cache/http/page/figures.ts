/** The figures of the page: those of /metrics, read from the same text, so that the page and the
 *  dashboards never differ. Each figure says in its `data-metric` attribute which metrics it is the
 *  sum of. */

import { type Format, count } from './format.ts'
import { html, type Html } from './html.ts'

export interface PlotSeries {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Labels that a series must have. */
export type Where = Readonly<Record<string, string>>

export class Figures {
  readonly #byName = new Map<string, PlotSeries[]>()

  /** Reads the text format of Prometheus, as we write it. */
  constructor(metrics: string) {
    for (const line of metrics.split('\n')) {
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
      if (match === null) continue
      const [, name = '', labels = '', value] = match
      const series = { labels: labelsOf(labels), value: Number(value) }
      const known = this.#byName.get(name)
      if (known === undefined) this.#byName.set(name, [series])
      else known.push(series)
    }
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  all(name: string, where: Where = {}): readonly PlotSeries[] {
    const wanted = Object.entries(where)
    const series = this.#byName.get(name) ?? []
    return wanted.length === 0
      ? series
      : series.filter(({ labels }) => wanted.every(([label, value]) => labels[label] === value))
  }

  /** The sum of all series that have these labels. */
  sum(name: string, where?: Where): number {
    return this.all(name, where).reduce((sum, { value }) => sum + value, 0)
  }

  /** The values of a label, with the sum of the series that have it. */
  by(name: string, label: string, where?: Where): ReadonlyMap<string, number> {
    const sums = new Map<string, number>()
    for (const { labels, value } of this.all(name, where)) {
      const key = labels[label] ?? ''
      sums.set(key, (sums.get(key) ?? 0) + value)
    }
    return sums
  }

  /** The sum, for the page. */
  show(name: string, options: { readonly where?: Where; readonly as?: Format } = {}): Html {
    const { where = {}, as = count } = options
    const value = this.sum(name, where)
    const pairs = Object.entries(where).map(([label, text]) => `${label}=${JSON.stringify(text)}`)
    const metric = pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`
    return html`<data value="${value}" data-metric="${metric}">${as(value)}</data>`
  }
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [, name = '', value = ''] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replaceAll(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one))
  }
  return labels
}
