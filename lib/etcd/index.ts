/** Everything that other packages may import of this one. */

export type {
  Client,
  TxnCompare,
  Lease,
  MemberStatus,
  Operation,
  OperationResult,
  RangeRequest,
  RangeResponse,
  ResponseHeader,
  RevisionChanges,
  Source,
  TxnRequest,
  TxnResponse,
  WatchRequest,
  WatchSink,
  WatchStream,
} from './client.ts'
export type { EtcdConnection, EtcdTls } from './connection-settings.ts'
export { GrpcClient } from './grpc/client.ts'
export { parseEndpoint, type Tls } from './grpc/endpoints.ts'
export { detailsOf, failureFromStatus, isAuthNotEnabled } from './grpc/failures.ts'
export { type BlockHead, type BodyPart, type FrameEnd, FrameLoop } from './http2/frame-loop.ts'
export {
  errorCode,
  flag,
  frameHead,
  frameType,
  goAwayFrame,
  headBytes,
  headerFrames,
  resetFrame,
  setting,
  settingsAck,
  settingsFrame,
  usualPayloadMaxBytes,
  usualWindowBytes,
  windowFrame,
  windowMaxBytes,
} from './http2/frames.ts'
export type { HeaderList } from './http2/hpack/decoder.ts'
export { emptyTable, headerField, statusField } from './http2/hpack/encoder.ts'
export { ofConnection } from './http2/hpack/static-fields.ts'
export {
  controlMaxBytes,
  headersMaxBytes,
  idleOfClient,
  refusedStreamBytes,
  settingsBytes,
} from './http2/limits.ts'
export {
  asSent,
  type Message,
  messagePrefix,
  MessageReader,
  prefixBytes,
} from './http2/message-reader.ts'
export { ResetCharges } from './http2/reset-charges.ts'
export type { PeerSettings } from './http2/settings.ts'
export { OwnRevision } from './own-revision.ts'
export {
  authenticateCodec,
  emptyCodec,
  leaseGrantCodec,
  type LeaseGrantMessage,
  leaseIdCodec,
  type LeaseIdMessage,
  leaseResponseCodec,
  type LeaseResponseMessage,
  statusResponseCodec,
  type StatusResponseMessage,
} from './proto/admin-messages.ts'
export {
  bigint,
  biguint,
  bool,
  type Codec,
  embedded,
  int,
  message,
  repeated,
  repeatedKey,
  repeatedText,
  text,
} from './proto/codec.ts'
export { EtcdError, failureByText, type FailureName, grpcStatus } from './proto/failures.ts'
export {
  eventCodec,
  eventLength,
  keyValueLength,
  leaveInMessage,
  type WatchEvent,
} from './proto/key-value.ts'
export {
  compactionCodec,
  type CompactionMessage,
  type CompareMessage,
  compareResult,
  compareTarget,
  deleteRangeCodec,
  type DeleteRangeMessage,
  deleteRangeResponseCodec,
  type DeleteRangeResponseMessage,
  headerCodec,
  type HeaderMessage,
  headerResponseCodec,
  type HeaderResponseMessage,
  type OperationHolder,
  type OperationMessage,
  putCodec,
  type PutMessage,
  putResponseCodec,
  type PutResponseMessage,
  rangeCodec,
  type RangeMessage,
  rangeResponseCodec,
  type RangeResponseMessage,
  type ResultHolder,
  sortOrder,
  sortTarget,
  txnCodec,
  type TxnMessage,
  txnResponseCodec,
  type TxnResponseMessage,
} from './proto/kv-messages.ts'
export {
  noWatchId,
  piecesOf,
  type WatchCreateMessage,
  watchFilter,
  watchRequestCodec,
  type WatchRequestMessage,
  watchResponseCodec,
  type WatchResponseMessage,
} from './proto/watch-messages.ts'
export { ProtoWriter } from './proto/proto-writer.ts'
export {
  changesFromEvents,
  headerFromMessage,
  messageFromRange,
  messageFromTxn,
  messageFromWatch,
  rangeFromMessage,
  txnFromMessage,
} from './wire.ts'
