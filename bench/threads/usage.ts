/** The processor time of the program, and which of its threads took it; and that of the clients,
 *  which share the processors with it. */

import { readdirSync, readFileSync } from 'node:fs'
const ticksPerSecond = 100

/** Seconds of the processor. */
export interface Usage {
  readonly all: number
  /** Time of the main thread, which serves when there are no others. */
  readonly main: number
  /** Time of the workers: as many as there are, those that took most. */
  readonly faces: number
  /** Time of V8's own threads, which collect garbage and compile. */
  readonly rest: number
  readonly clients: number
}

export function sumOf(usages: readonly Usage[]): Usage {
  const of = (part: keyof Usage): number => sum(usages.map(usage => usage[part]))
  return {
    all: of('all'),
    main: of('main'),
    faces: of('faces'),
    rest: of('rest'),
    clients: of('clients'),
  }
}

/** Whoever answers: a process. */
export interface Measurable {
  readonly process: { readonly pid?: number | undefined }
}

/** Processes of clients. */
export interface Clients {
  readonly pids: readonly number[]
}

export class UsageMeter {
  readonly #pid: number
  readonly #faces: number
  readonly #clients: readonly number[]
  #before: ReadonlyMap<number, number>
  #clientsBefore: number

  /** Begins to measure. */
  constructor({ process }: Measurable, threads: number, { pids }: Clients) {
    this.#pid = process.pid ?? 0
    this.#faces = threads > 1 ? threads : 0
    this.#clients = pids
    this.#before = secondsOfThreads(this.#pid)
    this.#clientsBefore = this.#ofClients()
  }

  /** Time used since then. */
  read(): Usage {
    const now = secondsOfThreads(this.#pid)
    const used = (id: number): number => (now.get(id) ?? 0) - (this.#before.get(id) ?? 0)
    const main = used(this.#pid)
    const others = [...now.keys()]
      .filter(id => id !== this.#pid)
      .map(used)
      .sort((a, b) => b - a)
    const faces = sum(others.slice(0, this.#faces))
    const rest = sum(others.slice(this.#faces))
    const clients = this.#ofClients() - this.#clientsBefore
    return { all: main + faces + rest, main, faces, rest, clients }
  }

  #ofClients(): number {
    return sum(this.#clients.map(pid => sum([...secondsOfThreads(pid).values()])))
  }
}

/** Empty where there is no /proc. */
function secondsOfThreads(pid: number): ReadonlyMap<number, number> {
  const folder = `/proc/${pid}/task`
  const seconds = new Map<number, number>()
  for (const id of listed(folder)) {
    const fields = text(`${folder}/${id}/stat`)
      .replace(/^.*\) /, '')
      .split(' ')
    seconds.set(Number(id), (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond)
  }
  return seconds
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A thread may have ended meanwhile. */
function text(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
