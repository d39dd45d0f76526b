/** Reads the JSON files that lie beside the modules they belong to: tables of what Kubernetes is,
 *  made by test/support/schema/regenerate.ts and never changed while a process runs.
 *
 *  This is the one module of the pure core that asks Node for something. Import attributes (`with {
 *  type: 'json' }`) would be the pure way, but Node before 20.18.3 prints a warning for them, and
 *  all files would be parsed at start.
 *
 *  Where the program is one executable file (test/support/release/one-file.ts), the files are
 *  assets in it, by their names without folders. */

import { createRequire } from 'node:module'
import { getAsset, isSea } from 'node:sea'

/** The contents of the file: parsed when it is first asked for, then kept.
 *  @param module `import.meta.url` of the module beside which the file lies
 *  @param path as `./data/tables.json` */
export function readDataFile(module: string, path: string): unknown {
  const name = isSea() ? path : `${module} ${path}`
  let content = contents.get(name)
  if (content === undefined) {
    content = isSea() ? JSON.parse(assetText(path)) : createRequire(module)(path)
    contents.set(name, content)
  }
  return content
}

/** The text of a file of ours within the one executable file. */
export function assetText(path: string): string {
  return getAsset(path.slice(path.lastIndexOf('/') + 1), 'utf8')
}

/** By module and path. Bounded by the number of files in the package. */
const contents = new Map<string, unknown>()
