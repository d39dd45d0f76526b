/** The messages between the main thread and a worker, beside records and what reads ask
 *  (../messages.ts). */

import type { MessagePort } from 'node:worker_threads'
import type { Key, LogFields } from '@watchglass/base'
import type { SharedMemory } from '../mirror/facts.ts'
import type { AnswerMessage, FailureMessage, QuestionMessage } from '../mirror/messages.ts'

/** The data of a worker at its start. */
export interface WorkerData extends SharedMemory {
  /** From 1 on. */
  readonly number: number
  readonly count: number
  readonly ring: SharedArrayBuffer
  /** Port on which slabs come. */
  readonly slabs: MessagePort
  /** Port that it listens on beside the others; 0 lets the system choose. */
  readonly port: number
  /** Data that the program passes to its threads. */
  readonly program: unknown
}

/** A slab, or a record that is too long for the ring. */
export interface SlabMessage {
  readonly type: 'slab' | 'record'
  readonly id: number
  readonly memory: SharedArrayBuffer
}

export interface WorkerFigures {
  /** Size of kept encoded objects. */
  readonly segmentBytes: number
  readonly indexBytes: number
  readonly openWatches: number
  /** Figures that the program shows to people. It is left out now and then: what was said before
   *  holds. */
  readonly page?: unknown
}

/** The caches that a thread can be told to drop. */
export type DroppedFigure = 'segmentBytes' | 'indexBytes'

export type ToMain =
  | QuestionMessage
  | {
      readonly type: 'log'
      readonly level: 'debug' | 'info' | 'warn' | 'error'
      readonly message: string
      readonly fields: LogFields
    }
  /** The worker accepts connections. */
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly failure: string; readonly isInvalid: boolean }
  /** The worker has everything that is mirrored. */
  | { readonly type: 'ready' }
  /** After so many orders to drop something. */
  | { readonly type: 'figures'; readonly figures: WorkerFigures; readonly drops: number }
  /** News of work that the program shares between its threads. */
  | { readonly type: 'work'; readonly news: unknown }
  /** Something that the main thread alone knows. */
  | { readonly type: 'ask'; readonly id: number; readonly question: unknown }
  /** The metrics of this thread. */
  | { readonly type: 'metrics'; readonly id: number; readonly text: string }
  | { readonly type: 'stopped' }

/** The messages that are no questions to the mirrors. */
export type Report = Exclude<ToMain, QuestionMessage>

export function isQuestion(message: ToMain): message is QuestionMessage {
  return questions.has(message.type)
}

export function isAnswer(message: ToWorker): message is AnswerMessage {
  return answers.has(message.type)
}

/** The messages that are no answers of the mirrors. */
export type Order = Exclude<ToWorker, AnswerMessage>

export type ToWorker =
  | AnswerMessage
  | { readonly type: 'give-metrics'; readonly id: number }
  /** News of work that the program shares between its threads. */
  | { readonly type: 'work'; readonly news: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'no-answer'; readonly id: number; readonly failure: FailureMessage }
  /** Problem that each check of the main thread finds; empty if all is well. */
  | { readonly type: 'health'; readonly problems: Readonly<Record<string, string>> }
  /** Encoded objects or indexes are dropped until so many bytes are left. */
  | { readonly type: 'drop'; readonly figure: DroppedFigure; readonly bytes: number }
  | { readonly type: 'trim-history'; readonly keyspace: Key; readonly bytes: number }
  /** The memory that the worker may take beside what it has. */
  | { readonly type: 'room-for'; readonly bytes: number }
  /** All reads pass to the upstream, or not. */
  | { readonly type: 'pass-through'; readonly isOn: boolean }
  /** The user of the credentials that have this key. */
  | { readonly type: 'named'; readonly key: string; readonly user: string }
  /** Rules of faults on purpose, and the memory in which all threads count them. */
  | {
      readonly type: 'faults'
      readonly faults: { readonly texts: readonly string[]; readonly memory: SharedArrayBuffer }
    }
  /** The process will stop: clients should go elsewhere. */
  | { readonly type: 'leave' }
  | { readonly type: 'stop' }

const questions: ReadonlySet<string> = new Set<QuestionMessage['type']>([
  'probe',
  'need',
  'want',
  'refresh',
  'room',
  'read',
  'next-page',
  'end-read',
  'call',
  'abandon-call',
])

const answers: ReadonlySet<string> = new Set<AnswerMessage['type']>([
  'wake',
  'probed',
  'probe-failed',
  'page',
  'read-failed',
  'called',
  'call-failed',
])
