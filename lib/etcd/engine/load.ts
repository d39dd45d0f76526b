/** Recorded histories into the engine: the same state, history and answers as the etcd had that was
 *  recorded. */

import { compareKeys } from '../../base/keys.ts'
import type { Revision } from '../../base/revision.ts'
import type { Change, KeyValue } from '../../store/event.ts'
import { readRecording } from '../recording/recording.ts'
import type { Engine } from './engine.ts'

/** Loads a recording into an engine that nobody has written to, and answers the revision that it is
 *  at then. */
export async function loadRecording(engine: Engine, path: string): Promise<Revision> {
  for await (const recorded of readRecording(path)) {
    if (recorded.isBase) engine.loadBase(recorded.revision, entriesOf(recorded.changes))
    else engine.loadBatch(recorded)
  }
  return engine.revision
}

function entriesOf(changes: readonly Change[]): KeyValue[] {
  const entries = changes.flatMap(change => (change.type === 'put' ? [change.entry] : []))
  return entries.sort((a, b) => compareKeys(a.key, b.key))
}
