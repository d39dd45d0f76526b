/** The report of a long soak as text. */

import type { LongSoakReport } from './long-soak.ts'

export function reportText(report: LongSoakReport): string {
  const { counts, kills, certificateChanges, certificatesSeen, figures } = report
  const lines = [...counts].map(([what, count]) => `  ${String(count).padStart(7)}  ${what}`)
  lines.push(
    `${kills} members of etcd killed; ${certificateChanges} changes of certificates, of which ` +
      `clients saw at least ${certificatesSeen} certificates`,
  )
  for (const { name, trends, atRest, uses, warnings } of figures) {
    lines.push(
      `${name}: ${warnings} warnings, ${atRest.join(' and ')} descriptors at rest before and after`,
    )
    const usesText = uses.map(use =>
      Object.entries(use)
        .map(([of, value]) => `${of} ${(value as number).toFixed(1)}`)
        .join(', '),
    )
    lines.push(`  MiB that it counts, after the warm-up: ${usesText.join('; at the end: ')}`)
    for (const [of, trend] of Object.entries(trends)) {
      if (trend === undefined) continue
      const { mean, perHour, growth, noise, isFlat } = trend
      const text = [mean, perHour, growth, noise].map(value => value.toFixed(1))
      const [meanText, slope, growthText, noiseText] = text
      lines.push(
        `  ${of.padEnd(11)} mean ${meanText}, ${slope} an hour, grew by ${growthText}, ` +
          `noise ${noiseText}: ${isFlat ? 'flat' : 'GROWS'}`,
      )
    }
  }
  const faults = [...report.faults, ...report.growth]
  const said = faults.map(fault => `  ${fault}`)
  return [...lines, `${faults.length} faults`, ...said].join('\n')
}
