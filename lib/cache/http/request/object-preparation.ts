/** Objects for which something must be done before they can be shown: whoever has webhooks called
 *  converts those that are stored in another version of their definition. Without it such objects
 *  are shown in no other version. */

import type { Key, Reader } from '@watchglass/base'
import type { Resource } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'

export interface ObjectPreparation {
  /** Prepares those of the objects that need it, and keeps the results where encoders find them.
   *  Undefined if none does; rejects with the Status that the client is told. Asks the reader for
   *  its signal only if there is something to do: for most reads there is not, and no signal is
   *  made. */
  prepare(
    resource: Resource,
    entries: Iterable<KeyValue>,
    reader: Reader,
  ): Promise<void> | undefined
  /** Prepares the objects of an event, for which watches wait meanwhile: whoever is held in the
   *  keyspace is resumed at the end. False if it was tried, and is of no use. */
  waitsFor(resource: Resource, keyspace: Key, entries: readonly (KeyValue | undefined)[]): boolean
}
