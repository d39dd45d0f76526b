/** The bound that etcd has for a request that it writes to its log. */

import { EtcdError, txnCodec, type TxnMessage } from '@watchglass/etcd'

/** etcd's default for `--max-request-bytes`, less what the log adds to a request. */
export const requestMaxBytes: number = 1.5 * 1024 * 1024 - 18

/** Transactions whose values have fewer bytes are not measured: their keys are short. */
const measuredFromBytes = requestMaxBytes / 2

/** Refuses a transaction that would be too large as a message. */
export function checkSize(request: TxnMessage): void {
  let bytes = 0
  for (const { operation } of [...request.success, ...request.failure]) {
    if (operation?.type === 'put') bytes += operation.value.value.length
  }
  if (bytes < measuredFromBytes) return
  if (bytes > requestMaxBytes || txnCodec.encode(request, bytes).length > requestMaxBytes) {
    throw new EtcdError('requestTooLarge')
  }
}
