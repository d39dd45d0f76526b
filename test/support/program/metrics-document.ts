/** deploy/METRICS.md: every metric with its labels and help, out of the registry of the program. */

import { Metrics } from '../../../lib/ops/metrics.ts'

/** The document with the metrics of now. */
export async function metricsDocument(): Promise<string> {
  const text = await everyMetric().text()
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  )
  const rows = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)]
    .map(([, name = '', help = '']) => `- \`${name}\` (${types.get(name)}): ${help}`)
    .sort()
  return [
    '# Metrics',
    '',
    'What `/metrics` of `--admin-listen` (of `--listen` without an upstream) says, beside the process metrics of prom-client. Made by',
    '`node dist/test/support/program/write-options.js`.',
    '',
    ...rows,
    '',
  ].join('\n')
}

function everyMetric(): Metrics {
  const metrics = new Metrics()
  metrics.watchSegments({ bytes: 0, count: 0 })
  metrics.watchMemory(() => ({
    budgetBytes: 0,
    mirrorBytes: 0,
    historyBytes: 0,
    segmentBytes: 0,
    droppedKeyspaces: 0,
  }))
  metrics.watchWatches(() => ({ open: 0, lagging: 0, frameBytes: 0 }))
  metrics.watchKeyspaces(() => [])
  metrics.watchExchanges(() => 0)
  metrics.watchReviews(() => 0)
  metrics.watchWaitingReads(() => 0)
  metrics.upstream.watch(() => ({
    isUp: true,
    isVersionCovered: true,
    isSwitchedOff: false,
    storageStates: {},
    underWay: {},
    evidence: { comparisons: {}, bytes: 0, forms: {} },
  }))
  return metrics
}
