/** The processor time that a process takes in a second. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Program } from '../list/processes.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'

export async function loadOf({ process: { pid } }: Program, ms: number): Promise<number> {
  const usage = new ProcessUsage({ pid }, 0)
  const before = await usage.cpuSeconds()
  await sleep(ms)
  return ((await usage.cpuSeconds()) - before) / (ms / 1000)
}
