/** Declared lifecycles and answers of pods, read from the files that the options name. */

import { readFileSync, statSync } from 'node:fs'
import { CacheError, isObject, listOf, type UntypedObject } from '@watchglass/base'
import type { PodRules, LifecycleStage } from '@watchglass/simulator'
import { load } from '../../compose/loaded-code.ts'
import { documentsIn, yamlFilesIn } from '../yaml-files.ts'
import { invalid } from '../../options/invalid.ts'

/** The objects that count: lifecycles, and answers of simulated pods. */
export interface DeclaredStages {
  readonly stages: readonly LifecycleStage[]
  /** Undefined if there are none. */
  readonly podRules: PodRules | undefined
}

/** The objects of kwok in files of YAML or JSON, or in those of folders. Others in them are left
 *  alone: kwok keeps what it needs for them beside its stages. */
export async function declaredIn(paths: readonly string[]): Promise<DeclaredStages> {
  if (paths.length === 0) return { stages: [], podRules: undefined }
  const [{ stageOf, stageApiVersion }, { PodRules }] = await Promise.all([
    load.stages(),
    load.podRules(),
  ])
  const stages: LifecycleStage[] = []
  const podRules = new PodRules(readRuleFile)
  let rules = 0
  for (const path of paths) {
    let found = 0
    for (const file of filesAt(path)) {
      for (const object of objectsIn(file)) {
        const isStage = object['kind'] === 'Stage' && object['apiVersion'] === stageApiVersion
        try {
          const stage = isStage ? stageOf(object) : undefined
          if (stage !== undefined) stages.push(stage)
          const isRule = podRules.take(object)
          if (isRule) rules++
          if (isRule || stage !== undefined) found++
        } catch (error) {
          const { message } = CacheError.from(error, 'invalid_request')
          throw invalid(`--stages ${file}: ${message}`, error)
        }
      }
    }
    if (found === 0) {
      throw invalid(
        `--stages ${path} has no Stage of ${stageApiVersion} with a selector, and no other object of kwok that counts here`,
      )
    }
  }
  return { stages, podRules: rules === 0 ? undefined : podRules }
}

/** A log that is larger would be held in memory for one file's sake. */
const ruleFileMaxBytes = 4 * 1024 * 1024

/** Only plain files: a device or a pipe has no end. */
function readRuleFile(path: string): string {
  const found = statSync(path)
  const { size } = found
  if (!found.isFile()) throw new Error('it is not a file')
  if (size > ruleFileMaxBytes) throw new Error(`it has more than ${String(ruleFileMaxBytes)} bytes`)
  return readFileSync(path, 'utf8')
}

function filesAt(path: string): string[] {
  try {
    return statSync(path).isDirectory() ? yamlFilesIn(path) : [path]
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw invalid(`--stages cannot be read: ${message}`, error)
  }
}

/** Lists, and what is in them. */
function objectsIn(file: string): UntypedObject[] {
  return documentsIn(file, `--stages ${file}`)
    .filter(isObject)
    .flatMap(object => [object, ...listOf(object['items']).filter(isObject)])
}
