/** The servers of an upstream that cannot be reached, as health and log tell of them. */

import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import { defaultUpstreamTimeouts, UpstreamServer } from '../../../lib/proxy/upstream/server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { moment } from '../../support/http/moment.ts'
import { sayingLogger } from '../../support/saying-logger.ts'

async function listening(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((_, response) => void response.end('ok'))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

t.test('an upstream that is gone is named with address, cause and since when', async t => {
  const first = await listening()
  const second = await listening()
  first.server.close()
  const clock = new FakeClock()
  const { logger, said } = sayingLogger()
  const timeouts = defaultUpstreamTimeouts
  const upstream = new BalancedUpstream({
    servers: [first.port, second.port].map(
      port => new UpstreamServer({ url: new URL(`http://127.0.0.1:${port}`), timeouts }),
    ),
    timeouts,
    clock,
    logger,
  })
  t.teardown(async () => {
    await upstream.stop()
    second.server.close()
  })
  const until = async (isDone: () => boolean): Promise<void> => {
    for (; !isDone(); await moment()) await clock.advance(1000)
  }
  const urgent = (): readonly unknown[] => said.filter(({ level }) => level === 'error')
  upstream.start()
  await until(() => upstream.standings()[0]?.problem !== undefined)
  t.equal(upstream.problem(), undefined, 'the other one is well')

  second.server.close()
  second.server.closeAllConnections()
  await until(() => upstream.problem()?.startsWith('since ') === true)
  const addresses = [first, second].map(({ port }) => `127\\.0\\.0\\.1:${port}: .*ECONNREFUSED.*`)
  const words = new RegExp(`^since \\S+Z \\(\\d+ s\\): ${addresses.join('; ')}$`)
  t.match(upstream.problem(), words)
  await until(() => urgent().length === 2)
  t.match(urgent()[0], {
    text: /^no server of the upstream is healthy/,
    fields: { error: /ECONNREFUSED/, since: /Z$/ },
  })

  const back = await listening(first.port)
  t.teardown(() => back.server.close())
  await until(() => upstream.problem() === undefined)
  t.match(
    said.find(({ text }) => text === 'the upstream is healthy again'),
    { level: 'warn', fields: { seconds: Number } },
  )
})
