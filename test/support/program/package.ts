/** The package, packed as `npm publish` would send it. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** Packs what is built into a file of the folder. */
export async function pack(folder: string): Promise<Packed> {
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout } = await promisify(execFile)('npm', args)
  const [packed] = JSON.parse(stdout) as Packed[]
  return packed!
}
