import t from 'tap'
import type { LevelledLogger } from '../../../../lib/base/logger.ts'
import { createLogger } from '../../../../lib/cli/commands/logger.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { ask, type HttpAnswer, startServed } from '../../../support/http/served.ts'

t.test('the log level is changed on the admin listener, while it runs', async t => {
  const lines: string[] = []
  const logger: LevelledLogger = createLogger({
    write: line => void lines.push(line),
    clock: systemClock,
    level: 'warn',
    format: 'json',
  })
  const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
  const { service } = await startServed(t, { logger, levelledLogger: logger, adminListen })
  const send = (method: string, path: string, headers = {}): Promise<HttpAnswer> =>
    ask(service.adminPort, { method, path, headers })
  t.equal((await send('GET', '/log-level')).body.toString(), '{"logLevel":"warn"}\n')
  logger.debug('before')
  const changed = await send('PUT', '/log-level?level=debug')
  t.equal(changed.body.toString(), '{"logLevel":"debug"}\n')
  logger.debug('after')
  const messages = lines.map(line => (JSON.parse(line) as { message: string }).message)
  t.notOk(messages.includes('before'))
  t.ok(messages.includes('the log level was changed on the admin listener'))
  t.ok(messages.includes('after'))
  for (const path of ['/log-level?level=loud', '/log-level']) {
    t.equal((await send('PUT', path)).status, 400, path)
  }
  t.equal((await send('POST', '/log-level?level=info')).status, 405)
  const fromPage = { origin: 'http://evil.example' }
  t.equal((await send('PUT', '/log-level?level=error', fromPage)).status, 403)
  t.equal(logger.level, 'debug')
})
