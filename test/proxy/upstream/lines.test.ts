import t from 'tap'
import { UpstreamServer } from '../../../lib/proxy/upstream/server.ts'
import { isCollected } from '../../support/program/collector.ts'

t.test('a line that never had a connection is not kept when it is closed', async t => {
  // Nobody listens there.
  const url = new URL('https://127.0.0.1:1')
  const server = new UpstreamServer({ url })
  const clients: WeakRef<object>[] = []
  // The last one may still be on the stack when the others are looked for.
  for (let i = 0; i < 10; i++) {
    const { client, close } = server.openLine()
    clients.push(new WeakRef(client))
    await t.rejects(client.request({ method: 'GET', path: '/version' }))
    close()
  }
  for (const client of clients.slice(0, -1)) t.ok(await isCollected(client))
  await server.close()
})
