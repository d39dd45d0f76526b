/** The file of `--resources`: stored resources that no CustomResourceDefinition declares. */

import { CacheError } from '@watchglass/base'
import { configuredResource } from './configured-resources.ts'
import type { Resource } from '@watchglass/kube'
import { documentsIn } from '../yaml-files.ts'

/** The declared resources: a YAML or JSON list, each item as
 *  lib/cli/commands/plan/configured-resources.ts says. */
export function readResources(file: string): Resource[] {
  const [declared, ...others] = documentsIn(file, `--resources ${file}`)
  if (!Array.isArray(declared) || others.length > 0) {
    throw new CacheError('invalid_request', `--resources ${file} is not a list`)
  }
  try {
    return declared.map(configuredResource)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--resources ${file}: ${message}`, { cause: error })
  }
}
