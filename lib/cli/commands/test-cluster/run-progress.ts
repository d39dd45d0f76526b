/** The progress of `run`, on one line of a terminal; nothing anywhere else. */

export class RunProgress {
  readonly #stream: NodeJS.WriteStream
  readonly #isShown: boolean

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#isShown = stream.isTTY
  }

  /** In place of what was said before. */
  say(text: string): void {
    if (!this.#isShown) return
    // A terminal that does not know its width says 0.
    const room = (this.#stream.columns || 80) - 1
    this.#stream.write(`\r\u001b[2K${`watchglass: ${text}`.slice(0, room)}`)
  }

  /** The line stays; what comes next begins below it. */
  end(): void {
    if (this.#isShown) this.#stream.write('\n')
  }
}
