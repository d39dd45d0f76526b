/** The file of `--resources`: stored resources that no CustomResourceDefinition declares. */

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { CacheError } from '../../base/errors.ts'
import { configuredResource } from './configured-resources.ts'
import type { Resource } from '../../kube/resources/resource.ts'

/** The declared resources: a YAML or JSON list, each item as
 *  lib/commands/plan/configured-resources.ts says. */
export function readResources(file: string): Resource[] {
  let declared: unknown
  try {
    declared = parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--resources ${file} cannot be read: ${message}`)
  }
  if (!Array.isArray(declared)) {
    throw new CacheError('invalid_request', `--resources ${file} is not a list`)
  }
  try {
    return declared.map(configuredResource)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--resources ${file}: ${message}`, { cause: error })
  }
}
