/** The sizes of a thread's caches: as it has said last, and as it was told to keep since then. */

import type { DroppedFigure, WorkerFigures } from './worker-messages.ts'

const noOrder: Readonly<Record<DroppedFigure, number>> = {
  segmentBytes: Infinity,
  indexBytes: Infinity,
}

/** Workers say once a second what they keep. An order to drop counts as followed from the start:
 *  whoever gave it would take what the thread has said before it for a refusal, and drop what is
 *  worth more. */
export class OrderedFigures {
  #said: WorkerFigures = { segmentBytes: 0, indexBytes: 0, openWatches: 0 }
  #most = noOrder
  #orders = 0

  get current(): WorkerFigures {
    const { segmentBytes, indexBytes } = this.#said
    return {
      ...this.#said,
      segmentBytes: Math.min(segmentBytes, this.#most.segmentBytes),
      indexBytes: Math.min(indexBytes, this.#most.indexBytes),
    }
  }

  /** The thread was told to keep no more than so much. */
  ordered(figure: DroppedFigure, bytes: number): void {
    this.#orders++
    this.#most = { ...this.#most, [figure]: Math.min(this.#most[figure], bytes) }
  }

  /** Notes a thread's figures after it has followed so many orders. */
  said(figures: WorkerFigures, orders: number): void {
    this.#said = { ...this.#said, ...figures }
    if (orders === this.#orders) this.#most = noOrder
  }
}
