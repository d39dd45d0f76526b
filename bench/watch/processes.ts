/** The processes of this bench: an etcd, the measured server, the ceiling, and the clients. If the
 *  system allows it, the two servers have one core and the others the rest. */

import { fork, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { programFlags } from '../../test/support/program/program-flags.ts'
import { Child } from './child.ts'

/** A process of this bench, and what it said when it was ready. */
export interface Started {
  readonly child: Child
  readonly hello: unknown
}

export async function startChild(
  name: string,
  place: 'alone' | 'others',
  args: string[] = [],
): Promise<Started> {
  const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
  const flags = [
    ...(canPin ? flagsOfOneCore : []),
    ...(place === 'alone' ? ['--expose-gc', ...programFlags()] : []),
  ]
  const pinned = canPin ? ['-c', place === 'alone' ? '0' : `1-${cpus().length - 1}`] : undefined
  const forked = fork(file, args, {
    ...(pinned === undefined
      ? { execArgv: flags }
      : { execPath: 'taskset', execArgv: [...pinned, process.execPath, ...flags] }),
    serialization: 'advanced',
  })
  const child = new Child(forked)
  return { child, hello: await child.message() }
}

/** A process that has one core is told so, as deploy/README.md advises. V8 starts four threads for
 *  its collector wherever it runs; on one core they take it from the thread that everybody waits
 *  for, and a full collection of a heap of 80 MB stopped that for 200 ms. All processes have it
 *  here: the server that is measured, the ceiling, and those who watch. */
const flagsOfOneCore = ['--single-threaded-gc']

const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', '1', 'true']).status === 0
