/** Writes the options of now into README: `node dist/test/support/program/write-readme.js`. */

import { readFileSync, writeFileSync } from 'node:fs'
import { withOptions } from './readme-options.ts'

writeFileSync('README.md', withOptions(readFileSync('README.md', 'utf8')))
