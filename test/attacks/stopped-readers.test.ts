/** Whoever reads what the program writes may stop, or go: the program serves on, keeps a bounded
 *  part of it, and ends when it is asked to. */

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ask } from '../support/attacks/ask.ts'
import { patient } from '../support/patience.ts'
import { programFlags } from '../support/program/program-flags.ts'

type Stream = 'stdout' | 'stderr'

/** A program of which one stream is never read. */
interface Unread {
  readonly port: number
  readonly signal: (name: NodeJS.Signals) => void
  /** Both readers go away. */
  readonly leave: () => void
  /** The lines of the log so far. */
  readonly log: () => string
  /** Whether it ends once it is asked to; its exit code. */
  readonly ends: () => Promise<number | null | 'goes on'>
}

async function startUnread(
  t: Test,
  unread: Stream,
  { flags = [], args = [] }: { readonly flags?: string[]; readonly args?: string[] },
): Promise<Unread> {
  const serve = ['.', 'serve', '--listen', 'http://127.0.0.1:0', ...args]
  const child = spawn(process.execPath, [...programFlags(), ...flags, ...serve], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit') as Promise<[number | null]>
  let log = ''
  const port = await new Promise<number>(resolve => {
    const look = (text: string): void => {
      log += text
      const found = /"listening".*?127\.0\.0\.1:(\d+)|API at http:\/\/127\.0\.0\.1:(\d+)/.exec(log)
      if (found !== null) resolve(Number(found[1] ?? found[2]))
    }
    const read = unread === 'stdout' ? child.stderr : child.stdout
    read.setEncoding('utf8').on('data', look)
  })
  return {
    port,
    signal: name => void child.kill(name),
    leave() {
      child.stdout.destroy()
      child.stderr.destroy()
    },
    log: () => log,
    async ends() {
      child.kill('SIGTERM')
      const stopping = new AbortController()
      const late = delay(patient(20_000), 'goes on' as const, { signal: stopping.signal })
      const end = await Promise.race([exited.then(([code]) => code), late.catch(() => null)])
      stopping.abort()
      return end
    },
  }
}

/** More events of the audit log than a pipe holds. */
async function audited({ port }: Unread): Promise<void> {
  const headers = { 'user-agent': 'x'.repeat(1000) }
  for (let i = 0; i < 60; i++) {
    const path = `/api/v1/pods?labelSelector=${'a'.repeat(4000)}${i}`
    await ask({ protocol: 'http', port }, '1.1', { path, headers })
  }
}

t.test('an audit log on standard output that is not read', async t => {
  const program = await startUnread(t, 'stdout', { args: ['--audit-log', '-'] })
  await audited(program)
  t.equal(await program.ends(), 0)
  t.match(program.log(), /the last events of the audit log were lost/)
})

t.test('an audit log on a pipe that is not read', async t => {
  const path = join(t.testdir({}), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  t.teardown(() => closeSync(reader))
  const program = await startUnread(t, 'stdout', { args: ['--audit-log', path] })
  // Others are reloaded by it.
  program.signal('SIGHUP')
  await audited(program)
  t.match(program.log(), /nothing to reload/)
  t.equal(await program.ends(), 0)
  t.match(program.log(), /the last events of the audit log were lost/)
})

t.test('an audit log on a pipe without a reader is refused, and holds no start up', async t => {
  const path = join(t.testdir({}), 'pipe')
  execFileSync('mkfifo', [path])
  const args = [
    ...programFlags(),
    '.',
    'serve',
    '--listen',
    'http://127.0.0.1:0',
    '--audit-log',
    path,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  t.teardown(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(child, 'close')) as [number]
  t.equal(code, 2)
  t.match(said, /--audit-log cannot be written: .*ENXIO/)
})

/** More than a pipe holds, as a module that the program begins with. */
const talkative = '--import=data:text/javascript,process.stderr.write("x".repeat(4e6))'

t.test('a log that is not read', async t => {
  const program = await startUnread(t, 'stderr', { flags: [talkative] })
  const { status } = await ask({ protocol: 'http', ...program }, '1.1', { path: '/livez' })
  t.equal(status, 200)
  t.equal(await program.ends(), null)
})

t.test('readers that have gone', async t => {
  const program = await startUnread(t, 'stdout', { args: ['--audit-log', '-'] })
  program.leave()
  for (let i = 0; i < 5; i++) {
    program.signal('SIGUSR1')
    const { status } = await ask({ protocol: 'http', ...program }, '1.1', { path: '/livez' })
    t.equal(status, 200)
  }
  t.equal(await program.ends(), 0)
})
