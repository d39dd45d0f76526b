/** Metrics of the process: memory, garbage collection, and how long its event loop is held. */

import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'

/** prom-client calls these gauges totals, against Prometheus' rules. `nodejs_active_resources` says
 *  the same. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

export function watchProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
}

export function showVersions(registry: Registry, version: string): void {
  const build = new Gauge({
    name: 'watchglass_build_info',
    help: 'Always 1. The labels are the versions of Watchglass and of Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
  })
  build.set({ version, node: process.versions.node }, 1)
}
