/** Recordings of other tools as files: SimKube's traces, those of kwokctl, and folders of dumps. */

import { type FileHandle, stat } from 'node:fs/promises'
import { CacheError, type Revision } from '@watchglass/base'
import { load } from '../../compose/loaded-code.ts'
import type { RevisionChanges } from '@watchglass/etcd'
import { linesIn } from '../lines.ts'
import { systemClock } from '@watchglass/cache'
import type { HistoryStep, KwokWriter, TraceWriter } from '@watchglass/simulator'
import type { KeyValue } from '@watchglass/store'
import { readDump } from './dump-folder.ts'
import { bytesOf, unreadable } from './recorded-file.ts'
import { type FileAccess, openToWrite, TextFile, unwritable } from './text-file.ts'
import { invalid } from '../../options/invalid.ts'

/** Told what could not be stored, and how often. */
export type OnLeftOut = (reason: string, count: number) => void

type ReadForeign = (path: string, onLeftOut: OnLeftOut) => AsyncIterable<HistoryStep>

/** A trace is one value, which is held in memory. */
const traceMaxBytes = 512 * 1024 * 1024
const lineMaxBytes = 64 * 1024 * 1024

/** A key of YAML, after comments and the line `---`. */
const yamlStart = /^(?:(?:#[^\n]*|---[^\n]*|\s*)\r?\n)*[A-Za-z]+:/

/** The reader for the contents of a file; undefined for our own, and for what is none. */
export async function readerOf(path: string): Promise<ReadForeign | undefined> {
  if (await isFolder(path)) return readDump
  const start = await startOf(path)
  if (start === undefined) return undefined
  const { isTrace } = await load.foreignRecordings()
  if (isTrace(start)) return readTrace
  return yamlStart.test(start.subarray(0, 4096).toString()) ? readKwok : undefined
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    // The reader of lines fails for the same reason.
    return false
  }
}

/** The first bytes; undefined for an empty file, for lines of JSON, and for what cannot be read,
 *  which the reader of lines says in its words. */
async function startOf(path: string): Promise<Buffer | undefined> {
  try {
    for await (const bytes of bytesOf(path)) return bytes[0] === 0x7b ? undefined : bytes
  } catch {
    // The reader of lines fails for the same reason.
  }
  return undefined
}

async function* readTrace(path: string, onLeftOut: OnLeftOut): AsyncGenerator<HistoryStep> {
  const { traceHistory, ObjectHistory, PackProblem } = await load.foreignRecordings()
  const history = new ObjectHistory()
  const bytes = await wholeOf(path)
  try {
    yield* traceHistory(bytes, history)
  } catch (error) {
    if (!(error instanceof PackProblem)) throw error
    throw invalid(`${path} cannot be read as a trace of SimKube: ${error.message}`, error)
  }
  for (const [reason, count] of history.leftOut) onLeftOut(reason, count)
}

async function* readKwok(path: string, onLeftOut: OnLeftOut): AsyncGenerator<HistoryStep> {
  const { kwokHistory, ObjectHistory } = await load.foreignRecordings()
  const history = new ObjectHistory()
  const lines = (): AsyncIterable<string> => linesOf(path)
  try {
    yield* kwokHistory({ lines, history, nowMs: systemClock.wallMs() })
  } catch (error) {
    if (!(error instanceof CacheError) || error.message.startsWith(path)) throw error
    throw invalid(`${path}: ${error.message}`, error)
  }
  for (const [reason, count] of history.leftOut) onLeftOut(reason, count)
}

async function wholeOf(path: string): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const bytes of bytesOf(path)) {
    size += bytes.length
    if (size > traceMaxBytes) {
      throw invalid(`${path} has more than ${String(traceMaxBytes)} bytes: no such trace is read`)
    }
    parts.push(bytes)
  }
  return Buffer.concat(parts)
}

async function* linesOf(path: string): AsyncGenerator<string, void> {
  try {
    const { rest } = yield* linesIn(bytesOf(path), lineMaxBytes)
    if (rest !== '') yield rest
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** The forms in which `record` writes. */
export type ForeignFormat = 'kwok' | 'simkube'

/** A file that is written in the form of another tool. */
export interface ForeignWriter {
  writeBase(at: Revision, entries: readonly KeyValue[]): Promise<void>
  write(batch: RevisionChanges): Promise<void>
  close(): Promise<void>
}

export async function createForeignWriter(
  format: ForeignFormat,
  path: string,
  nowMs: () => number,
  access: FileAccess = 'private',
): Promise<ForeignWriter> {
  const { TraceWriter, KwokWriter } = await load.foreignRecordings()
  if (format === 'kwok') {
    return new KwokFile(await TextFile.create(path, access), new KwokWriter(nowMs()), nowMs)
  }
  if (path.endsWith('.gz')) throw invalid(`${path}: SimKube reads no trace that is compressed`)
  const file = await openToWrite(path, access)
  return new TraceFile({ path, file, nowMs }, new TraceWriter())
}

class KwokFile implements ForeignWriter {
  readonly #file: TextFile
  readonly #writer: KwokWriter
  readonly #nowMs: () => number

  constructor(file: TextFile, writer: KwokWriter, nowMs: () => number) {
    this.#file = file
    this.#writer = writer
    this.#nowMs = nowMs
  }

  writeBase(_: Revision, entries: readonly KeyValue[]): Promise<void> {
    return this.#file.write(this.#writer.base(entries))
  }

  write({ changes }: RevisionChanges): Promise<void> {
    return this.#file.write(this.#writer.changes(changes, this.#nowMs()))
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

interface OpenTrace {
  readonly path: string
  readonly file: FileHandle
  readonly nowMs: () => number
}

class TraceFile implements ForeignWriter {
  readonly #open: OpenTrace
  readonly #writer: TraceWriter
  #length = 0

  constructor(opened: OpenTrace, writer: TraceWriter) {
    this.#open = opened
    this.#writer = writer
  }

  writeBase(_: Revision, entries: readonly KeyValue[]): Promise<void> {
    return this.#append(this.#writer.base(entries, this.#open.nowMs()))
  }

  write({ changes }: RevisionChanges): Promise<void> {
    return this.#append(this.#writer.changes(changes, this.#open.nowMs()))
  }

  async close(): Promise<void> {
    const { file, nowMs } = this.#open
    try {
      const { bytes, insertions } = this.#writer.end(nowMs())
      await this.#append(bytes)
      for (const { at, bytes: length } of insertions) await this.#put(length, at)
    } finally {
      await file.close()
    }
  }

  async #append(bytes: Buffer): Promise<void> {
    await this.#put(bytes, this.#length)
    this.#length += bytes.length
  }

  async #put(bytes: Buffer, at: number): Promise<void> {
    const { file, path } = this.#open
    try {
      for (let done = 0; done < bytes.length;) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done)
        done += bytesWritten
      }
    } catch (error) {
      throw unwritable(path, error)
    }
  }
}
