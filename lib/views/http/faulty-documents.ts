/** Live views that go wrong on purpose: they end after so many documents of changes, as a watch
 *  does after as many events. */

import type { Revision } from '@watchglass/base'
import type { FaultyWatch, RequestFaults } from '@watchglass/cache'

/** The fate of the next document. */
export interface NextDocument {
  readonly isSent: boolean
  /** Ends the view behind it; undefined if it goes on. */
  readonly end: (() => void) | undefined
}

/** A live page, as far as a fault knows it. */
export type FaultyPage = Pick<FaultyWatch, 'isOpen' | 'watcher' | 'end' | 'expired' | 'inexact'>

/** Says what becomes of each document of changes; undefined where nothing goes wrong. A document
 *  may be written in pieces as its client reads, so the fault is told of it before. */
export function faultyDocuments(
  page: FaultyPage,
  faults: RequestFaults | undefined,
): (() => NextDocument) | undefined {
  let isSent = false
  let end: (() => void) | undefined
  const sink = faults?.sink({
    get isOpen() {
      return page.isOpen
    },
    get watcher() {
      return page.watcher
    },
    write: () => (isSent = true),
    end: reason => (end = () => page.end(reason)),
    expired: (oldest: Revision, position?: Revision) =>
      (end = () => page.expired(oldest, position)),
    inexact: (revision, isBegun) => page.inexact(revision, isBegun),
  })
  return (
    sink &&
    (() => {
      isSent = false
      end = undefined
      sink.write(document)
      return { isSent, end }
    })
  )
}

/** Stands for a document, which a fault only counts. */
const document = new Uint8Array()
