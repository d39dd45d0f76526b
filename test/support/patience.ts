/** The patience of tests: how many times slower the machine is than one that has nothing else to
 *  do. Every time limit of a test is multiplied by it, so that a test ends by what happens and not
 *  by how busy the machine is. What asserts how long something takes is a bench. */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Names the file in which the runner keeps its last figure for the processes that it starts. */
export const patienceVariable = 'TEST_PATIENCE_FILE'

/** A limit for this machine, now. */
export function patient(ms: number): number {
  return Math.ceil(ms * patience())
}

/** 1 on a quiet machine. */
export function patience(): number {
  const file = process.env[patienceVariable]
  if (file === undefined) return ownPatience()
  try {
    return Math.max(1, Number(readFileSync(file, 'utf8')))
  } catch {
    return ownPatience()
  }
}

/** The slowest so far, for a file that is run by hand: it has no runner that measures. */
function ownPatience(): number {
  if (performance.now() >= own.nextMs) {
    own.slowest = Math.max(own.slowest, slowness())
    own.nextMs = performance.now() + everyMs
  }
  return own.slowest
}

const own = { nextMs: 0, slowest: 1 }

/** The processor time of `work` on the machine that the limits were written on. */
const referenceMs = 16

/** The slowness of the machine: for how long this process had to wait for its share of the
 *  processors, and how slow these are. Holds the event loop meanwhile. */
export function slowness(): number {
  const startMs = performance.now()
  const startCpu = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(startCpu)
  const cpuMs = Math.max(1, (user + system) / 1000)
  const waited = (performance.now() - startMs) / cpuMs
  return Math.max(1, waited) * Math.max(1, cpuMs / referenceMs)
}

function work(): void {
  const block = Buffer.alloc(1024 * 1024)
  for (let i = 0; i < 16; i++) createHash('sha256').update(block).digest()
}

/** Measures again and again while tests run, and keeps the slowest of the last minute in a file:
 *  what a process waits for may have begun before it became slow. */
export class MachineWatch {
  readonly file: string
  readonly #measures: number[] = []
  readonly #timer: NodeJS.Timeout

  constructor(file: string) {
    this.file = file
    mkdirSync(dirname(file), { recursive: true })
    this.#measure()
    this.#timer = setInterval(() => this.#measure(), everyMs)
    this.#timer.unref()
  }

  get patience(): number {
    return Math.max(1, ...this.#measures)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #measure(): void {
    this.#measures.push(slowness())
    if (this.#measures.length > measuresKept) this.#measures.shift()
    // Renamed, so that nobody reads half of it.
    writeFileSync(`${this.file}.new`, String(this.patience))
    renameSync(`${this.file}.new`, this.file)
  }
}

const everyMs = 4_000
const measuresKept = 15
