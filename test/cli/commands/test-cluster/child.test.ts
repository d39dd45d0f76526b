import t from 'tap'
import { Child, type ChildEnd } from '../../../../lib/cli/commands/test-cluster/child.ts'

function end(...command: string[]): Promise<ChildEnd> {
  return new Child(command, process.env).ended
}

t.test('exit codes are those of shells', async t => {
  const file = `${t.testdir({ file: 'text' })}/file`
  t.strictSame(await end('sh', '-c', 'exit 5'), { code: 5 })
  t.strictSame(await end('sh', '-c', 'kill -KILL $$'), { code: 137 })
  t.strictSame(await end('no-such-command'), {
    code: 127,
    problem: 'the command "no-such-command" is not found',
  })
  t.strictSame(await end(file), { code: 126, problem: `"${file}" may not be executed` })
})

t.test('a signal is passed on', async t => {
  const child = new Child(['sleep', '600'], process.env)
  child.pass('SIGTERM')
  t.strictSame(await child.ended, { code: 143 })
})
