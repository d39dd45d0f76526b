/** Runs test files in processes of their own, or several in one, and counts their tests: the points
 *  at the first level of what tap prints. Every file gets a line; what failed is shown in full,
 *  with the command that runs it again.
 *
 *  A process that ends too early takes no other file with it: the file that was running is run
 *  again by itself, and is counted once. If it then passes, one of those before it has left
 *  something behind: these are run by themselves, too, and the one that fails has failed. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { patienceVariable } from '../patience.ts'
import { alone } from './plan.ts'
import { processorMsIn } from './processor-time.ts'

/** The job of one process. */
export interface Job {
  readonly files: readonly string[]
  readonly command: readonly string[]
}

export interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  /** The time that it took of the processors. */
  readonly processorSeconds: number
}

/** A process that prints nothing for so long on a quiet machine is ended. */
const silentMaxMs = 150_000
/** However slow the machine is, nothing is waited for longer: what hangs is said, and the others
 *  run. */
const patientMaxMs = 600_000
/** The same of a file whose tests have passed before. */
const silentAgainMaxMs = 30_000
/** One whose last file has ended itself ends within this time, or that file has left something
 *  open. */
const endMaxMs = 20_000
/** And one that is told to end, which says what it still waits for, within this. */
const farewellMaxMs = 5_000

export interface RunOptions {
  /** Number of processes at a time. */
  readonly atOnce: number
  readonly onFile: (result: FileResult) => void
  /** Takes what people are shown. */
  readonly write: (text: string) => void
  /** Factor by which the machine is slower than a quiet one, and the file that tells the tests. */
  readonly machine: { readonly patience: number; readonly file?: string | undefined }
  /** For how long a process may print nothing on a quiet machine. */
  readonly silentMaxMs?: number
}

/** The files of a run, for people: how many there are, and how many have ended. */
class FileCount {
  readonly #all: number
  #ended = 0

  constructor(jobs: readonly Job[]) {
    this.#all = jobs.reduce((sum, { files }) => sum + files.length, 0)
  }

  /** `12 of 340`. A file that is run once more is not counted twice. */
  ended(): string {
    this.#ended = Math.min(this.#ended + 1, this.#all)
    return `${this.#ended} of ${this.#all}`
  }
}

interface CountedOptions extends RunOptions {
  readonly count: FileCount
}

/** Runs `jobs` in their order. */
export async function runJobs(jobs: readonly Job[], given: RunOptions): Promise<void> {
  const options = { ...given, count: new FileCount(jobs) }
  const waiting = [...jobs]
  async function work(): Promise<void> {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const { finished, interrupted, remaining, isUnclaimed } = await runJob(job, options)
      const failed = interrupted === undefined ? 0 : await runAlone(job, interrupted, options)
      if (isUnclaimed && failed === 0) await findCulprit(job, finished, options)
      if (remaining.length > 0) waiting.unshift(part(job, remaining))
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, work))
}

/** One of these files has ended the process after its own end: whichever fails by itself. */
async function findCulprit(
  job: Job,
  files: readonly string[],
  options: CountedOptions,
): Promise<void> {
  for (const file of files) {
    const onFile = (result: FileResult): void => {
      // Its tests were counted when it shared the process.
      if (result.failed > 0) options.onFile({ ...result, passed: 0 })
    }
    await runAlone(job, file, { ...options, onFile, silentMaxMs: silentAgainMaxMs })
  }
}

/** Returns how many of its tests have failed. */
async function runAlone(job: Job, file: string, options: CountedOptions): Promise<number> {
  let failed = 0
  const onFile = (result: FileResult): void => {
    failed += result.failed
    options.onFile(result)
  }
  options.write(`# again by itself: ${file}\n`)
  await runJob(alone(file, job.command[0] ?? process.execPath), { ...options, onFile })
  return failed
}

function part(job: Job, files: readonly string[]): Job {
  const [first = ''] = files
  if (files.length === 1) return alone(first, job.command[0] ?? process.execPath)
  const command = job.command.filter(word => files.includes(word) || !job.files.includes(word))
  return { files, command }
}

/** The end of a job's files. */
interface JobEnd {
  readonly finished: readonly string[]
  /** The file that was running when the process ended, if it shared it with others. */
  readonly interrupted?: string | undefined
  readonly remaining: readonly string[]
  /** It ended, or something failed, and no file is known to have done it. */
  readonly isUnclaimed: boolean
}

async function runJob(job: Job, options: CountedOptions): Promise<JobEnd> {
  const { machine, silentMaxMs: silentMs = silentMaxMs } = options
  const [program = '', ...args] = job.command
  const patientMs = (ms: number): number => Math.min(ms * machine.patience, patientMaxMs)
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...(machine.file === undefined ? {} : { [patienceVariable]: machine.file }),
      // Tap would end a process of many files after a time that was right when it began. Silence
      // is looked at here, as patiently as the machine needs it now.
      TAP_TIMEOUT: '0',
      // Node 22 and newer keep compiled code between processes, which Node 20 does not know.
      NODE_COMPILE_CACHE: '.cache/compiled',
    },
  })
  const report = new JobReport(job, options)
  let end: string | undefined
  let timer: NodeJS.Timeout | undefined
  /** Waits for the process, and looks whether that was too long: the machine may have become slower
   *  meanwhile. */
  function wait(ms: number, reason: string): void {
    clearTimeout(timer)
    const sinceMs = performance.now()
    const look = (): void => {
      const leftMs = patientMs(ms) - (performance.now() - sinceMs)
      if (leftMs > 0) {
        timer = setTimeout(look, leftMs)
        return
      }
      end = reason
      // A batch then prints what keeps it.
      child.kill('SIGTERM')
      timer = setTimeout(() => child.kill('SIGKILL'), patientMs(farewellMaxMs))
    }
    timer = setTimeout(look, patientMs(ms))
  }
  const silence = `it has printed nothing for ${silentMs / 1000} s of a quiet machine`
  wait(silentMs, silence)
  function onLine(line: string): void {
    report.take(line)
    if (end !== undefined) return
    if (!line.startsWith('# time=') && !report.hasEnded) wait(silentMs, silence)
    else wait(endMaxMs, 'its tests have ended, but something keeps the process running')
  }
  createInterface({ input: child.stdout }).on('line', onLine)
  createInterface({ input: child.stderr }).on('line', line => report.takeError(line))
  const code = await new Promise<number | string>(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', (code, signal) => resolve(code ?? signal ?? 1))
  })
  clearTimeout(timer)
  return report.close(code === 0 ? undefined : (end ?? `it ended with ${code}`))
}

/** The lines of one process, taken apart by file. */
class JobReport {
  readonly #job: Job
  readonly #options: CountedOptions
  #next = 0
  #lines: string[] = []
  #passed = 0
  #failed = 0
  #failedInAll = 0
  #isInFailure = false
  #startedAt = performance.now()
  /** The time of the processors that the process had taken when the file began, and when it last
   *  said so. */
  #processorMsBefore = 0
  #processorMs = 0

  constructor(job: Job, options: CountedOptions) {
    this.#job = job
    this.#options = options
  }

  take(line: string): void {
    const processorMs = processorMsIn(line)
    if (processorMs !== undefined) {
      this.#processorMs = processorMs
      return
    }
    const [, not, name = ''] =
      /^(not )?ok \d+ - (.*?)(?: # time=[\d.]+ms)?(?: \{)?$/.exec(line) ?? []
    const file = this.#job.files[this.#next]
    if (name === file && this.#job.files.length > 1) {
      this.#endFile()
      return
    }
    if (/^ok \d+/.test(line)) this.#passed++
    if (not !== undefined || /^not ok \d+/.test(line)) this.#failed++
    if (/^\s*(?:not )?ok \d+/.test(line)) this.#isInFailure = /^\s*not ok/.test(line)
    const isComment = /^\s*# (?!Subtest|time=|\{)/.test(line)
    if (this.#isInFailure || isComment) this.#lines.push(line)
  }

  /** Every file of several has ended; of a single one only tap's last line tells. */
  get hasEnded(): boolean {
    return this.#next === this.#job.files.length
  }

  /** Warnings and logs on standard error are shown with the file that was running. */
  takeError(line: string): void {
    this.#lines.push(line)
  }

  /** The process has ended; with `failure`, not as it should. */
  close(failure: string | undefined): JobEnd {
    const { files } = this.#job
    const finished = files.slice(0, this.#next)
    const [running] = files.slice(this.#next)
    if (files.length === 1) {
      if (failure !== undefined && this.#failed === 0) {
        this.#failed++
        this.#lines.push(`not ok - ${failure}`)
      }
      this.#endFile()
      return { finished: files, remaining: [], isUnclaimed: false }
    }
    if (running === undefined) {
      const hasFailed = this.#failedInAll > 0
      const isUnclaimed = this.#failed > 0 || (failure !== undefined && !hasFailed)
      this.#flush()
      return { finished, remaining: [], isUnclaimed }
    }
    this.#options.write(`# a process has ended at ${running}: ${failure ?? 'early'}\n`)
    this.#flush()
    const remaining = files.slice(this.#next + 1)
    return { finished, interrupted: running, remaining, isUnclaimed: true }
  }

  /** Shows what was printed for no file. */
  #flush(): void {
    for (const line of this.#lines) this.#options.write(`    ${line}\n`)
    this.#lines = []
  }

  #endFile(file: string = this.#job.files[this.#next] ?? ''): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const processorSeconds = (this.#processorMs - this.#processorMsBefore) / 1000
    const counts = { passed: this.#passed, failed: this.#failed }
    const result = { file, ...counts, seconds, processorSeconds }
    const { write, onFile, count } = this.#options
    this.#flush()
    const state = result.failed === 0 ? 'ok' : 'not ok'
    const took = `${seconds.toFixed(1)} s, ${processorSeconds.toFixed(1)} s of the processors`
    write(`${state} - ${file} (${result.passed} tests, ${took}), ${count.ended()}\n`)
    if (result.failed > 0 && file.endsWith('.js')) {
      write(`# again: TAP_TIMEOUT=300 node --enable-source-maps ${file}\n`)
    }
    onFile(result)
    this.#next++
    this.#failedInAll += this.#failed
    this.#passed = 0
    this.#failed = 0
    this.#isInFailure = false
    this.#startedAt = performance.now()
    this.#processorMsBefore = this.#processorMs
  }
}
