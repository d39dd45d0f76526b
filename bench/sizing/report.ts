/** The tables of this bench, and the formula of docs/SIZING.md, which each row must fit. */

import type { BenchTable, Floor } from '../bench.ts'
import type { RowReport } from './row.ts'

const mebibyte = 1024 * 1024

interface Formula {
  /** The program without an object. */
  readonly baseBytes: number
  /** An object beside its stored bytes: its key, its place in the tree, what is known of it. */
  readonly objectBytes: number
  /** The most that is kept of lists. */
  readonly listsMaxBytes: number
}

/** Memory of a process with one thread. */
export const formula: Formula = {
  baseBytes: 110 * mebibyte,
  objectBytes: 450,
  listsMaxBytes: 1024 * mebibyte,
}

export function readyBytes({ objects, storedBytes }: RowReport): number {
  return formula.baseBytes + objects * (formula.objectBytes + storedBytes)
}

export function listedBytes(row: RowReport): number {
  return readyBytes(row) + Math.min(formula.listsMaxBytes, row.objects * row.jsonBytes)
}

export function tablesOf(rows: readonly RowReport[]): BenchTable[] {
  return [memoryTable(rows), timeTable(rows), churnTable(rows), threadsTable(rows)]
}

function memoryTable(rows: readonly RowReport[]): BenchTable {
  return {
    title: 'Memory, in MiB',
    columns: [
      'kind',
      'objects',
      'stored bytes of one',
      'bytes of its JSON',
      'ready',
      'after whole lists',
      'after changes',
      'at most',
    ],
    rows: rows.map(row => [
      row.kind,
      row.objects,
      Math.round(row.storedBytes),
      Math.round(row.jsonBytes),
      inMebibytes(row.start.readyBytes),
      inMebibytes(row.listedBytes),
      inMebibytes(row.churnedBytes),
      inMebibytes(row.peakBytes),
    ]),
  }
}

function timeTable(rows: readonly RowReport[]): BenchTable {
  return {
    title: 'Start until /readyz is ok, and whole lists',
    columns: [
      'kind',
      'objects',
      'ready after s',
      'processor s',
      'first list s',
      'second list s',
      'list MiB',
    ],
    rows: rows.map(({ kind, objects, start, listSeconds, jsonBytes }) => [
      kind,
      objects,
      rounded(start.seconds),
      rounded(start.cpuSeconds),
      rounded(listSeconds[0]),
      rounded(listSeconds[1]),
      inMebibytes(objects * jsonBytes),
    ]),
  }
}

function churnTable(rows: readonly RowReport[]): BenchTable {
  return {
    title: 'Changes, and the share of a processor that they take',
    columns: [
      'kind',
      'objects',
      'changes/s',
      'share without watchers %',
      'events/s',
      'share with watchers %',
      'µs an event',
    ],
    rows: rows.map(({ kind, objects, alone, watched }) => [
      kind,
      objects,
      Math.round(watched.changes / watched.seconds),
      rounded((100 * alone.cpuSeconds) / alone.seconds),
      Math.round(watched.events / watched.seconds),
      rounded((100 * watched.cpuSeconds) / watched.seconds),
      rounded((1e6 * (watched.cpuSeconds - alone.cpuSeconds)) / watched.events),
    ]),
  }
}

function threadsTable(rows: readonly RowReport[]): BenchTable {
  return {
    title: 'Memory with several threads, in MiB',
    columns: ['kind', 'objects', 'threads', 'ready', 'after whole lists'],
    rows: rows.flatMap(({ kind, objects, threads }) =>
      threads.map(report => [
        kind,
        objects,
        report.threads,
        inMebibytes(report.readyBytes),
        inMebibytes(report.listedBytes),
      ]),
    ),
  }
}

/** The distance of each row from the formula. */
export function floorsOf(rows: readonly RowReport[]): Floor[] {
  return rows.flatMap(row => [
    floorOf(row, 'ready', readyBytes(row) / row.start.readyBytes),
    floorOf(row, 'after whole lists', listedBytes(row) / row.listedBytes),
  ])
}

function floorOf({ kind, objects }: RowReport, when: string, ratio: number): Floor {
  return {
    name: `formula and memory, ${objects} ${kind}, ${when}`,
    value: Math.max(ratio, 1 / ratio),
    bound: 'at most',
    limit: 1.25,
    unit: 'times',
  }
}

function inMebibytes(bytes: number): number {
  return Math.round(bytes / mebibyte)
}

/** Three digits. */
function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
