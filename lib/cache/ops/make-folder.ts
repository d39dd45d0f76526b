/** Folders, made where they are missing. */

import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Makes a folder and those above it, each by a step of its own. Node's recursive way goes round
 *  for ever, and holds the end of the process, where the system takes no folders, as below /proc;
 *  and of a read-only disk it says that a folder is missing. */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    return await makeOne(path, mode)
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error
    await makeFolder(above, mode)
  }
  await makeOne(path, mode)
}

/** A folder that is there is as good. */
async function makeOne(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error
  }
}
