/** A process of its own: the etcd of the attacked program and of its upstream. */

import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { createTestEngine } from '../../test/support/etcd/test-engine.ts'

const { engine } = createTestEngine({ teardown: () => {} })
const { address } = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
process.send?.(`http://${address}`)
process.on('disconnect', () => process.exit(0))
