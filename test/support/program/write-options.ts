/** Writes deploy/OPTIONS.md: `node dist/test/support/program/write-options.js`. */

import { writeFileSync } from 'node:fs'
import { optionsDocument } from './options-document.ts'

writeFileSync('deploy/OPTIONS.md', optionsDocument())
