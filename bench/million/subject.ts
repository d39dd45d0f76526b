/** The measured program beside a real etcd, and what it takes of the machine. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Program } from '../list/processes.ts'
import type { TurnReport } from '../mirror/turns.ts'

const probe = new URL('probe.js', import.meta.url)

export interface Start {
  readonly program: Program
  readonly seconds: number
}

/** From the start of the process until everything is mirrored. */
export async function startProgram(endpoint: string, args: readonly string[] = []): Promise<Start> {
  const startMs = performance.now()
  const program = await Program.start([`--etcd=${endpoint}`, ...args], probe)
  return { program, seconds: (performance.now() - startMs) / 1000 }
}

/** The turns of the program's event loop while `task` runs. */
export async function turnsDuring<T>(
  { process: child }: Program,
  task: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: TurnReport }> {
  child.send('begin')
  const result = await task()
  child.send('end')
  const [turns] = (await once(child, 'message')) as [TurnReport]
  return { result, turns }
}

/** The memory that a process holds now, and at most; 0 where the kernel does not say. */
export function memoryOf(processId: number | undefined): { now: number; peak: number } {
  try {
    const status = readFileSync(`/proc/${processId}/status`, 'latin1')
    const bytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
    return { now: bytes('VmRSS'), peak: bytes('VmHWM') }
  } catch {
    return { now: 0, peak: 0 }
  }
}
