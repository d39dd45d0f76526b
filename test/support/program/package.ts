/** Packages, packed as `npm publish` would send them. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** The libraries that are published beside the program, as the build leaves them. */
export const libraries = ['cel', 'cluster'] as const

/** Packs what is built, the program or a library, into a file of the folder. */
export async function pack(folder: string, library?: (typeof libraries)[number]): Promise<Packed> {
  const built = library === undefined ? '.' : `./dist/packages/${library}`
  const args = ['pack', built, '--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout } = await promisify(execFile)('npm', args)
  const [packed] = JSON.parse(stdout) as Packed[]
  return packed!
}
