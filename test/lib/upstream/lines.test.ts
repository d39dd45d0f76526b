import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../lib/ops/system.ts'
import { UpstreamServer } from '../../../lib/upstream/server.ts'
import { collector } from '../../support/program/collector.ts'

t.test('a line that never had a connection is not kept when it is closed', async t => {
  // Nobody listens there.
  const url = new URL('https://127.0.0.1:1')
  const server = new UpstreamServer({ url, clock: systemClock })
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  const collect = collector()
  const lines = 10
  for (let i = 0; i < lines; i++) {
    const { client, close } = server.openLine()
    registry.register(client, undefined)
    await t.rejects(client.request({ method: 'GET', path: '/version' }))
    close()
  }
  for (let i = 0; i < 50 && collected < lines - 1; i++) {
    await turn()
    collect()
  }
  // The last one may still be on the stack.
  t.ok(collected >= lines - 1, `${collected} of ${lines} are collected`)
  await server.close()
})
