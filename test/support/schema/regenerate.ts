/** Makes the data files of lib/ from a folder with Kubernetes reference data
 *  (lib/codec/schema/FORMAT.md says what each file of such a folder holds) and from the recordings
 *  in test/golden/data:
 *
 *      npm run regenerate -- FOLDER
 *
 *  The folder describes one minor version whole, and in versions/ what the others do differently. A
 *  data file has one row for all minors of which it is true. behaviours.json, beside the files made
 *  here, is kept by hand. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { discoveryFile } from './discovery-file.ts'
import { resourcesFile } from './resources-file.ts'
import { schemaFile } from './schema-file.ts'
import { tablesFile } from './tables-file.ts'

const folder = process.argv[2]
if (folder === undefined) {
  process.stderr.write('usage: npm run regenerate -- FOLDER (with kubernetes-schema.json)\n')
  process.exit(2)
}

const read = (name: string): never => JSON.parse(readFileSync(join(folder, name), 'utf8')) as never

const target = 'lib/codec/schema/data'
const { minors, whole } = JSON.parse(readFileSync(`${target}/behaviours.json`, 'utf8')) as {
  readonly minors: readonly string[]
  /** The minor that the folder describes whole. */
  readonly whole: string
}
const schema = schemaFile(read('kubernetes-schema.json'), read('versions/schema-deltas.json'), {
  minors,
  whole,
})
write(`${target}/types.json`, schema)
write(
  `${target}/resources.json`,
  resourcesFile(read('resources.json'), read('versions/storage-by-minor.json'), {
    minors,
    schema,
  }),
)
write(
  `${target}/tables.json`,
  tablesFile(read('tables.json'), read('versions/table-deltas.json'), { minors, whole }),
)
// The rules in words (`special`) are rows of more-defaults.json.
const { format, rules } = read('read-defaults.json') as { format: string; rules: object }
write(`${target}/read-defaults.json`, { format, rules })
write(
  'lib/kube/documents/discovery.json',
  discoveryFile(
    read('discovery/apis.json'),
    readFileSync(join(folder, 'discovery/version.json'), 'utf8'),
    {
      minors,
      whole,
    },
  ),
)

/** One line for each row of a list or member of an object at the second level, so that differences
 *  can be read. */
function write(file: string, content: object): void {
  const members = Object.entries(content).map(([name, value]) => {
    const isTable =
      typeof value === 'object' && value !== null && Object.keys(value as object).length > 1
    if (!isTable) return `${JSON.stringify(name)}:${JSON.stringify(value)}`
    const [open, close] = Array.isArray(value) ? '[]' : '{}'
    const lines = Array.isArray(value)
      ? value.map(row => JSON.stringify(row))
      : Object.entries(value as object).map(
          ([key, row]) => `${JSON.stringify(key)}:${JSON.stringify(row)}`,
        )
    return `${JSON.stringify(name)}:${open}\n${lines.join(',\n')}\n${close}`
  })
  writeFileSync(file, `{\n${members.join(',\n')}\n}\n`)
}
