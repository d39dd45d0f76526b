/** A process of its own that writes to an etcd at a steady rate: `writer.js ENDPOINT PREFIX
 *  WRITES_PER_SECOND`. Ends when its parent does. */

import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'

const [endpoint = '', prefix = '', rate = '0'] = process.argv.slice(2)
const client = new GrpcClient({ endpoints: [endpoint] })
const perTick = Number(rate) / 100
const startMs = performance.now()
let written = 0
let underWay = 0

/** A machine that cannot keep up gets fewer writes, not ever more at once. */
const underWayMax = 100

function fail(error: unknown): void {
  process.stderr.write(`the writer failed: ${String(error)}\n`)
  process.exit(1)
}

async function write(number: number): Promise<void> {
  const key = keyFromText(`${prefix}${number % 1000}`)
  const success = [{ type: 'put' as const, key, value: Buffer.alloc(500, number % 256) }]
  underWay++
  await client.txn({ compares: [], success, failure: [] })
  underWay--
}

process.on('disconnect', () => process.exit(0))
setInterval(() => {
  const due = Math.floor(((performance.now() - startMs) / 10) * perTick)
  for (; written < due; written++) {
    if (underWay < underWayMax) write(written).catch(fail)
  }
}, 10)
process.send?.('ready')
