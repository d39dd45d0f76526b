/** Objects in the YAML and JSON files of a folder. */

import { statSync } from 'node:fs'
import { CacheError, isObject, textOf } from '@watchglass/base'
import { documentsIn, yamlFilesIn } from '../yaml-files.ts'
import { invalid } from '../../options/invalid.ts'

export interface Manifest {
  /** For people: the file that it comes from, or its place among objects without one. */
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
  const files = readable(option, () => yamlFilesIn(folder))
  if (files.length === 0) throw invalid(`${option} ${folder} has no file of YAML or JSON`)
  return files.flatMap(manifestsInFile)
}

/** The manifests of a list of objects, and of paths of files and folders. */
export function manifestsAmong(parts: readonly unknown[]): readonly Manifest[] {
  return parts.flatMap((part, i) => {
    if (typeof part !== 'string') return manifestsFrom(part, `object ${i + 1}`)
    const isFolder = readable(part, () => statSync(part).isDirectory())
    return isFolder ? manifestsIn(part, 'the folder') : manifestsInFile(part)
  })
}

function manifestsInFile(file: string): readonly Manifest[] {
  return documentsIn(file, file)
    .filter(document => document !== null)
    .flatMap(document => manifestsFrom(document, file))
}

function readable<Found>(said: string, read: () => Found): Found {
  try {
    return read()
  } catch (error) {
    const reason = CacheError.from(error, 'invalid_request').message
    throw invalid(`${said} cannot be read: ${reason}`, error)
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
