/** A process of its own that writes to an etcd at a steady rate: `writer.js ENDPOINT PREFIX WRITES_PER_SECOND`. Ends when its parent
 *  does. */

import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc-client.ts'

const [endpoint = '', prefix = '', rate = '0'] = process.argv.slice(2)
const client = new GrpcClient({ endpoints: [endpoint] })
const perTick = Number(rate) / 100
const startMs = performance.now()
let written = 0

process.on('disconnect', () => process.exit(0))
setInterval(() => {
  const due = Math.floor(((performance.now() - startMs) / 10) * perTick)
  for (; written < due; written++) {
    const key = keyFromText(`${prefix}${written % 1000}`)
    const success = [{ type: 'put' as const, key, value: Buffer.alloc(500, written % 256) }]
    client.txn({ compares: [], success, failure: [] }).catch(() => process.exit(1))
  }
}, 10)
process.send?.('ready')
