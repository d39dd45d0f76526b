import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { expiryProblem } from '../../lib/go/x509/expiry.ts'
import { follow } from '../../lib/base/follow.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { silentLogger } from '../support/silent-logger.ts'

t.test('files are read again, and what cannot be used changes nothing', async t => {
  const path = join(t.testdir({ file: 'one' }), 'file')
  const clock = new FakeClock()
  const changes: string[] = []
  const said: string[] = []
  const read = (): string => {
    const text = readFileSync(path, 'utf8')
    if (text === 'bad') throw new Error('no certificate')
    return text
  }
  const say = (message: string): void => void said.push(message)
  const logger = { ...silentLogger, info: say, warn: say }
  const onChange = (value: string): void => void changes.push(value)
  const stop = follow({ what: 'certificates', current: 'one', read, onChange, clock, logger })
  await clock.advance(10_000)
  t.strictSame(changes, [])
  for (const text of ['two', 'bad', 'bad', 'two', 'three']) {
    writeFileSync(path, text)
    await clock.advance(10_000)
  }
  t.strictSame(changes, ['two', 'three'])
  t.strictSame(said, [
    'certificates were renewed',
    'the renewed certificates cannot be used; the old ones stay in use',
    'certificates were renewed',
  ])
  stop()
  t.equal(clock.pendingTimers, 0)
})

t.test('what has expired is not taken, and said of what is in use', async t => {
  let now = { text: 'one', endsMs: 2e6 }
  const clock = new FakeClock()
  const changes: string[] = []
  const said: string[] = []
  const say = (message: string, fields?: object): void =>
    void said.push(`${message} ${JSON.stringify(fields)}`)
  const stop = follow({
    what: 'certificates',
    current: now,
    read: () => now,
    problemOf: ({ text, endsMs }) => (endsMs < clock.wallMs() ? `${text} has expired` : undefined),
    onChange: ({ text }) => void changes.push(text),
    clock,
    logger: { ...silentLogger, warn: say, error: say },
  })
  now = { text: 'two', endsMs: 0 }
  await clock.advance(30_000)
  t.strictSame(changes, [])
  t.strictSame(said, [
    'the renewed certificates cannot be used; the old ones stay in use {"reason":"two has expired"}',
  ])
  now = { text: 'one', endsMs: 2e6 }
  await clock.advance(2e6)
  t.strictSame(said.slice(1), ['one has expired {"what":"certificates"}'])
  now = { text: 'three', endsMs: 1e9 }
  await clock.advance(10_000)
  t.strictSame(changes, ['three'])
  stop()
})

t.test('the end of a certificate is read from it', t => {
  const pem = readFileSync(new URL('../../../test/support/certs/client.pem', import.meta.url))
  t.equal(expiryProblem('--etcd-cert', pem, 0), undefined)
  t.match(
    expiryProblem('--etcd-cert', pem, 1e15),
    /^the certificate of --etcd-cert has expired: .* until /,
  )
  t.equal(expiryProblem('--etcd-cert', 'no certificate', 1e15), undefined)
  t.equal(expiryProblem('--etcd-cert', undefined, 1e15), undefined)
  t.end()
})
