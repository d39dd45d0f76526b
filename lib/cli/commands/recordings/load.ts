/** Recorded histories into the engine: the same state, history and answers as the etcd had that was
 *  recorded. */

import { compareKeys, type Logger } from '@watchglass/base'
import type { Change, KeyValue } from '@watchglass/store'
import type { OnLeftOut } from './foreign.ts'
import { readRecording } from './recording.ts'
import type { Engine } from '@watchglass/etcd-server'

/** Loads a recording into an engine that nobody has written to. */
export async function loadRecording(engine: Engine, file: string, logger: Logger): Promise<void> {
  const leftOut: OnLeftOut = (reason, count) =>
    logger.warn('a part of the recording is left out', { reason, count })
  for await (const recorded of readRecording(file, leftOut, warnIncomplete(file, logger))) {
    if (recorded.isBase) engine.loadBase(recorded.revision, entriesOf(recorded.changes))
    else engine.loadBatch(recorded)
  }
  logger.info('loaded a recorded history', { file, revision: engine.revision })
}

/** Says that a recording is a part of what there was. */
export function warnIncomplete(
  file: string,
  logger: Pick<Logger, 'warn'>,
): (entries: number) => void {
  return entries =>
    logger.warn('the recording was ended before its first state was whole: objects are missing', {
      file,
      entries,
    })
}

function entriesOf(changes: readonly Change[]): KeyValue[] {
  const entries = changes.flatMap(change => (change.type === 'put' ? [change.entry] : []))
  return entries.sort((a, b) => compareKeys(a.key, b.key))
}
