/** Makes the data files of lib/ from a folder with the reference data of a Kubernetes version (lib/codec/schema/FORMAT.md says
 *  what each file of such a folder holds):
 *
 *      npm run regenerate -- FOLDER
 *
 *  Files are kept line by line as they are there, so that the difference between two versions can be read. */

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = process.argv[2]
if (folder === undefined) {
  process.stderr.write('usage: npm run regenerate -- FOLDER (with kubernetes-schema.json)\n')
  process.exit(2)
}

for (const name of ['kubernetes-schema', 'read-defaults', 'resources', 'tables']) {
  JSON.parse(read(`${name}.json`))
  copyFileSync(join(folder, `${name}.json`), `lib/codec/schema/data/${name}.json`)
}
writeFileSync('lib/kube/documents/discovery.json', discoveryData())

/** What a kube-apiserver says of itself: the order of its groups, and the body of /version. */
function discoveryData(): string {
  const { groups } = JSON.parse(read('discovery/apis.json')) as { groups: { name: string }[] }
  const version = read('discovery/version.json')
  return `${JSON.stringify({ groupOrder: groups.map(({ name }) => name), version }, null, 2)}\n`
}

function read(name: string): string {
  return readFileSync(join(String(folder), name), 'utf8')
}
