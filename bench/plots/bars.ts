/** A bar chart as SVG text, readable on light and dark pages: groups of bars, each group with a
 *  scale of its own. */

export interface BarGroup {
  readonly title: string
  /** Such as "MB/s"; stands behind each value. */
  readonly unit: string
  readonly bars: readonly Bar[]
}

export interface Bar {
  readonly label: string
  readonly value: number
  /** Ours, in contrast to what it is compared with. */
  readonly isOurs: boolean
}

const width = 740
const labelWidth = 250
const valueWidth = 130
const barHeight = 18
const barGap = 6
const groupGap = 18
const titleHeight = 22
const captionHeight = 26

/** The chart, with a line of text below it that says where the figures are from. */
export function barChart(groups: readonly BarGroup[], caption: string): string {
  const parts: string[] = []
  let y = groupGap
  for (const { title, unit, bars } of groups) {
    parts.push(text(0, y + 12, 'title', title))
    y += titleHeight
    const largest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
    for (const { label, value, isOurs } of bars) {
      const length = Math.max(1, (value / largest) * (width - labelWidth - valueWidth))
      const middle = y + barHeight / 2 + 4
      parts.push(
        text(labelWidth - 8, middle, 'label', label),
        `<rect class="${isOurs ? 'ours' : 'other'}" x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="${barHeight}" rx="2"/>`,
        text(labelWidth + length + 6, middle, 'value', `${figureText(value)} ${unit}`),
      )
      y += barHeight + barGap
    }
    y += groupGap
  }
  const height = y + captionHeight
  parts.push(text(0, y + 8, 'caption', caption))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<style>${style}</style>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

/** Colours that can be told apart on both backgrounds; text takes the page's side. */
const style = [
  'text{font:13px system-ui,sans-serif;fill:#24292f}',
  '.title{font-weight:600}',
  '.label{text-anchor:end}',
  '.caption{font-size:11px;fill:#6e7781}',
  '.ours{fill:#1f7a8c}',
  '.other{fill:#a9b4c0}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.caption{fill:#9198a1}.ours{fill:#3fb6cc}.other{fill:#5b6570}}',
].join('')

function text(x: number, y: number, kind: string, content: string): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}">${escaped}</text>`
}

/** Three digits that count. */
export function figureText(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en-US', { maximumFractionDigits: digits })
}
