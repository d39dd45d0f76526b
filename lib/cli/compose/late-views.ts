/** Views, whose code is loaded with the first request for one: most servers are never asked. */

import type { Clock, Key } from '@watchglass/base'
import type { AnswerViews, Droppable, Follower, OnFault } from '@watchglass/cache'
import type { Segment } from '@watchglass/codec'
import type { Keyspace, SegmentCache } from '@watchglass/store'
import type { ViewAnswers } from '@watchglass/views'
import { load } from './loaded-code.ts'

export interface LateViewsOptions {
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly fits: (bytes: number) => boolean
  readonly segments: SegmentCache<Segment>
  readonly clock: Clock
  readonly onFault: OnFault
}

export class LateViews implements AnswerViews, Droppable, Follower {
  readonly #options: LateViewsOptions
  #loading: Promise<ViewAnswers> | undefined
  #answers: ViewAnswers | undefined
  #isStopped = false

  constructor(options: LateViewsOptions) {
    this.#options = options
  }

  async answer(...request: Parameters<AnswerViews['answer']>): ReturnType<AnswerViews['answer']> {
    const answers = this.#answers ?? (await this.#load())
    return answers.answer(...request)
  }

  async document(): Promise<string> {
    return (await this.#load()).document()
  }

  get bytes(): number {
    return this.#answers?.bytes ?? 0
  }

  dropTo(bytes: number): void {
    this.#answers?.dropTo(bytes)
  }

  /** The keyspace has other contents, or its objects are shown in another way from now on. */
  reset(keyspace: Key): void {
    this.#answers?.reset(keyspace)
  }

  stop(): void {
    this.#isStopped = true
    this.#answers?.stop()
  }

  #load(): Promise<ViewAnswers> {
    this.#loading ??= load.views().then(({ ViewAnswers }) => {
      this.#answers = new ViewAnswers(this.#options)
      if (this.#isStopped) this.#answers.stop()
      return this.#answers
    })
    return this.#loading
  }
}

/** Two caches as one: the second is dropped first. */
export function bothDroppable(one: Droppable, other: Droppable): Droppable {
  return {
    get bytes() {
      return one.bytes + other.bytes
    },
    dropTo(bytes) {
      other.dropTo(Math.max(0, bytes - one.bytes))
      one.dropTo(Math.max(0, bytes - other.bytes))
    },
  }
}
