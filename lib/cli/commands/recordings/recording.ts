/** Recorded histories as files: JSON lines in order of revision, compressed when the name ends in
 *  `.gz`. Lines of one revision are one transaction.
 *
 *  A recording that begins in the middle of a history begins with its base: every entry that was
 *  there, as a put whose `rev` is the revision that the base was read at, and whose `mod_revision`
 *  is its own. The base stands between two lines of the types `base_begin` and `base_end`, so that
 *  a recording that was ended before its base was whole can be told from a small one; recordings of
 *  older versions have neither. The first names the etcd, and the other one has the number of lines
 *  and their checksum, for whoever starts from the base (checkpoint-file.ts). Both directions
 *  stream: a file may be larger than memory. */

import { crc32 } from 'node:zlib'
import { CacheError, type Key, type Revision } from '@watchglass/base'
import { linesIn, type LinesEnd } from '../lines.ts'
import { type Change, type KeyValue, SlabWriter } from '@watchglass/store'
import type { RevisionChanges } from '@watchglass/etcd'
import { type OnLeftOut, readerOf } from './foreign.ts'
import {
  baseBegin,
  baseEnd,
  type BaseMark,
  baseMarkIn,
  formatBaseMark,
  formatLine,
  parseLine,
  type RecordedLine,
} from './line.ts'
import { bytesOf, unreadable } from './recorded-file.ts'
import { type FileAccess, TextFile } from './text-file.ts'
import { invalid } from '../../options/invalid.ts'

/** All changes of one revision, or the whole base. */
export interface RecordedChanges extends RevisionChanges {
  /** The changes are not what happened at the revision, but all that there was. Only the first can
   *  be one. */
  readonly isBase: boolean
  /** When they were recorded; undefined for the base, and in recordings of older versions. */
  readonly timeMs: number | undefined
}

/** Reads a recording, or one of another tool, which its contents tell. Fails with
 *  `invalid_request`, and the number of the line that is wrong. Whatever a recording of another
 *  tool has that cannot be stored is told to `onLeftOut`, with how often. The number of entries of
 *  a base that is not whole is told to `onIncomplete`. */
export async function* readRecording(
  path: string,
  onLeftOut: OnLeftOut = () => {},
  onIncomplete: (entries: number) => void = () => {},
): AsyncGenerator<RecordedChanges, void> {
  const foreign = await readerOf(path)
  if (foreign === undefined) yield* readLines(path, onIncomplete)
  else yield* foreign(path, onLeftOut)
}

async function* readLines(
  path: string,
  onIncomplete: (entries: number) => void,
): AsyncGenerator<RecordedChanges, void> {
  const slabs = new SlabWriter()
  let group: Group | undefined
  let number = 0
  let isInBase = false
  for await (const text of linesOf(path)) {
    number++
    try {
      const mark = baseMarkIn(text)
      if (mark !== undefined) {
        isInBase = mark.type === baseBegin
        continue
      }
      const line = parseLine(text, slabs)
      if (group?.revision === line.revision) {
        group.add(line.change)
        continue
      }
      if (group !== undefined) yield group.finish(line.revision)
      group = new Group(line, group === undefined)
    } catch (error) {
      const { message } = CacheError.from(error, 'invalid_request')
      throw new CacheError('invalid_request', `${path} line ${number}: ${message}`, {
        cause: error,
      })
    }
  }
  if (isInBase) onIncomplete(number - 1)
  if (group !== undefined) yield group.finish(undefined)
}

/** The lines of one revision while they are read. */
class Group {
  readonly revision: Revision
  readonly #timeMs: number | undefined
  readonly #isFirst: boolean
  readonly #changes: Change[] = []
  readonly #keys = new Set<Key>()
  #isBase = false

  constructor(line: RecordedLine, isFirst: boolean) {
    this.revision = line.revision
    this.#timeMs = line.timeMs
    this.#isFirst = isFirst
    this.add(line.change)
  }

  add(change: Change): void {
    const key = change.type === 'put' ? change.entry.key : change.key
    if (this.#keys.has(key)) throw invalid(`the key changes twice at revision ${this.revision}`)
    this.#keys.add(key)
    this.#changes.push(change)
    if (change.type === 'delete') return
    const isOlder = change.entry.modRevision < this.revision
    if (isOlder && !this.#isFirst) throw invalid('mod_revision is not rev')
    // What depends on a past that is not in the recording can only be what was there at its
    // beginning.
    this.#isBase ||= this.#isFirst && change.entry.createRevision < this.revision
  }

  /** Refuses `next` when it does not come later. */
  finish(next: Revision | undefined): RecordedChanges {
    if (next !== undefined && next < this.revision) {
      throw invalid(`rev ${next} comes after rev ${this.revision}`)
    }
    const isMixed = this.#isBase && this.#changes.some(({ type }) => type === 'delete')
    if (isMixed) throw invalid(`the base at revision ${this.revision} has a delete`)
    return {
      revision: this.revision,
      changes: this.#changes,
      isBase: this.#isBase,
      timeMs: this.#timeMs,
    }
  }
}

/** Writes a recording, waiting while the disk is slow. */
export class RecordingWriter {
  readonly #file: TextFile
  readonly #nowMs: (() => number) | undefined
  readonly #clusterId: bigint | undefined
  #lines = 0
  #hasBase = false
  #checksum = 0

  private constructor(
    file: TextFile,
    nowMs: (() => number) | undefined,
    clusterId: bigint | undefined,
  ) {
    this.#file = file
    this.#nowMs = nowMs
    this.#clusterId = clusterId
  }

  /** Creates the file, or empties the one that is there. With a clock, changes are recorded with
   *  their time; with the id of the cluster, a mirror of that etcd can start from the base. */
  static async create(
    path: string,
    nowMs?: () => number,
    access?: FileAccess,
    clusterId?: bigint,
  ): Promise<RecordingWriter> {
    return new RecordingWriter(await TextFile.create(path, access), nowMs, clusterId)
  }

  /** Number of changes written. */
  get lines(): number {
    return this.#lines
  }

  /** Writes a part of the base: entries that were there at `at`. */
  async writeBase(at: Revision, entries: readonly KeyValue[]): Promise<void> {
    if (!this.#hasBase) {
      await this.#mark({ type: baseBegin, revision: at, clusterId: this.#clusterId })
    }
    this.#hasBase = true
    const lines = entries.map(entry => formatLine(at, { type: 'put', entry }))
    for (const line of lines) this.#checksum = crc32(line, this.#checksum)
    await this.#write(lines)
  }

  /** Says that the base is whole. */
  async endBase(at: Revision): Promise<void> {
    const [lines, checksum] = [this.#lines, this.#checksum]
    await this.#mark({ type: baseEnd, revision: at, lines, checksum })
  }

  async write({ revision, changes }: RevisionChanges): Promise<void> {
    const timeMs = this.#nowMs?.()
    await this.#write(changes.map(change => formatLine(revision, change, timeMs)))
  }

  /** Resolves once all is in the file. */
  close(): Promise<void> {
    return this.#file.close()
  }

  async #mark(mark: BaseMark): Promise<void> {
    await this.#file.write(`${formatBaseMark(mark)}\n`)
  }

  async #write(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    this.#lines += lines.length
    await this.#file.write(`${lines.join('\n')}\n`)
  }
}

/** Far above the largest value that etcd can be told to take. A small compressed file may have a
 *  line of any length. */
export const lineMaxBytes: number = 64 * 1024 * 1024

async function* linesOf(path: string): AsyncGenerator<string, void> {
  let end: LinesEnd
  try {
    end = yield* linesIn(bytesOf(path), lineMaxBytes)
  } catch (error) {
    throw unreadable(path, error)
  }
  if (end.rest !== '') throw invalid(`${path} ends in the middle of a line`)
}
