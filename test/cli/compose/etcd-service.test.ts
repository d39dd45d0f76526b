/** The page of a process that serves etcd's API and nothing else. */

import t from 'tap'
import type { LogFields, Logger } from '../../../lib/base/logger.ts'
import { startEtcdService } from '../../../lib/cli/compose/etcd-service.ts'
import { startEmbeddedEtcd } from '../../../lib/etcd-server/embedded.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { moment } from '../../support/http/moment.ts'
import { ask } from '../../support/http/served.ts'
import { RawEtcd } from '../../support/etcd/raw-etcd.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { base64 } from '../../etcd-server/engine/operations.ts'

t.test('the page says how many calls etcd was spared', async t => {
  const told = new Map<string, LogFields>()
  const note = (text: string, fields: LogFields = {}): void => void told.set(text, fields)
  const logger: Logger = { ...silentLogger, info: note, warn: note }
  const listen = { address: '127.0.0.1:0', tlsFiles: undefined, prefixes: ['/registry/'] }
  const embedded = await startEmbeddedEtcd({ listen, load: undefined, clock: systemClock, logger })
  const [{ etcd } = {}] = told.values()
  const client = embedded.createClient()
  const service = await startEtcdService({
    listen,
    connection: { endpoints: [String(etcd)] },
    client,
    adminListen: { protocol: 'http', host: '127.0.0.1', port: 0 },
    stopDelayMs: 0,
    logger,
  })
  t.teardown(async () => {
    await service.stop()
    await client.close()
    await embedded.close()
  })
  while (!told.has('ready')) await moment()
  const through = new RawEtcd(String(told.get("serving etcd's API")?.['etcd']))
  t.teardown(async () => through.close())
  const port = Number(told.get('serving health and metrics')?.['port'])
  const page = async (): Promise<string> => {
    const { status, body } = await ask(port, { path: '/', headers: { accept: 'text/html' } })
    t.equal(status, 200)
    return body.toString()
  }
  const first = await page()
  t.notMatch(first, 'watchglass_etcd_calls_total')
  t.match(first, 'watchglass_etcd_watchers')
  for (const title of ['Requests by verb', 'Slowest requests', 'Latency of gets', 'id="objects"']) {
    t.notMatch(first, title, 'what only the API of Kubernetes has is not shown')
  }
  // Until it is known that etcd has no users, calls pass.
  const range = { key: base64('/registry/'), rangeEnd: base64('/registry0') }
  const spared =
    />(\d+)<\/data><\/td><td[^>]*><data [^>]*method=&quot;Range&quot;,source=&quot;etcd/
  for (;;) {
    await through.call('KV', 'Range', range)
    const [, fromMemory = '0'] = spared.exec(await page()) ?? []
    if (Number(fromMemory) >= 3) break
  }
})
