/** Questions to etcd that many may share: who asks while one is on its way shares the next one,
 *  never that, because etcd may have answered it before something that the asker has seen. */

export class SharedChecks<Subject, Answer> {
  readonly #ask: (subject: Subject) => Promise<Answer>
  readonly #running = new Map<Subject, Promise<unknown>>()
  readonly #next = new Map<Subject, Promise<Answer>>()

  constructor(ask: (subject: Subject) => Promise<Answer>) {
    this.#ask = ask
  }

  /** An answer to a question that was put after the call. */
  ask(subject: Subject): Promise<Answer> {
    const waiting = this.#next.get(subject)
    if (waiting !== undefined) return waiting
    const running = this.#running.get(subject)
    if (running === undefined) return this.#run(subject)
    const next = running.then(() => {
      this.#next.delete(subject)
      return this.#run(subject)
    })
    this.#next.set(subject, next)
    return next
  }

  #run(subject: Subject): Promise<Answer> {
    const answer = this.#ask(subject)
    const settled = answer.then(
      () => undefined,
      () => undefined,
    )
    this.#running.set(subject, settled)
    void settled.then(() => {
      if (this.#running.get(subject) === settled) this.#running.delete(subject)
    })
    return answer
  }
}
