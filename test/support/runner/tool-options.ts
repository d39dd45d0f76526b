/** The options of the project's own tools, such as `npm run simulate`: `--help` shows the usage,
 *  and what cannot be read is refused with it. */

import { parseArgs, type ParseArgsConfig } from 'node:util'

export class ToolOptions {
  readonly #usage: string

  /** `usage`: the command with its options, one a line. */
  constructor(usage: string) {
    this.#usage = usage
  }

  /** Ends the process if only help is wanted, or if an option is not known. */
  read<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
    if (process.argv.slice(2).includes('--help')) {
      process.stdout.write(`usage: ${this.#usage}\n`)
      process.exit(0)
    }
    try {
      return parseArgs(config)
    } catch (error) {
      return this.refuse((error as Error).message)
    }
  }

  /** The whole number that was given with an option. */
  number(option: string, text: string): number {
    const isNumber = /^\d{1,15}$/.test(text)
    return isNumber ? Number(text) : this.refuse(`--${option} takes a whole number, not "${text}"`)
  }

  /** Ends the process. */
  refuse(message: string): never {
    process.stderr.write(`${message}\nusage: ${this.#usage}\n`)
    process.exit(2)
  }
}
