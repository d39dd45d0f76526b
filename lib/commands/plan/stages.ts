/** Declared lifecycles, read from the files that the options name. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { CacheError } from '../../base/errors.ts'
import { isObject, listOf } from '../../base/untyped.ts'
import type { Stage } from '../../cluster/stages/stage.ts'
import { wings } from '../../compose/sides.ts'

/** The stages in files of YAML or JSON, or in those of folders. Other objects in them are left
 *  alone: kwok keeps what it needs for them beside its stages. */
export async function stagesFrom(paths: readonly string[]): Promise<readonly Stage[]> {
  if (paths.length === 0) return []
  const { stageOf, stageApiVersion } = await wings.stages()
  const stages: Stage[] = []
  for (const path of paths) {
    const known = stages.length
    for (const file of filesAt(path)) {
      for (const object of objectsIn(file)) {
        if (object['kind'] !== 'Stage' || object['apiVersion'] !== stageApiVersion) continue
        try {
          const stage = stageOf(object)
          if (stage !== undefined) stages.push(stage)
        } catch (error) {
          const { message } = CacheError.from(error, 'invalid_request')
          throw invalid(`--stages ${file}: ${message}`, error)
        }
      }
    }
    if (stages.length === known) {
      throw invalid(`--stages ${path} has no Stage of ${stageApiVersion} with a selector`)
    }
  }
  return stages
}

function filesAt(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter(name => /\.(?:ya?ml|json)$/.test(name))
    return names.toSorted().map(name => join(path, name))
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw invalid(`--stages cannot be read: ${message}`, error)
  }
}

function objectsIn(file: string): Readonly<Record<string, unknown>>[] {
  return [...parseAllDocuments(readFileSync(file, 'utf8'))].flatMap(document => {
    const [problem] = document.errors
    if (problem !== undefined) throw invalid(`--stages ${file}: ${problem.message}`)
    const object: unknown = document.toJS()
    if (!isObject(object)) return []
    return [object, ...listOf(object['items']).filter(isObject)]
  })
}

function invalid(message: string, cause?: unknown): CacheError {
  return new CacheError('invalid_request', message, { cause })
}
