/** Objects in the YAML and JSON files of a folder. */

import { CacheError, isObject, textOf } from '@watchglass/base'
import { documentsIn, yamlFilesIn } from '../yaml-files.ts'
import { invalid } from '../../options/invalid.ts'

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
  const files = filesIn(folder, option)
  if (files.length === 0) throw invalid(`${option} ${folder} has no file of YAML or JSON`)
  return files.flatMap(file =>
    documentsIn(file, file)
      .filter(document => document !== null)
      .flatMap(document => manifestsFrom(document, file)),
  )
}

function filesIn(folder: string, option: string): string[] {
  try {
    return yamlFilesIn(folder)
  } catch (error) {
    const reason = CacheError.from(error, 'invalid_request').message
    throw invalid(`${option} cannot be read: ${reason}`, error)
  }
}

/** A List is what is in it. */
function manifestsFrom(object: unknown, file: string): readonly Manifest[] {
  if (!isObject(object)) throw invalid(`${file} holds something that is not an object`)
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
