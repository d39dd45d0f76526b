/** Writes what is made from the program's own tables: docs/OPTIONS.md, docs/METRICS.md,
 *  deploy/grafana and the man page: `node dist/test/support/program/write-options.js`. */

import { writeFileSync } from 'node:fs'
import { manPage } from '../../../lib/cli/commands/man.ts'
import { dashboardFile, dashboardJson, dashboards } from './dashboards/dashboards.ts'
import { metricsDocument } from './metrics-document.ts'
import { optionsDocument } from './options-document.ts'

writeFileSync('deploy/watchglass.1', manPage())
writeFileSync('docs/OPTIONS.md', optionsDocument())
writeFileSync('docs/METRICS.md', await metricsDocument())
for (const dashboard of dashboards) {
  writeFileSync(dashboardFile(dashboard), dashboardJson(dashboard))
}
