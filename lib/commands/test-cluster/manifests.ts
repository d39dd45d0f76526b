/** Objects in the YAML and JSON files of a folder. */

import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { CacheError } from '../../base/errors.ts'
import { isObject, textOf } from '../../base/untyped.ts'

export interface Manifest {
  /** For people: the file that it comes from. */
  readonly file: string
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  /** Empty if it names none. */
  readonly namespace: string
  readonly object: object
}

/** In the order of the files' names, and in a file as they stand. What is no file in it is left
 *  alone.
 *  @param option for errors, as `--apply` */
export function manifestsIn(folder: string, option: string): readonly Manifest[] {
  let entries: Dirent[]
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    const reason = CacheError.from(error, 'invalid_request').message
    throw invalid(`${option} cannot be read: ${reason}`, error)
  }
  const files = entries
    .filter(entry => /\.(?:ya?ml|json)$/.test(entry.name) && isFile(folder, entry))
    .map(({ name }) => name)
    .toSorted()
  if (files.length === 0) throw invalid(`${option} ${folder} has no file of YAML or JSON`)
  return files.flatMap(name => manifestsOf(join(folder, name)))
}

/** A link counts as what it leads to. */
function isFile(folder: string, entry: Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isFile()
  return statSync(join(folder, entry.name), { throwIfNoEntry: false })?.isFile() === true
}

function manifestsOf(file: string): readonly Manifest[] {
  try {
    return [...parseAllDocuments(readFileSync(file, 'utf8'))].flatMap(document => {
      const [problem] = document.errors
      if (problem !== undefined) throw invalid(`${file}: ${problem.message}`)
      const object: unknown = document.toJS()
      // Aliases may lead back to what they are in.
      JSON.stringify(object)
      return object === null ? [] : manifestsFrom(object, file)
    })
  } catch (error) {
    if (error instanceof CacheError) throw error
    const [reason = ''] = CacheError.from(error, 'invalid_request').message.split('\n')
    throw invalid(`${file} cannot be read: ${reason}`, error)
  }
}

/** A List is what is in it. */
function manifestsFrom(object: unknown, file: string): readonly Manifest[] {
  if (!isObject(object)) throw invalid(`${file} holds something that is no object`)
  const { apiVersion, kind, metadata, items } = object
  if (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap(item => manifestsFrom(item, file))
  }
  if (textOf(apiVersion) === '' || textOf(kind) === '') {
    throw invalid(`${file} holds an object without apiVersion and kind`)
  }
  const { name, namespace } = isObject(metadata) ? metadata : {}
  const named = { name: textOf(name), namespace: textOf(namespace) }
  if (named.name === '') throw invalid(`${file} holds a ${textOf(kind)} without a name`)
  return [{ file, apiVersion: textOf(apiVersion), kind: textOf(kind), ...named, object }]
}

function invalid(message: string, cause?: unknown): CacheError {
  return new CacheError('invalid_request', message, { cause })
}
