/** Files of YAML or JSON that options name: which a folder has, and what is in one. */

import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CacheError, yamlValues } from '@watchglass/base'

/** The paths of those in a folder, in the order of their names. What is no file in it is left
 *  alone. Throws as the file system does. */
export function yamlFilesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => /\.(?:ya?ml|json)$/.test(entry.name) && isFile(folder, entry))
    .map(({ name }) => name)
    .toSorted()
    .map(name => join(folder, name))
}

/** A link counts as what it leads to. */
function isFile(folder: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return statSync(join(folder, entry.name), { throwIfNoEntry: false })?.isFile() === true
}

/** The documents in a file, each a value that JSON can have.
 *  @param said the file as errors name it */
export function documentsIn(file: string, said: string): unknown[] {
  try {
    return yamlValues(readFileSync(file, 'utf8'))
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${said} cannot be read: ${message}`, { cause: error })
  }
}
