/** The messages of etcd's KV service. Field names follow etcd's; a range end is as on the wire: no
 *  bytes for one key, `\0` for no upper bound. */

import { CacheError, type Key } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import {
  bigint,
  biguint,
  bool,
  bytes,
  type Codec,
  embedded,
  int,
  key,
  message,
  type OneOf,
  oneOf,
  repeated,
} from './codec.ts'
import { keyValueCodec, leaveInMessage } from './key-value.ts'

export interface HeaderMessage {
  readonly clusterId: bigint
  readonly memberId: bigint
  readonly revision: number
  readonly raftTerm: bigint
}

export const headerCodec: Codec<HeaderMessage> = message<HeaderMessage>({
  clusterId: biguint(1),
  memberId: biguint(2),
  revision: int(3),
  raftTerm: biguint(4),
})

/** The fields that a range is sorted by. */
export const sortTarget = { key: 0, version: 1, create: 2, mod: 3, value: 4 } as const
/** The direction of a sort. */
export const sortOrder = { none: 0, ascend: 1, descend: 2 } as const

export interface RangeMessage {
  readonly key: Key
  readonly rangeEnd: Key
  readonly limit: number
  readonly revision: number
  readonly sortOrder: number
  readonly sortTarget: number
  readonly serializable: boolean
  readonly keysOnly: boolean
  readonly countOnly: boolean
  readonly minModRevision: number
  readonly maxModRevision: number
  readonly minCreateRevision: number
  readonly maxCreateRevision: number
}

export const rangeCodec: Codec<RangeMessage> = message<RangeMessage>({
  key: key(1),
  rangeEnd: key(2),
  limit: int(3),
  revision: int(4),
  sortOrder: int(5),
  sortTarget: int(6),
  serializable: bool(7),
  keysOnly: bool(8),
  countOnly: bool(9),
  minModRevision: int(10),
  maxModRevision: int(11),
  minCreateRevision: int(12),
  maxCreateRevision: int(13),
})

export interface RangeResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly entries: readonly KeyValue[]
  readonly more: boolean
  readonly count: number
}

/** The codec of range responses whose entries are read by `entries`. */
export function createRangeResponseCodec(entries: Codec<KeyValue>): Codec<RangeResponseMessage> {
  return message<RangeResponseMessage>({
    header: embedded(1, headerCodec),
    entries: repeated(2, entries),
    more: bool(3),
    count: int(4),
  })
}

const entryCodec = keyValueCodec(leaveInMessage)

export const rangeResponseCodec: Codec<RangeResponseMessage> = createRangeResponseCodec(entryCodec)

/** A part of the answer to a streamed range (KEP-5966, etcd 3.7): the parts one after the other make
 *  what a range is answered with. The last one has the header, `more` and `count`. */
export interface RangePartMessage {
  readonly part: RangeResponseMessage | undefined
}

/** The codec of parts whose entries are read by `entries`. */
export function createRangePartCodec(entries: Codec<KeyValue>): Codec<RangePartMessage> {
  return message<RangePartMessage>({ part: embedded(1, createRangeResponseCodec(entries)) })
}

export interface PutMessage {
  readonly key: Key
  readonly value: Uint8Array
  readonly lease: bigint
  readonly previous: boolean
  readonly ignoreValue: boolean
  readonly ignoreLease: boolean
}

export const putCodec: Codec<PutMessage> = message<PutMessage>({
  key: key(1),
  value: bytes(2),
  lease: bigint(3),
  previous: bool(4),
  ignoreValue: bool(5),
  ignoreLease: bool(6),
})

export interface PutResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly previous: KeyValue | undefined
}

export const putResponseCodec: Codec<PutResponseMessage> = message<PutResponseMessage>({
  header: embedded(1, headerCodec),
  previous: embedded(2, entryCodec),
})

export interface DeleteRangeMessage {
  readonly key: Key
  readonly rangeEnd: Key
  readonly previous: boolean
}

export const deleteRangeCodec: Codec<DeleteRangeMessage> = message<DeleteRangeMessage>({
  key: key(1),
  rangeEnd: key(2),
  previous: bool(3),
})

export interface DeleteRangeResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly deleted: number
  readonly previous: readonly KeyValue[]
}

export const deleteRangeResponseCodec: Codec<DeleteRangeResponseMessage> =
  message<DeleteRangeResponseMessage>({
    header: embedded(1, headerCodec),
    deleted: int(2),
    previous: repeated(3, entryCodec),
  })

/** The relations that a compare asks for. */
export const compareResult = { equal: 0, greater: 1, less: 2, notEqual: 3 } as const
/** The fields that a compare looks at. */
export const compareTarget = { version: 0, create: 1, mod: 2, value: 3, lease: 4 } as const

/** A compare: of the last five fields before `rangeEnd`, the one that the target names counts. */
export interface CompareMessage {
  readonly result: number
  readonly target: number
  readonly key: Key
  readonly version: number
  readonly createRevision: number
  readonly modRevision: number
  readonly value: Uint8Array
  readonly lease: bigint
  readonly rangeEnd: Key
}

const compareCodec = message<CompareMessage>({
  result: int(1),
  target: int(2),
  key: key(3),
  version: int(4),
  createRevision: int(5),
  modRevision: int(6),
  value: bytes(7),
  lease: bigint(8),
  rangeEnd: key(64),
})

export type OperationMessage = OneOf<{
  range: RangeMessage
  put: PutMessage
  deleteRange: DeleteRangeMessage
  txn: TxnMessage
}>

/** An operation; an empty one is refused later, as etcd does it. */
export interface OperationHolder {
  readonly operation: OperationMessage | undefined
}

export interface TxnMessage {
  readonly compare: readonly CompareMessage[]
  readonly success: readonly OperationHolder[]
  readonly failure: readonly OperationHolder[]
}

/** A request has room for a hundred thousand transactions within each other, and each takes some of
 *  the stack. Nobody needs more than two. */
const nestedMax = 32
let nested = 0

/** A codec that is looked up when it is used: transactions hold transactions. */
function later<T>(codec: () => Codec<T>): Codec<T> {
  return {
    decode: from => codec().decode(from),
    encode: (value, sizeHint) => codec().encode(value, sizeHint),
    read: reader => {
      if (nested === nestedMax) {
        const what = `transactions within each other: more than ${nestedMax}`
        throw new CacheError('invalid_request', what)
      }
      nested++
      try {
        return codec().read(reader)
      } finally {
        nested--
      }
    },
    write: (writer, value) => codec().write(writer, value),
  }
}

const operationCodec = message<OperationHolder>({
  operation: oneOf({
    range: [1, rangeCodec],
    put: [2, putCodec],
    deleteRange: [3, deleteRangeCodec],
    txn: [4, later(() => txnCodec)],
  }),
})

export const txnCodec: Codec<TxnMessage> = message<TxnMessage>({
  compare: repeated(1, compareCodec),
  success: repeated(2, operationCodec),
  failure: repeated(3, operationCodec),
})

export type ResultMessage = OneOf<{
  range: RangeResponseMessage
  put: PutResponseMessage
  deleteRange: DeleteRangeResponseMessage
  txn: TxnResponseMessage
}>

export interface ResultHolder {
  readonly result: ResultMessage | undefined
}

export interface TxnResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly succeeded: boolean
  readonly results: readonly ResultHolder[]
}

const resultCodec = message<ResultHolder>({
  result: oneOf({
    range: [1, rangeResponseCodec],
    put: [2, putResponseCodec],
    deleteRange: [3, deleteRangeResponseCodec],
    txn: [4, later(() => txnResponseCodec)],
  }),
})

export const txnResponseCodec: Codec<TxnResponseMessage> = message<TxnResponseMessage>({
  header: embedded(1, headerCodec),
  succeeded: bool(2),
  results: repeated(3, resultCodec),
})

export interface CompactionMessage {
  readonly revision: number
  readonly physical: boolean
}

export const compactionCodec: Codec<CompactionMessage> = message<CompactionMessage>({
  revision: int(1),
  physical: bool(2),
})

/** A response that is nothing but its header. */
export interface HeaderResponseMessage {
  readonly header: HeaderMessage | undefined
}

export const headerResponseCodec: Codec<HeaderResponseMessage> = message<HeaderResponseMessage>({
  header: embedded(1, headerCodec),
})
