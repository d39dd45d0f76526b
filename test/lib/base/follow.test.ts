import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { follow } from '../../../lib/base/follow.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { silentLogger } from '../../support/silent-logger.ts'

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
