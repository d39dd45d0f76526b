/** Objects of definitions whose versions a webhook converts. Whoever calls webhooks (a wing)
 *  attaches here; without it such objects are shown in no other version than the one that they are
 *  stored in. */

import type { Key, Reader } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import type { Resource } from './resources/resource.ts'

export interface Conversions {
  /** Has those of the objects converted that are stored in another version than the resource's, and
   *  keeps the results where encoders find them. Undefined if none has to be; rejects with the
   *  Status that the client is told. Asks the reader for its signal only if a webhook is called:
   *  for most reads there is nothing to convert, and no signal is made. */
  prepare(
    resource: Resource,
    entries: Iterable<KeyValue>,
    reader: Reader,
  ): Promise<void> | undefined
  /** Starts the conversion of the objects of an event, for which watches wait meanwhile: watchers
   *  that are held in the keyspace are resumed at the end. False if it was tried, and is of no
   *  use. */
  waitsFor(resource: Resource, keyspace: Key, entries: readonly (KeyValue | undefined)[]): boolean
}
