/** Runs test files in processes of their own, or several in one, and counts their tests: the points at the first level of what tap
 *  prints. Every file gets a line; what failed is shown in full, with the command that runs it again. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** What one process runs. */
export interface Job {
  readonly files: readonly string[]
  readonly command: readonly string[]
}

export interface FileResult {
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly seconds: number
}

/** A process that prints nothing for so long is ended, and its file has failed. */
const silentMaxMs = 300_000
/** One that has printed its last line ends within this time, or it has left something open. */
const endMaxMs = 20_000

/** Node 22 and newer keep compiled code between processes, which Node 20 does not know. */
const ownEnvironment = {
  TAP_TIMEOUT: String(silentMaxMs / 1000),
  NODE_COMPILE_CACHE: '.cache/compiled',
}

export interface RunOptions {
  /** How many processes run at a time. */
  readonly atOnce: number
  readonly onFile: (result: FileResult) => void
  /** Takes what people are shown. */
  readonly write: (text: string) => void
}

/** Runs `jobs` in their order. */
export async function runJobs(jobs: readonly Job[], options: RunOptions): Promise<void> {
  const waiting = [...jobs]
  async function work(): Promise<void> {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      await runJob(job, options)
    }
  }
  await Promise.all(Array.from({ length: options.atOnce }, work))
}

async function runJob(job: Job, options: RunOptions): Promise<void> {
  const [program = '', ...args] = job.command
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...ownEnvironment },
  })
  const report = new JobReport(job, options)
  let end: string | undefined
  function stop(reason: string): void {
    end = reason
    child.kill('SIGKILL')
  }
  let timer = setTimeout(stop, silentMaxMs, 'it has printed nothing for 300 s')
  function onLine(line: string): void {
    report.take(line)
    clearTimeout(timer)
    const [waitMs, reason] = line.startsWith('# time=')
      ? [endMaxMs, 'its tests have ended, but something keeps the process running']
      : [silentMaxMs, 'it has printed nothing for 300 s']
    timer = setTimeout(stop, waitMs, reason)
  }
  createInterface({ input: child.stdout }).on('line', onLine)
  createInterface({ input: child.stderr }).on('line', line => report.takeError(line))
  const code = await new Promise<number | string>(resolve => {
    child.on('error', error => resolve(error.message))
    child.on('close', (code, signal) => resolve(code ?? signal ?? 1))
  })
  clearTimeout(timer)
  report.close(code === 0 ? undefined : (end ?? `it ended with ${code}`))
}

/** The lines of one process, taken apart by file. */
class JobReport {
  readonly #job: Job
  readonly #options: RunOptions
  #next = 0
  #lines: string[] = []
  #passed = 0
  #failed = 0
  #failedInAll = 0
  #isInFailure = false
  #startedAt = performance.now()

  constructor(job: Job, options: RunOptions) {
    this.#job = job
    this.#options = options
  }

  take(line: string): void {
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

  /** Warnings and logs on standard error are shown with the file that was running. */
  takeError(line: string): void {
    this.#lines.push(line)
  }

  /** The process has ended; with `failure`, not as it should. */
  close(failure: string | undefined): void {
    if (failure !== undefined && this.#failedInAll + this.#failed === 0) {
      this.#failed++
      this.#lines.push(`not ok - ${failure}`)
    }
    if (this.#next < this.#job.files.length) {
      // What an earlier file has failed is no word on the one that was running.
      if (this.#job.files.length > 1 && this.#failed === 0) this.#failed++
      this.#endFile()
    } else if (this.#failed > 0) this.#endFile(this.#job.files.at(-1))
    for (const file of this.#job.files.slice(this.#next)) {
      this.#lines.push('not ok - not run: the process had ended')
      this.#failed++
      this.#endFile(file)
    }
  }

  #endFile(file: string = this.#job.files[this.#next] ?? ''): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const result = { file, passed: this.#passed, failed: this.#failed, seconds }
    const { write, onFile } = this.#options
    for (const line of this.#lines) write(`    ${line}\n`)
    const state = result.failed === 0 ? 'ok' : 'not ok'
    write(`${state} - ${file} (${result.passed} tests, ${seconds.toFixed(1)} s)\n`)
    if (result.failed > 0 && file.endsWith('.js')) {
      write(`# again: TAP_TIMEOUT=300 node --enable-source-maps ${file}\n`)
    }
    onFile(result)
    this.#next++
    this.#lines = []
    this.#failedInAll += this.#failed
    this.#passed = 0
    this.#failed = 0
    this.#isInFailure = false
    this.#startedAt = performance.now()
  }
}
