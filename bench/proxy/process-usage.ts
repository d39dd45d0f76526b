/** The processor time and memory of another process, from Linux's /proc. */

import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Subject } from '../list/processes.ts'

const ticksPerSecond = 100

export class ProcessUsage implements Subject {
  readonly port: number
  readonly #folder: string

  constructor({ pid }: Pick<ChildProcess, 'pid'>, port: number) {
    this.port = port
    this.#folder = `/proc/${pid}`
  }

  /** 0 where there is no such file. */
  async cpuSeconds(): Promise<number> {
    const fields = this.#read('stat')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond
  }

  #read(name: string): string {
    try {
      return readFileSync(`${this.#folder}/${name}`, 'utf8')
    } catch {
      return ''
    }
  }
}
