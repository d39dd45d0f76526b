/** The writes of a turn, held back: they leave when all connections that are readable in this turn
 *  of the event loop were read. So the answers of a turn leave one right after the other: to wake a
 *  client for each of them takes a quarter of a small answer, and one that is still at the last one
 *  need not be woken (bench/list, November 2026). */

export interface Corked {
  readonly socket: { cork(): void }
  uncork(): void
}

export class Corks {
  #held: Corked[] = []

  add(connection: Corked): void {
    connection.socket.cork()
    if (this.#held.push(connection) === 1) setImmediate(this.#release)
  }

  readonly #release = (): void => {
    const held = this.#held
    this.#held = []
    for (const connection of held) connection.uncork()
  }
}
