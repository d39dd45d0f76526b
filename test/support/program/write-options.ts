/** Writes deploy/OPTIONS.md and deploy/METRICS.md: `node dist/test/support/program/write-options.js`. */

import { writeFileSync } from 'node:fs'
import { metricsDocument } from './metrics-document.ts'
import { optionsDocument } from './options-document.ts'

writeFileSync('deploy/OPTIONS.md', optionsDocument())
writeFileSync('deploy/METRICS.md', await metricsDocument())
