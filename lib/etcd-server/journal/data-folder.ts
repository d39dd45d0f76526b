/** A data folder: read at the start, then written to for as long as the process runs. */

import { readdir, stat } from 'node:fs/promises'
import { type Engine } from '../engine/engine.ts'
import type { RecoveredState } from '../engine/journal.ts'
import { DataFile } from './data-file.ts'
import { codeOf, diskFailure } from './disk-failures.ts'
import { CacheError } from '@watchglass/base'
import { makeFolder } from '@watchglass/cache'
import { planOf } from './file-names.ts'
import { lockFolder } from './folder-lock.ts'
import {
  capture,
  continueLog,
  createLog,
  createSnapshot,
  FolderJournal,
  type JournalFiles,
  type JournalOptions,
  removeLeftovers,
} from './journal.ts'
import { readDataFile } from './read-file.ts'
import { type ReplayedState, Replay } from './replay.ts'
import type { StartRecord } from './records.ts'

export interface DataFolder {
  /** The state that was there; undefined in a new folder. */
  readonly recovered: RecoveredState | undefined
  /** Keeps everything that the engine decides from now on. The engine has the recovered state, or
   *  anything in a new folder. */
  begin(engine: Engine): Promise<{ close(): Promise<void> }>
  /** Lets go of a folder that was not begun. */
  close(): Promise<void>
}

/** Opens the folder, made if it is not there. Fails with what is wrong and what to do; then nothing
 *  in it was changed. */
export async function openDataFolder(options: JournalOptions): Promise<DataFolder> {
  const { folder, logger, clock } = options
  await prepare(options)
  const lock = await lockFolder(folder, logger)
  try {
    const startMs = clock.monotonicMs()
    const read = await readFolder(options)
    await lock.check()
    const files = read && { ...(await continued(options, read)), lock }
    const recovered = read?.replayed
    if (recovered !== undefined) {
      const { revision } = recovered.contents
      const seconds = Math.round((clock.monotonicMs() - startMs) / 100) / 10
      logger.info('read the data folder', { folder, revision, seconds })
    }
    return {
      recovered,
      async begin(engine) {
        // Without a pause: from here on nothing is decided that is not kept.
        if (files !== undefined) return keep(options, engine, files)
        try {
          return keep(options, engine, { ...(await begun(options, engine)), lock })
        } catch (error) {
          await lock.release()
          throw diskFailure(folder, error)
        }
      },
      async close() {
        await files?.log.close()
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw diskFailure(folder, error)
  }
}

function keep(options: JournalOptions, engine: Engine, files: JournalFiles): FolderJournal {
  const journal = new FolderJournal(options, engine, files)
  engine.keepIn(journal)
  return journal
}

/** The folder for its owner only. One that is there stays as it is. */
async function prepare({ folder, logger }: JournalOptions): Promise<void> {
  try {
    await makeFolder(folder, 0o700)
    const { mode } = await stat(folder)
    if ((mode & 0o077) === 0) return
    logger.warn(
      'the data folder is open to others, who may read all Secrets or replace the state: chmod 700 it',
      { folder, mode: (mode & 0o777).toString(8) },
    )
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw diskFailure(folder, error)
    const message = `${folder} cannot be made, the system takes no folders there: name another one`
    throw new CacheError('source_failed', message, { cause: error })
  }
}

interface FolderRead {
  readonly replayed: ReplayedState
  readonly snapshotNumber: number
  readonly snapshotBytes: number
  readonly logBytes: number
  /** Undefined if the process ended before its first log was made. */
  readonly lastLog: { readonly number: number; readonly file: LastFile } | undefined
}

type LastFile = Awaited<ReturnType<typeof readDataFile>>

/** Undefined for a new folder. */
async function readFolder({ folder, logger }: JournalOptions): Promise<FolderRead | undefined> {
  const { snapshot, logs } = plannedRead(folder, await readdir(folder))
  if (snapshot === undefined) return undefined
  const replay = new Replay()
  const base = { folder, kind: 'snapshot', number: snapshot, mayBeTorn: false } as const
  const { size: snapshotBytes, path } = await readDataFile(base, replay)
  if (!replay.hasSnapshot) {
    throw new CacheError('invalid_request', `${path} ends too early: put it back from a copy`)
  }
  let logBytes = 0
  let lastLog: FolderRead['lastLog']
  for (const number of logs) {
    const mayBeTorn = number === logs.at(-1)
    const file = await readDataFile({ folder, kind: 'log', number, mayBeTorn }, replay)
    logBytes += file.size
    lastLog = { number, file }
    if (file.tornBytes === 0) continue
    logger.warn('the last write to the data folder was cut off before it was answered: left out', {
      file: file.path,
      bytes: file.tornBytes,
    })
  }
  const replayed = replay.finish()
  return { replayed, snapshotNumber: snapshot, snapshotBytes, logBytes, lastLog }
}

function plannedRead(folder: string, names: readonly string[]): ReturnType<typeof planOf> {
  try {
    return planOf(names)
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `${folder} ${message}`)
  }
}

/** Goes on with what was read, in the next term. */
async function continued(
  { folder }: JournalOptions,
  { replayed, snapshotNumber, snapshotBytes, logBytes, lastLog }: FolderRead,
): Promise<Omit<JournalFiles, 'lock'>> {
  await removeLeftovers(folder)
  const { clusterId, memberId, raftTerm, contents, runningMs } = replayed
  const start: StartRecord = {
    type: 'start',
    clusterId,
    memberId,
    raftTerm: raftTerm + 1n,
    revision: contents.revision,
  }
  const common = { snapshotBytes, runningMs }
  if (lastLog === undefined) {
    const log = await createLog(folder, snapshotNumber, { start, runningMs })
    return { ...common, log, logNumber: snapshotNumber, olderLogBytes: 0 }
  }
  const { number, file } = lastLog
  const log = await DataFile.open(file)
  await continueLog(log, { start, runningMs })
  return { ...common, log, logNumber: number, olderLogBytes: logBytes - file.size }
}

/** Begins a new folder with the state of the engine. */
async function begun(
  { folder, clock }: JournalOptions,
  engine: Engine,
): Promise<Omit<JournalFiles, 'lock'>> {
  await removeLeftovers(folder)
  for (;;) {
    const { decidedIndex } = engine
    const captured = capture(engine, clock)
    const snapshotBytes = await createSnapshot(folder, 1, captured)
    const log = await createLog(folder, 1, captured)
    // A lease may have ended meanwhile: a log could not go on from before that.
    if (engine.decidedIndex === decidedIndex) {
      return { log, logNumber: 1, snapshotBytes, olderLogBytes: 0, runningMs: 0 }
    }
    await log.close()
  }
}
