/** Watches that go wrong on purpose: they end after some events, cleanly or because their position
 *  is said to have expired. */

import { nextRevision, revision } from '@watchglass/base'
import type { WatcherSink } from '@watchglass/store'
import type { FaultyWatch } from '@watchglass/cache'
import type { ChosenFaults } from './chosen-faults.ts'

/** The sink for a watch's frames: to its client, until its fault is due. Undefined if it has
 *  none. */
export function faultySink(connection: FaultyWatch, faults: ChosenFaults): WatcherSink | undefined {
  const effect = faults.find('watch-expired') ?? faults.find('watch-end')
  if (effect === undefined) return undefined
  let left = effect.afterEvents
  return {
    write(frame) {
      const takesMore = left > 0 && connection.write(frame)
      left--
      if (left > 0 || !connection.isOpen) return takesMore
      faults.meet(effect.type)
      if (effect.type === 'watch-end') connection.end('fault')
      else {
        const position = connection.watcher?.position ?? revision(0)
        connection.expired(nextRevision(position), position)
      }
      return false
    },
    expired: oldest => connection.expired(oldest),
    inexact: (revision, isBegun) => connection.inexact(revision, isBegun),
  }
}
