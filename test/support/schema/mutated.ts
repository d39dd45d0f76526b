/** Loaded before a test (`node --import`): changes the data file that MUTATION names in memory,
 *  before anything reads it. */

import { createRequire } from 'node:module'
import { mutationsOf } from './mutations.ts'

const require = createRequire(import.meta.url)
const lib = '../../../lib'
const content = (file: string): never => require(`${lib}/${file}`) as never
const all = mutationsOf(content('codec/schema/data/behaviours.json'))
const found = all.find(({ name }) => name === process.env['MUTATION'])
if (found === undefined) throw new Error(`no mutation ${process.env['MUTATION']}`)
found.apply(content(found.file))
