import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { appendTo, LineFile } from '../../../lib/cli/commands/plan/line-file.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

t.test('lines that come together are written together, in order', async t => {
  const clock = new FakeClock()
  const written: string[] = []
  const append = async (bytes: Buffer): Promise<void> => {
    written.push(bytes.toString())
  }
  const file = new LineFile({ append, clock, onLost: () => t.fail('lost') })
  for (const line of ['a', 'b', 'c']) file.write(line)
  await clock.advance(50)
  file.write('d')
  await clock.advance(50)
  t.strictSame(written, ['a\nb\nc\n', 'd\n'])
  await file.close()
  t.equal(clock.pendingTimers, 0)
})

t.test('a disk that fails loses lines, counts them, and tears no later ones', async t => {
  const clock = new FakeClock()
  let disk = ''
  let isFull = false
  let lost = 0
  const append = async (bytes: Buffer): Promise<void> => {
    if (!isFull) disk += bytes.toString()
    else {
      disk += bytes.toString().slice(0, 2)
      throw new Error('ENOSPC')
    }
  }
  const file = new LineFile({ append, clock, onLost: lines => (lost += lines) })
  file.write('first')
  await clock.advance(50)
  isFull = true
  file.write('second')
  file.write('third')
  await clock.advance(50)
  t.equal(lost, 2)
  isFull = false
  file.write('fourth')
  await clock.advance(50)
  t.strictSame(disk, 'first\nse\nfourth\n')
})

t.test('a disk that hangs holds a bounded number of lines', async t => {
  const clock = new FakeClock()
  let lost = 0
  const append = (): Promise<void> => new Promise(() => {})
  const file = new LineFile({ append, clock, onLost: lines => (lost += lines) })
  const line = 'x'.repeat(1024 * 1024)
  file.write(line)
  await clock.advance(50)
  for (let i = 0; i < 20; i++) file.write(line)
  await settle()
  t.equal(lost, 4)
})

t.test('a disk that hangs holds nobody up who closes, and its lines are counted', async t => {
  const clock = new FakeClock()
  let lost = 0
  const append = (): Promise<void> => new Promise(() => {})
  const file = new LineFile({ append, clock, onLost: lines => (lost += lines) })
  file.write('a')
  await clock.advance(50)
  file.write('b')
  const closed = file.close()
  await clock.advance(1000)
  t.equal(await closed, 2)
  t.equal(lost, 2)
  t.equal(clock.pendingTimers, 0)
  file.write('c')
  t.equal(lost, 3)
})

t.test('a file that is moved away is made anew, for its owner only', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'watchglass-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'audit.log')
  const file = new LineFile({
    append: appendTo(path, systemClock),
    clock: systemClock,
    onLost: () => t.fail(),
  })
  const wrote = async (text: string): Promise<void> => {
    file.write(text)
    while (!existsSync(path) || statSync(path).size === 0) await delay(5)
  }
  await wrote('a')
  t.equal(statSync(path).mode & 0o777, 0o600)
  renameSync(path, `${path}.1`)
  await wrote('b')
  t.equal(await file.close(), 0)
  t.equal(readFileSync(path, 'utf8'), 'b\n')
})
