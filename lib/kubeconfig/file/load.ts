/** Finds and reads the kubeconfigs of a user, as kubectl does: the one that `--kubeconfig` names,
 *  or those of KUBECONFIG merged, or `~/.kube/config`. */

import { delimiter, join } from 'node:path'
import { CacheError } from '@watchglass/base'
import type { KubeconfigSystem } from '../system.ts'
import type { Kubeconfig } from './kubeconfig.ts'
import { mergeKubeconfigs } from './merge.ts'
import { parseKubeconfig } from './parse.ts'

/** The kubeconfigs that were found, as one. */
export interface LoadedKubeconfig {
  /** Without files if there is none. */
  readonly kubeconfig: Kubeconfig
  /** The places that were searched, for a user who has none. */
  readonly missing: string
}

export async function loadKubeconfig(
  explicitFile: string | undefined,
  system: Pick<KubeconfigSystem, 'env' | 'homeFolder' | 'readFile'>,
): Promise<LoadedKubeconfig> {
  if (explicitFile !== undefined) {
    const kubeconfig = await readKubeconfig(explicitFile, system)
    if (kubeconfig !== undefined) return { kubeconfig, missing: `${explicitFile} is empty` }
    throw new CacheError(
      'invalid_request',
      `--kubeconfig ${explicitFile} does not exist; without the option the files of KUBECONFIG are used, or ~/.kube/config`,
    )
  }
  const variable = system.env['KUBECONFIG'] ?? ''
  const named = [...new Set(variable.split(delimiter))].filter(path => path !== '')
  const home = system.homeFolder === '' ? [] : [join(system.homeFolder, '.kube', 'config')]
  const paths = variable === '' ? home : named
  const read = await Promise.all(paths.map(path => readKubeconfig(path, system)))
  const found = read.filter(one => one !== undefined)
  const where =
    variable === ''
      ? `${home[0] ?? '~/.kube/config'} does not exist, and neither --kubeconfig nor KUBECONFIG names another file`
      : `none of the files that KUBECONFIG names exists (${named.join(', ')})`
  return { kubeconfig: mergeKubeconfigs(found), missing: where }
}

/** Undefined if there is no such file. */
async function readKubeconfig(
  path: string,
  { readFile }: Pick<KubeconfigSystem, 'readFile'>,
): Promise<Kubeconfig | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CacheError('invalid_request', `kubeconfig ${path}: ${readingProblem(error)}`, {
      cause: error,
    })
  }
  return parseKubeconfig(bytes.toString(), path)
}

/** Why a file cannot be read, in words that a user can act on. */
export function readingProblem(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES' || code === 'EPERM') return 'it may not be read by this user'
  if (code === 'EISDIR') return 'it is a folder, not a file'
  return CacheError.from(error, 'invalid_request').message
}
